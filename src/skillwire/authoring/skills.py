"""`Skills`, a collection that is checked for conflicts, and skills whose folder a function returns."""

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
    """Yield a message for each path with parameters that is never reached, or that lies in another skill."""
    all_skills = list(skills)
    patterns = [each for each in all_skills if isinstance(each, LiveSkill) and each.parameters]
    for first, second in combinations(patterns, 2):
        if first.path == second.path:
            continue  # reported as a URI that is used twice
        if _shape(first) == _shape(second):
            yield f"{quoted(second.path)} is {quoted(first.path)} with another name for a parameter"
        elif _covers(first, second):
            yield f"{quoted(second.path)} is never reached, because {quoted(first.path)} comes first"
    for outer in (each for each in all_skills if isinstance(each, Skill)):
        for inner in patterns:
            if _reaches_below(inner, outer.path):
                yield (
                    f"{quoted(inner.path)} is below {quoted(outer.path)}, which must list all its files, "
                    "but skills with parameters cannot be listed"
                )


def _shape(skill: LiveSkill) -> list[str]:
    """Return the path's segments, with `{}` for each parameter."""
    return ["{}" if parse_parameter(part) is not None else part for part in skill.path.split("/")]


def _covers(first: LiveSkill, second: LiveSkill) -> bool:
    """Return whether `first`, which is tried before `second`, matches every path that `second` matches."""
    ours, theirs = first.path.split("/"), second.path.split("/")
    return len(ours) == len(theirs) and all(
        _takes_all(first, part, _possible(second, other)) for part, other in zip(ours, theirs, strict=True)
    )


def _reaches_below(pattern: LiveSkill, path: str) -> bool:
    """Return whether some parameter values result in a path below `path`."""
    parts, above = pattern.path.split("/"), path.split("/")
    return len(parts) > len(above) and all(
        _takes_all(pattern, part, [segment]) for part, segment in zip(parts, above, strict=False)
    )


def _possible(skill: LiveSkill, part: str) -> Sequence[str] | None:
    """Return the possible values of a path segment, or None if they are not known."""
    if (name := parse_parameter(part)) is None:
        return [part]
    known = skill.values.get(name)
    return None if known is None or callable(known) else known


def _takes_all(skill: LiveSkill, part: str, segments: Sequence[str] | None) -> bool:
    """Return whether a path segment matches all of `segments`. None stands for any value."""
    own = _possible(skill, part)
    if own is not None:
        return segments is not None and set(segments) <= set(own)
    return segments is None or all(value_fault(each) is None for each in segments)


@dataclass(frozen=True, slots=True)
class Skills:
    """An immutable collection of skills, and the prompts of some of them."""

    skills: tuple[AuthoredSkill, ...] = ()
    prompts: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    """Skills that are also prompts, by prompt name."""

    def add(self, *skills: AuthoredSkill, prompt: str | None = None) -> Self:
        """Return a collection with these skills added at the end.

        With `prompt`, a single `Skill` is also served as a prompt with that name. Raises `InvalidValueError`
        if an argument is not a skill, or if the prompt is invalid or exists already.
        """
        for each in skills:
            _check_is_skill(each)
        added = replace(self, skills=(*self.skills, *skills))
        if prompt is None:
            return added
        match skills:
            case [Skill() as skill]:
                skill.prompt_text()  # raises now, and not when the prompt is requested
            case [LiveSkill()]:
                fix = "write a prompt that returns the same text"
                raise InvalidValueError("the prompt", prompt, "cannot be made from a live skill", fix)
            case _:
                fix = "add that skill in a separate call"
                raise InvalidValueError("the prompt", prompt, "is for one skill", fix)
        if not prompt:
            raise InvalidValueError("the prompt", prompt, "has no name", "name it as in `start_refund`")
        if prompt in self.prompts:
            fix = "give each prompt a different name"
            raise InvalidValueError("the prompt", prompt, "already exists", fix)
        return replace(added, prompts={**self.prompts, prompt: skill})

    def merge(self, other: "Skills") -> Self:
        """Return a collection with all skills and prompts of `other` added at the end.

        Raises `InvalidValueError` if both collections have a prompt of the same name.
        """
        merged = replace(self, skills=(*self.skills, *other.skills))
        shared = sorted(self.prompts.keys() & other.prompts.keys())
        if shared:
            fix = "give each prompt a different name"
            raise InvalidValueError("the prompt", shared[0], "is in both collections", fix)
        return replace(merged, prompts={**self.prompts, **other.prompts})

    def check(self) -> None:
        """Raise `ConflictError` if skills conflict. The message lists every conflict."""
        counted = Counter(uri for skill in self.skills for uri in skill.uris())
        duplicates = [quoted(uri) for uri, times in counted.items() if times > 1]
        conflicts: list[str] = []
        if duplicates:
            are = "1 URI is" if len(duplicates) == 1 else f"{len(duplicates)} URIs are"
            conflicts.append(f"{are} used twice: {', '.join(duplicates)}")
        conflicts += [
            f"{quoted(inner.uri)} is below {quoted(outer.uri)}, and a live skill cannot be nested, "
            "because it has no list of files"
            for outer, inner in _nested(self.skills)
            if isinstance(outer, LiveSkill) or isinstance(inner, LiveSkill)
        ]
        conflicts += find_overlaps(self.skills)
        if conflicts:
            raise ConflictError(
                f"{'; '.join(conflicts)}; give skills other paths, for example with `with_path`"
            )

    def __iter__(self) -> Iterator[AuthoredSkill]:
        return iter(self.skills)

    def __len__(self) -> int:
        return len(self.skills)


def _check_is_skill(value: object) -> None:
    """Raise `InvalidValueError` if `value` is not a skill. The error suggests what to write instead."""
    match value:
        case Skill() | LiveSkill():
            return
        case Skills():
            fix = "add a collection with `merge`"
        case str() | os.PathLike():
            fix = "read a folder with `Skill.from_dir`, or pass sources to `skillwire.serve` or `attach`"
        case list() | tuple() | set() | frozenset():
            fix = "write a `*` before it"
        case _:
            fix = "pass a `Skill` or a `LiveSkill`"
    raise InvalidValueError("the value", repr(cast("object", value)), "is not a skill", fix)


def _nested(skills: Iterable[AuthoredSkill]) -> Iterator[tuple[AuthoredSkill, AuthoredSkill]]:
    """Yield each pair of an outer skill and a skill nested below its path.

    Skills with parameters are ignored.
    """
    fixed = {skill.path: skill for skill in skills if not (isinstance(skill, LiveSkill) and skill.parameters)}
    for path, inner in fixed.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if (outer := fixed.get("/".join(parts[:depth]))) is not None:
                yield outer, inner


@dataclass(frozen=True, slots=True)
class NamedFolder:
    """A skill whose folder a function returns. The function is called when the server is built.

    Raises `InvalidValueError` if the path has parameters, or the function is async or takes arguments.
    """

    path: str
    function: Callable[[], Path]

    def __post_init__(self) -> None:
        check_live_path(self.path)
        if parse_parameters(self.path):
            fix = "return text instead, or remove the parameters from the path"
            raise InvalidValueError("the path", self.path, "has parameters, and a folder is one skill", fix)
        if inspect.iscoroutinefunction(self.function):
            fix = "write `def`: it is called once, when the server is built"
            raise InvalidValueError("the skill", self.path, "is a folder returned by an `async def`", fix)
        try:
            inspect.signature(self.function).bind()
        except TypeError as error:
            fix = "write it as in `def folder() -> Path`"
            raise InvalidValueError(
                "the skill", self.path, "is a folder, and its function is called without arguments", fix
            ) from error

    def skills(self) -> Skills:
        """Call the function and read the skill in the folder that it returns.

        Raises `InvalidValueError` if the folder has no valid skill, or the path does not end in its name.
        """
        folder = function_folder(self.function) / self.function()
        return Skills().add(Skill.from_dir(folder).with_path(self.path))


def check_no_options(path: str, options: Mapping[str, object]) -> None:
    """Raise `InvalidValueError` if an option that applies only to live skills is set for a folder."""
    used = [name for name, value in options.items() if value is not None]
    if used:
        rule = f"is a folder, and `{used[0]}` is only for live skills"
        raise InvalidValueError("the skill", path, rule, "omit it: the files in the folder decide")
