"""Validate the arguments of skills in code, such as names, paths, functions and parameter values."""

import inspect
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from skillwire.core.names import NAME_RULE, SKILL_FILE, collision_key, is_skill_name, parent_paths
from skillwire.core.template import (
    PARAMETER_RULE,
    VALUE_RULE,
    is_own_parameter,
    parse_parameter,
    parse_parameters,
    value_fault,
)
from skillwire.errors import InvalidValueError

_WORD = r"[A-Za-z0-9!#$&^_.+-]+"
_MIME_TYPE = re.compile(rf'{_WORD}/{_WORD}(?: *; *{_WORD}=(?:{_WORD}|"[ !#-\[\]-~]*"))*')
"""Type, subtype and parameters (RFC 9110, 8.3.1)."""


def check_name(name: str) -> None:
    """Raise `InvalidValueError` if `name` is not a valid skill name."""
    if not is_skill_name(name):
        raise InvalidValueError("the name", name, f"is not {NAME_RULE}", "write it as in `refund-desk`")


def check_skill_path(path: str, name: str) -> None:
    """Raise `InvalidValueError` if `path` is not a valid path for the skill `name`."""
    fix = f"write it as in `team/topic/{name}`"
    if fault := _fault(path):
        raise InvalidValueError("the path of a skill", path, fault, fix)
    if path.rpartition("/")[2] != name:
        raise InvalidValueError("the path of a skill", path, f"does not end in its name, `{name}`", fix)


def check_live_path(path: str) -> None:
    """Raise `InvalidValueError` if `path` is not a valid path for a live skill. It may have parameters."""
    fix = "write it as in `reports/daily` or `docs/{product}/guide`"
    if fault := _fault(path):
        raise InvalidValueError("the path of a skill", path, fault, fix)
    for segment in path.split("/"):
        if ("{" in segment or "}" in segment) and not is_own_parameter(segment):
            raise InvalidValueError("the segment", segment, f"is not {PARAMETER_RULE}", fix)
    named = parse_parameters(path)
    if len(set(named)) < len(named):
        rule = "has a parameter twice"
        raise InvalidValueError("the path of a skill", path, rule, "give each parameter a different name")
    if parse_parameter(last := path.rpartition("/")[2]) is None:
        check_name(last)


def check_reference_path(path: str) -> None:
    """Raise `InvalidValueError` if `path` is not a valid path for a file beside a `SKILL.md`."""
    fix = "write it as in `references/guide.md`"
    if fault := _fault(path):
        raise InvalidValueError("the path of a reference", path, fault, fix)
    if path.casefold() == SKILL_FILE.casefold():
        rule = "is that of the skill's own document"
        raise InvalidValueError("the path of a reference", path, rule, "pass it as the body of the skill")


def check_file_paths(paths: Iterable[str]) -> None:
    """Raise `InvalidValueError` if two files of a skill have paths that are equal on some file systems (H7).

    Also raise it if the path of a file is a folder of another file.
    """
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    fix = "give each file a different path"
    for path in paths:
        name = collision_key(path)
        if (other := files.get(name)) is not None:
            same = "is taken in this skill" if other == path else f"is the same as `{other}` on many hosts"
            raise InvalidValueError("the path of a reference", path, same, fix)
        files[name] = path
        folders |= dict.fromkeys(parent_paths(name), path)
        clash = folders.get(name) or next(
            (files[above] for above in parent_paths(name) if above in files), None
        )
        if clash is not None:
            rule = f"clashes with `{clash}`: a file cannot be a folder as well"
            raise InvalidValueError("the path of a reference", path, rule, fix)


def check_mime_type(path: str, mime_type: object) -> None:
    """Raise `InvalidValueError` if `mime_type` is not a type and subtype, with optional parameters."""
    if not isinstance(mime_type, str) or _MIME_TYPE.fullmatch(mime_type) is None:
        fix = "write it as in `text/markdown`"
        raise InvalidValueError("the MIME type", str(mime_type), f"of `{path}` is not `type/subtype`", fix)


def _fault(path: str) -> str | None:
    """Return what is wrong with a relative path, or None if it is valid."""
    if not path:
        return "is empty"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in path):
        return "holds a control character"  # or NUL, or half of a surrogate pair
    if "://" in path:
        return "is a URL"
    if path.startswith("/"):
        return "begins with `/`"
    for character in "\\?#":
        if character in path:
            return f"holds `{character}`"
    segments = path.split("/")
    return next((f"has the segment `{each}`" for each in segments if each in {"", ".", ".."}), None)


def check_function(path: str, function: object) -> None:
    """Raise `InvalidValueError` if `function` cannot be used for the live skill at `path`."""
    if not callable(function):
        rule = f"has `{function!r}` as its function, which cannot be called"
        raise InvalidValueError("the skill", path, rule, "pass a function that takes a `SkillRequest`")
    if not accepts_arguments(function, 1) and not accepts_arguments(function, 0):
        rule = "has a function that requires other arguments than a `SkillRequest`"
        raise InvalidValueError(
            "the skill", path, rule, "write it as in `def daily(request)` or `def daily()`"
        )


def accepts_arguments(function: Callable[..., object], arguments: int) -> bool:
    """Return whether a function can be called with this number of positional arguments.

    A function whose signature is unknown counts as a function with one argument.
    """
    try:
        inspect.signature(function).bind(*range(arguments))
    except TypeError:
        return False
    except ValueError:  # some functions written in C have no signature
        return arguments == 1
    return True


def check_timeout(timeout: object) -> None:
    """Raise `InvalidValueError` if `timeout` is not a positive, finite number."""
    if not isinstance(timeout, int | float) or not math.isfinite(timeout) or timeout <= 0:
        fix = "pass a number such as `30.0`"
        raise InvalidValueError("the timeout", str(timeout), "is not a positive number of seconds", fix)


def check_fields(fields: Mapping[str, object]) -> None:
    """Raise `InvalidValueError` if `fields` contains `name`, `description` or a value that is not JSON."""
    for key, value in cast("Mapping[object, object]", fields).items():
        if key in {"name", "description"}:
            fix = "end the path with the name" if key == "name" else "pass it as `description`"
            raise InvalidValueError("the field", str(key), "cannot be set in `frontmatter`", fix)
        _check_key(key)
        _check_json(str(key), value)


def check_values(path: str, values: Mapping[str, object]) -> None:
    """Raise `InvalidValueError` if `values` are not valid for the parameters in `path`."""
    known = parse_parameters(path)
    if unknown := values.keys() - set(known):
        fix = f"its parameters are {', '.join(known) or 'none'}"
        raise InvalidValueError("the parameter", min(map(str, unknown)), "is not in the path", fix)
    last = parse_parameter(path.rpartition("/")[2])
    for name, known_values in values.items():
        if not callable(known_values):
            _check_known(name, known_values, is_name=name == last)


def _check_known(parameter: str, values: object, *, is_name: bool) -> None:
    """Raise `InvalidValueError` if `values` is not a list of valid parameter values.

    With `is_name`, each value must be a skill name, because the parameter is the last path segment.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        rule = f"has `{values!r}` as its values, which is not a list of strings"
        fix = f'write it as in `values={{"{parameter}": ["anvil", "rocket"]}}`, or pass a function'
        raise InvalidValueError("the parameter", parameter, rule, fix)
    for value in cast("Sequence[object]", values):
        if not isinstance(value, str) or value_fault(value) is not None:
            raise InvalidValueError(
                "the value", str(value), f"of `{parameter}` is not {VALUE_RULE}", "fix it"
            )
        if is_name and not is_skill_name(value):
            rule = f"of `{parameter}` is the name of a skill, and not {NAME_RULE}"
            raise InvalidValueError("the value", value, rule, "write it as in `refund-desk`")


def _check_json(field: str, value: object) -> None:
    match value:
        case None | str() | int() | float():  # a bool is an int
            return
        case list():
            for each in cast("list[object]", value):
                _check_json(field, each)
        case dict():
            for key, each in cast("dict[object, object]", value).items():
                _check_key(key)
                _check_json(field, each)
        case _:
            rule = f"holds a `{type(value).__name__}`, which is not a JSON value"
            raise InvalidValueError(
                "the field", field, rule, "write it as text, a number, a list or a mapping"
            )


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise InvalidValueError(
            "the key", repr(key), "in the frontmatter is not a string", f'write `"{key}"`'
        )
