"""Describe the parameters of a template, and explain what is wrong with a path that almost fits it."""

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from skillwire.core.names import NAME_RULE, SCHEME, SKILL_FILE, is_skill_name
from skillwire.core.template import VALUE_RULE, SkillTemplate, parse_parameter, value_fault
from skillwire.safe_text import escape_invisible, quoted

_MAX_LENGTH = 4096
"""Maximum number of characters of a path that are compared."""
_SHOWN_VALUES = 10
"""Maximum number of parameter values that one message names."""
_SHOWN_LENGTH = 100
"""Maximum number of characters of each value in a list of values."""
_EXTRA_SEGMENTS = 4
"""Maximum number of a path's segments besides the template's, such as `SKILL.md` or empty segments."""


def describe_parameters(template: SkillTemplate) -> str:
    """Return the parameters with their possible values: `product: one of acme, globex; page: any value`."""
    described = ((name, describe_parameter(template, name)) for name in unique_parameters(template))
    return "; ".join(f"{name}: {values}" for name, values in described)


def describe_parameter(template: SkillTemplate, name: str) -> str:
    """Return a text that names the possible values of a parameter, or the rule for them."""
    known = template.values.get(name)
    if known is None:
        is_last = parse_parameter(template.path.rpartition("/")[2]) == name
        return NAME_RULE if is_last else "any value"
    shown = ", ".join(escape_invisible(value, _SHOWN_LENGTH) for value in known[:_SHOWN_VALUES])
    more = f" or one of {len(known) - _SHOWN_VALUES:,} more" if len(known) > _SHOWN_VALUES else ""
    return f"{'one of ' if len(known) > 1 else ''}{shown}{more}" if known else "no value"


def unique_parameters(template: SkillTemplate) -> tuple[str, ...]:
    """Return the names of the parameters, each once."""
    return tuple(dict.fromkeys(template.parameters))


def known_values(template: SkillTemplate) -> dict[str, list[str]]:
    """Return the known values of each parameter. The list of a parameter with unknown values is empty."""
    return {name: list(template.values.get(name, ())) for name in unique_parameters(template)}


def explain_values(template: SkillTemplate, values: Mapping[str, str]) -> str:
    """Return which parameters lack a valid value, and the allowed values; `""` if all values are valid."""
    filled = [
        part if (name := parse_parameter(part)) is None else values.get(name, "")
        for part in template.path.split("/")
    ]
    return _explain(template, filled, is_meant=True)


def explain_mismatch(template: SkillTemplate, reference: str) -> str:
    """Return which parameters of a path or URI are missing or wrong, and what they can be.

    The path may omit the template's first segments, and may end in `SKILL.md`. It is compared as written and
    decoded. Returns `""` if the path matches, is too long, has no literal segment of the template, or has
    other literal segments than the template.
    """
    reference = reference.removeprefix(SCHEME)
    parts = template.path.count("/") + 1
    if len(reference) > _MAX_LENGTH or reference.count("/") > parts + _EXTRA_SEGMENTS:
        return ""
    for text in dict.fromkeys((reference, unquote(reference))):
        segments = [segment for segment in text.split("/") if segment]
        if segments and segments[-1].lower() == SKILL_FILE.lower():
            segments.pop()
        if segments and len(segments) <= parts and (found := _explain(template, segments)):
            return found
    return ""


def _explain(template: SkillTemplate, segments: Sequence[str], *, is_meant: bool = False) -> str:
    """Return what to write in place of wrong or missing parameters; `""` if all parameters are valid.

    The segments are compared with the template's last ones. Returns `""` also if a literal segment differs,
    or if none was compared and `is_meant` is not set. `is_meant` tells that the user named this template.
    """
    parts = [(part, parse_parameter(part)) for part in template.path.split("/")]
    at = len(parts) - len(segments)
    before, compared = parts[:at], parts[at:]
    pairs = list(zip(compared, segments, strict=True))
    literals = [part == segment for (part, name), segment in pairs if name is None]
    if not all(literals) or not (literals or is_meant):
        return ""
    if missing := [part for part, name in before if name is not None]:
        return f"write {quoted(template.path)} with a value for {_either(missing)}"
    faults = dict[str, str]()
    for place, ((part, name), segment) in enumerate(pairs, 1):
        if name is None or part in faults:
            continue
        if fault := _value_problem(template, name, segment, is_last=place == len(compared)):
            faults[part] = f"{fault} in place of {quoted(part)}"
    return f"write {', and '.join(faults.values())} in {quoted(template.path)}" if faults else ""


def _value_problem(template: SkillTemplate, name: str, value: str, *, is_last: bool) -> str:
    """Return what a value must be, or `""` if it is valid."""
    known = template.values.get(name)
    if known is not None:
        return "" if value in known else _either(known)
    if is_last and not is_skill_name(value):
        return NAME_RULE
    return "" if value_fault(value) is None else VALUE_RULE


def _either(words: Sequence[str]) -> str:
    if not words:
        return "nothing: it has no values"
    shown = ", ".join(quoted(word) for word in words[:_SHOWN_VALUES])
    more = f" or one of {len(words) - _SHOWN_VALUES:,} more" if len(words) > _SHOWN_VALUES else ""
    return f"{'one of ' if len(words) > 1 else ''}{shown}{more}"
