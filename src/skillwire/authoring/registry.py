"""Several skills together, in the order in which they were registered."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self, cast

from skillwire.authoring.live import LiveSkill
from skillwire.authoring.overlaps import Authored, overlaps
from skillwire.authoring.rules import AuthoringError
from skillwire.authoring.skill import Skill
from skillwire.model.display import quoted
from skillwire.model.errors import ConflictError


@dataclass(frozen=True, slots=True)
class Skills:
    """An immutable collection of skills, and the prompts of some of them."""

    skills: tuple[Authored, ...] = ()
    prompts: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    """By the name of the prompt."""

    def add(self, *skills: Authored, prompt: str | None = None) -> Self:
        """Return the collection with these skills behind the others; with `prompt`, one that is both."""
        for each in skills:
            _check_is_skill(each)
        added = replace(self, skills=(*self.skills, *skills))
        if prompt is None:
            return added
        match skills:
            case [Skill() as skill]:
                skill.prompt_text()  # what cannot be a prompt is refused here, and not when it is asked for
            case [LiveSkill()]:
                fix = "return the same text from a prompt of your own"
                raise AuthoringError("the prompt", prompt, "is for a skill that never has the same text", fix)
            case _:
                fix = "add its skill in a call of its own"
                raise AuthoringError("the prompt", prompt, "is for one skill", fix)
        if not prompt:
            raise AuthoringError("the prompt", prompt, "has no name", "name it as in `start_refund`")
        if prompt in self.prompts:
            fix = "give each prompt a name of its own"
            raise AuthoringError("the prompt", prompt, "is there already", fix)
        return replace(added, prompts={**self.prompts, prompt: skill})

    def merge(self, other: "Skills") -> Self:
        """Return the collection with everything of another behind it."""
        merged = replace(self, skills=(*self.skills, *other.skills))
        shared = sorted(self.prompts.keys() & other.prompts.keys())
        if shared:
            fix = "give each prompt a name of its own"
            raise AuthoringError("the prompt", shared[0], "is in both collections", fix)
        return replace(merged, prompts={**self.prompts, **other.prompts})

    def check(self) -> None:
        """Raise `ConflictError` if skills get in each other's way; it names every case."""
        counted = Counter(uri for skill in self.skills for uri in skill.uris())
        doubled = [quoted(uri) for uri, times in counted.items() if times > 1]
        told: list[str] = []
        if doubled:
            are = "1 address is" if len(doubled) == 1 else f"{len(doubled)} addresses are"
            told.append(f"{are} taken twice: {', '.join(doubled)}")
        told += [
            f"{quoted(inner.uri)} stands below {quoted(outer.uri)}, and content that is made when it is read "
            "is in no list of files"
            for outer, inner in _nested(self.skills)
            if isinstance(outer, LiveSkill) or isinstance(inner, LiveSkill)
        ]
        told += overlaps(self.skills)
        if told:
            raise ConflictError(f"{'; '.join(told)}; move skills with `with_path` or by their path")

    def __iter__(self) -> Iterator[Authored]:
        return iter(self.skills)

    def __len__(self) -> int:
        return len(self.skills)


def _check_is_skill(value: object) -> None:
    """Raise `AuthoringError` if this is no skill, with what to write for the skills that are meant."""
    match value:
        case Skill() | LiveSkill():
            return
        case Skills():
            fix = "add all that it holds with `merge`"
        case str() | os.PathLike():
            fix = "read a folder with `Skill.from_dir`"
        case list() | tuple() | set() | frozenset():
            fix = "write a `*` before it"
        case _:
            fix = "make a `Skill` or a `LiveSkill` of it"
    raise AuthoringError("the value", repr(cast("object", value)), "is no skill", fix)


def _nested(skills: Iterable[Authored]) -> Iterator[tuple[Authored, Authored]]:
    """Yield each skill that stands below another, behind that one, where neither has parameters."""
    fixed = {skill.path: skill for skill in skills if not (isinstance(skill, LiveSkill) and skill.parameters)}
    for path, inner in fixed.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if (outer := fixed.get("/".join(parts[:depth]))) is not None:
                yield outer, inner
