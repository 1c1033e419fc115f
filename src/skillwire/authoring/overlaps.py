"""Skills with parameters in their paths that get in the way of others."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TypeAlias

from skillwire.authoring.live import LiveSkill
from skillwire.authoring.skill import Skill
from skillwire.model.display import quoted
from skillwire.model.template import parameter_of, value_fault

Authored: TypeAlias = Skill | LiveSkill


def overlaps(skills: Iterable[Authored]) -> Iterator[str]:
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
    return ["{}" if parameter_of(part) is not None else part for part in skill.path.split("/")]


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
    if (name := parameter_of(part)) is None:
        return [part]
    known = skill.values.get(name)
    return None if known is None or callable(known) else known


def _takes_all(skill: LiveSkill, part: str, segments: Sequence[str] | None) -> bool:
    own = _possible(skill, part)
    if own is not None:
        return segments is not None and set(segments) <= set(own)
    return segments is None or all(value_fault(each) is None for each in segments)
