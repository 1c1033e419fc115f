"""Complete the path of a skill that a template describes, one parameter at a time."""

from collections.abc import Iterable, Sequence

from skillwire.core.template import SkillTemplate, parse_parameter, value_fault

_MAX_PATHS = 1000
"""Maximum number of paths that `complete_paths` returns."""


async def suggest_values(template: SkillTemplate, parameter: str, typed: str) -> Sequence[str]:
    """Return the values that the author's function suggests for `typed`, or else all known values."""
    if (suggest := template.suggest.get(parameter)) is not None:
        return await suggest(typed)
    return template.values.get(parameter, ())


async def complete_paths(templates: Iterable[SkillTemplate], typed: str) -> list[str]:
    """Return the paths of skills that begin with what a person typed.

    Each path ends before its next parameter. For example, `docs/a` becomes `docs/acme/guide`.
    """
    found: list[str] = []
    for template in templates:
        found += await _complete(template, typed)
        if len(found) > _MAX_PATHS:
            break
    return found[:_MAX_PATHS]


async def _complete(template: SkillTemplate, typed: str) -> list[str]:
    *before, last = typed.split("/")
    parts = template.path.split("/")
    if len(before) >= len(parts):
        return []
    if not all(_fits(template, part, segment) for part, segment in zip(parts, before, strict=False)):
        return []
    rest = parts[len(before) :]
    if (parameter := parse_parameter(rest[0])) is not None:
        values = await suggest_values(template, parameter, last)
        return ["/".join([*before, value, *_until_parameter(rest[1:])]) for value in values]
    if not rest[0].startswith(last):
        return []
    found = [*before, *_until_parameter(rest)]
    if len(found) == len(parts):
        return ["/".join(found)]
    return await _complete(template, "/".join(found))


def _fits(template: SkillTemplate, part: str, segment: str) -> bool:
    """Return whether a whole segment can stand where the template has `part`."""
    if (parameter := parse_parameter(part)) is None:
        return part == segment
    known = template.values.get(parameter)
    return value_fault(segment) is None if known is None else segment in known


def _until_parameter(parts: Sequence[str]) -> list[str]:
    """Return the segments before the next parameter, and an empty one if there is a parameter."""
    at = next((at for at, part in enumerate(parts) if parse_parameter(part) is not None), None)
    return [*parts] if at is None else [*parts[:at], ""]
