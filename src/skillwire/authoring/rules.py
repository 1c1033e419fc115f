"""Checks on what an author writes: names, paths, MIME types, fields, functions and values."""

import inspect
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from skillwire.core.names import NAME_RULE, SKILL_FILE, fold_path, is_skill_name, parent_paths
from skillwire.core.template import PARAMETER_RULE, VALUE_RULE, parse_parameter, parse_parameters, value_fault
from skillwire.errors import InvalidValueError

_WORD = r"[A-Za-z0-9!#$&^_.+-]+"
_MIME_TYPE = re.compile(rf'{_WORD}/{_WORD}(?: *; *{_WORD}=(?:{_WORD}|"[ !#-\[\]-~]*"))*')
"""Type, subtype and parameters (RFC 9110, 8.3.1)."""


def check_name(name: str) -> None:
    """Raise `InvalidValueError` if a skill cannot be called so."""
    if not is_skill_name(name):
        raise InvalidValueError("the name", name, f"is not {NAME_RULE}", "write it as in `refund-desk`")


def check_skill_path(path: str, name: str) -> None:
    """Raise `InvalidValueError` if a skill cannot stand at this path."""
    fix = f"write it as in `team/topic/{name}`"
    if fault := _fault(path):
        raise InvalidValueError("the path of a skill", path, fault, fix)
    if path.rpartition("/")[2] != name:
        raise InvalidValueError("the path of a skill", path, f"does not end in its name, `{name}`", fix)


def check_live_path(path: str) -> None:
    """Raise `InvalidValueError` if content made at read time cannot have this path, parameters and all."""
    fix = "write it as in `reports/daily` or `docs/{product}/guide`"
    if fault := _fault(path):
        raise InvalidValueError("the path of a skill", path, fault, fix)
    for segment in path.split("/"):
        if ("{" in segment or "}" in segment) and parse_parameter(segment) is None:
            raise InvalidValueError("the segment", segment, f"is not {PARAMETER_RULE}", fix)
    named = parse_parameters(path)
    if len(set(named)) < len(named):
        rule = "has a parameter twice"
        raise InvalidValueError("the path of a skill", path, rule, "give each parameter a name of its own")
    if parse_parameter(last := path.rpartition("/")[2]) is None:
        check_name(last)


def check_reference_path(path: str) -> None:
    """Raise `InvalidValueError` if a file beside a `SKILL.md` cannot have this path."""
    fix = "write it as in `references/guide.md`"
    if fault := _fault(path):
        raise InvalidValueError("the path of a reference", path, fault, fix)
    if path.casefold() == SKILL_FILE.casefold():
        rule = "is that of the skill's own document"
        raise InvalidValueError("the path of a reference", path, rule, "give that as the body of the skill")


def check_file_paths(paths: Iterable[str]) -> None:
    """Raise `InvalidValueError` if files cannot stand side by side in one skill, on every host (H7)."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    fix = "give each file a path of its own"
    for path in paths:
        name = fold_path(path)
        if (other := files.get(name)) is not None:
            same = "is taken in this skill" if other == path else f"is for many hosts the same as `{other}`"
            raise InvalidValueError("the path of a reference", path, same, fix)
        files[name] = path
        folders |= dict.fromkeys(parent_paths(name), path)
        clash = folders.get(name) or next(
            (files[above] for above in parent_paths(name) if above in files), None
        )
        if clash is not None:
            rule = f"cannot stand beside `{clash}`: a file is no folder"
            raise InvalidValueError("the path of a reference", path, rule, fix)


def check_mime_type(path: str, mime_type: object) -> None:
    """Raise `InvalidValueError` if this is not the type of a file."""
    if not isinstance(mime_type, str) or _MIME_TYPE.fullmatch(mime_type) is None:
        fix = "write it as in `text/markdown`"
        raise InvalidValueError("the MIME type", str(mime_type), f"of `{path}` is not `type/subtype`", fix)


def _fault(path: str) -> str | None:
    """Return the first rule that a relative path breaks."""
    if not path:
        return "is empty"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in path):
        return "holds a control character"  # NUL among them
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
    """Raise `InvalidValueError` if what is to make the text is no function."""
    if not callable(function):
        rule = f"is to be made by `{function!r}`, which is no function"
        raise InvalidValueError("the skill", path, rule, "give a function that takes a `SkillRequest`")
    if not accepts_arguments(function, 1) and not accepts_arguments(function, 0):
        rule = "is to be made by a function that wants other arguments than a `SkillRequest`"
        raise InvalidValueError(
            "the skill", path, rule, "write it as in `def daily(request)` or `def daily()`"
        )


def accepts_arguments(function: Callable[..., object], arguments: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*range(arguments))
    except TypeError:
        return False
    except ValueError:  # one that is written in C says nothing of itself
        return arguments == 1
    return True


def check_timeout(timeout: object) -> None:
    """Raise `InvalidValueError` if a function cannot have this long."""
    if not isinstance(timeout, int | float) or not math.isfinite(timeout) or timeout <= 0:
        fix = "give a number such as `30.0`"
        raise InvalidValueError("the timeout", str(timeout), "is no number of seconds above zero", fix)


def check_fields(fields: Mapping[str, object]) -> None:
    """Raise `InvalidValueError` if these cannot be further fields of a frontmatter."""
    for key, value in cast("Mapping[object, object]", fields).items():
        if key in {"name", "description"}:
            fix = "end the path in it" if key == "name" else "give it as `description`"
            raise InvalidValueError("the field", str(key), "is no further field", fix)
        _check_key(key)
        _check_json(str(key), value)


def check_values(path: str, values: Mapping[str, object]) -> None:
    """Raise `InvalidValueError` if the parameters of `path` cannot have these values."""
    known = parse_parameters(path)
    if unknown := values.keys() - set(known):
        fix = f"its parameters are {', '.join(known) or 'none'}"
        raise InvalidValueError("the parameter", min(map(str, unknown)), "is not in the path", fix)
    names = parse_parameter(path.rpartition("/")[2])
    for name, given in values.items():
        if not callable(given):
            _check_known(name, given, is_name=name == names)


def _check_known(parameter: str, given: object, *, is_name: bool) -> None:
    """Check a list of values. Those of the last segment are names of skills."""
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        rule = f"has `{given!r}` for values, which is no list of texts"
        fix = f'write it as in `values={{"{parameter}": ["anvil", "rocket"]}}`, or give a function'
        raise InvalidValueError("the parameter", parameter, rule, fix)
    for value in cast("Sequence[object]", given):
        if not isinstance(value, str) or value_fault(value) is not None:
            raise InvalidValueError(
                "the value", str(value), f"of `{parameter}` is not {VALUE_RULE}", "mend it"
            )
        if is_name and not is_skill_name(value):
            rule = f"of `{parameter}` is the name of a skill, and not {NAME_RULE}"
            raise InvalidValueError("the value", value, rule, "write it as in `refund-desk`")


def _check_json(field: str, value: object) -> None:
    match value:
        case None | str() | int() | float():  # a truth value is an int
            return
        case list():
            for each in cast("list[object]", value):
                _check_json(field, each)
        case dict():
            for key, each in cast("dict[object, object]", value).items():
                _check_key(key)
                _check_json(field, each)
        case _:
            rule = f"holds a `{type(value).__name__}`, which is no JSON value"
            raise InvalidValueError(
                "the field", field, rule, "write it as text, a number, a list or a mapping"
            )


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise InvalidValueError("the key", repr(key), "in the frontmatter is no text", f'write `"{key}"`')
