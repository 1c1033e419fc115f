"""Several skills together: conflicts between them, and folders named by a function."""

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Self, TypeAlias, cast

from skillwire.authoring.live import LiveSkill
from skillwire.authoring.rules import check_live_path
from skillwire.authoring.skill import Skill, function_folder
from skillwire.core.template import parse_parameter, parse_parameters, value_fault
from skillwire.errors import ConflictError, InvalidValueError
from skillwire.safe_text import quoted

AuthoredSkill: TypeAlias = Skill | LiveSkill


def find_overlaps(skills: Iterable[AuthoredSkill]) -> Iterator[str]:
    """Yield what is wrong with each pattern that is never reached, or that leads into another's folder."""
    every = list(skills)
    patterns = [each for each in every if isinstance(each, LiveSkill) and each.parameters]
    for first, second in combinations(patterns, 2):
        if first.path == second.path:
            continue  # an address that is taken twice
        if _shape(first) == _shape(second):
            yield f"{quoted(second.path)} is {quoted(first.path)} with another name for a parameter"
        elif _covers(first, second):
            yield f"{quoted(second.path)} is never reached behind {quoted(first.path)}"
    for outer in (each for each in every if isinstance(each, Skill)):
        for inner in patterns:
            if _reaches_below(inner, outer.path):
                yield (
                    f"{quoted(inner.path)} stands below {quoted(outer.path)}, which lists all its files, "
                    "and nobody can list those"
                )


def _shape(skill: LiveSkill) -> list[str]:
    return ["{}" if parse_parameter(part) is not None else part for part in skill.path.split("/")]


def _covers(first: LiveSkill, second: LiveSkill) -> bool:
    """Whether every path of `second` is one of `first`, which is asked before it."""
    ours, theirs = first.path.split("/"), second.path.split("/")
    return len(ours) == len(theirs) and all(
        _takes_all(first, part, _possible(second, other)) for part, other in zip(ours, theirs, strict=True)
    )


def _reaches_below(pattern: LiveSkill, path: str) -> bool:
    """Whether there is a way to fill in a pattern that leads below `path`."""
    parts, above = pattern.path.split("/"), path.split("/")
    return len(parts) > len(above) and all(
        _takes_all(pattern, part, [segment]) for part, segment in zip(parts, above, strict=False)
    )


def _possible(skill: LiveSkill, part: str) -> Sequence[str] | None:
    """Return what can stand for a part of a path, or None if much can."""
    if (name := parse_parameter(part)) is None:
        return [part]
    known = skill.values.get(name)
    return None if known is None or callable(known) else known


def _takes_all(skill: LiveSkill, part: str, segments: Sequence[str] | None) -> bool:
    own = _possible(skill, part)
    if own is not None:
        return segments is not None and set(segments) <= set(own)
    return segments is None or all(value_fault(each) is None for each in segments)


@dataclass(frozen=True, slots=True)
class Skills:
    """An immutable collection of skills, and the prompts of some of them."""

    skills: tuple[AuthoredSkill, ...] = ()
    prompts: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    """By the name of the prompt."""

    def add(self, *skills: AuthoredSkill, prompt: str | None = None) -> Self:
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
                raise InvalidValueError(
                    "the prompt", prompt, "is for a skill that never has the same text", fix
                )
            case _:
                fix = "add its skill in a call of its own"
                raise InvalidValueError("the prompt", prompt, "is for one skill", fix)
        if not prompt:
            raise InvalidValueError("the prompt", prompt, "has no name", "name it as in `start_refund`")
        if prompt in self.prompts:
            fix = "give each prompt a name of its own"
            raise InvalidValueError("the prompt", prompt, "is there already", fix)
        return replace(added, prompts={**self.prompts, prompt: skill})

    def merge(self, other: "Skills") -> Self:
        """Return the collection with everything of another behind it."""
        merged = replace(self, skills=(*self.skills, *other.skills))
        shared = sorted(self.prompts.keys() & other.prompts.keys())
        if shared:
            fix = "give each prompt a name of its own"
            raise InvalidValueError("the prompt", shared[0], "is in both collections", fix)
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
        told += find_overlaps(self.skills)
        if told:
            raise ConflictError(f"{'; '.join(told)}; move skills with `with_path` or by their path")

    def __iter__(self) -> Iterator[AuthoredSkill]:
        return iter(self.skills)

    def __len__(self) -> int:
        return len(self.skills)


def _check_is_skill(value: object) -> None:
    """Raise `InvalidValueError` if this is no skill, with what to write for the skills that are meant."""
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
    raise InvalidValueError("the value", repr(cast("object", value)), "is no skill", fix)


def _nested(skills: Iterable[AuthoredSkill]) -> Iterator[tuple[AuthoredSkill, AuthoredSkill]]:
    """Yield each skill that stands below another, behind that one, where neither has parameters."""
    fixed = {skill.path: skill for skill in skills if not (isinstance(skill, LiveSkill) and skill.parameters)}
    for path, inner in fixed.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if (outer := fixed.get("/".join(parts[:depth]))) is not None:
                yield outer, inner


@dataclass(frozen=True, slots=True)
class NamedFolder:
    """A skill at a path, and the function that is asked for its folder when the server is built.

    Raises `InvalidValueError` for a function that cannot be asked then.
    """

    path: str
    function: Callable[[], Path]

    def __post_init__(self) -> None:
        check_live_path(self.path)
        if parse_parameters(self.path):
            fix = "return its text instead, or a folder without parameters in the path"
            raise InvalidValueError("the path", self.path, "has parameters, and a folder is one skill", fix)
        if inspect.iscoroutinefunction(self.function):
            fix = "write `def`: it is asked once, when the server is built"
            raise InvalidValueError("the skill", self.path, "is a folder that an `async def` names", fix)
        try:
            inspect.signature(self.function).bind()
        except TypeError as error:
            fix = "write it as in `def folder() -> Path`"
            raise InvalidValueError(
                "the skill", self.path, "is a folder, whose function is called without arguments", fix
            ) from error

    def skills(self) -> Skills:
        """Return the skill as it is now. Raises `InvalidValueError` for a folder that is none."""
        folder = function_folder(self.function) / self.function()
        return Skills().add(Skill.from_dir(folder).with_path(self.path))


def check_no_options(path: str, options: Mapping[str, object]) -> None:
    """Raise `InvalidValueError` if somebody says of a folder what stands in its `SKILL.md`."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        rule = f"is a folder, and `{given[0]}` is for content that is made when it is read"
        raise InvalidValueError("the skill", path, rule, "leave it out: what stands in the folder counts")
