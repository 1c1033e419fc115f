"""Find paths that two templates have in common."""

from collections.abc import Sequence

from skillwire.core.names import is_skill_name
from skillwire.core.template import SkillTemplate, parse_parameter

_EXAMPLE = "x"
"""The value for a segment in which both templates accept any value."""


def find_shared_path(one: SkillTemplate, other: SkillTemplate) -> str | None:
    """Return the path of a skill that both templates describe, or None if none was found.

    Such a path is always found, unless a template repeats a parameter.
    """
    ours, theirs = one.path.split("/"), other.path.split("/")
    if len(ours) != len(theirs):
        return None
    chosen: list[str] = []
    for place, (part, counterpart) in enumerate(zip(ours, theirs, strict=True), 1):
        shared = _shared(_values(one, part), _values(other, counterpart))
        is_last = place == len(ours)
        value = next((each for each in shared if not is_last or is_skill_name(each)), None)
        if value is None:
            return None
        chosen.append(value)
    path = "/".join(chosen)
    return path if one.match_path(path) is not None and other.match_path(path) is not None else None


def _values(template: SkillTemplate, part: str) -> Sequence[str] | None:
    """Return the texts that a segment of the template can be; None if it can be any."""
    parameter = parse_parameter(part)
    return (part,) if parameter is None else template.values.get(parameter)


def _shared(ours: Sequence[str] | None, theirs: Sequence[str] | None) -> Sequence[str]:
    if ours is None:
        return (_EXAMPLE,) if theirs is None else theirs
    if theirs is None:
        return ours
    known = frozenset(theirs)
    return [each for each in ours if each in known]
