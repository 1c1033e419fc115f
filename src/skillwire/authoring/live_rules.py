"""What an author may say of content that is made when it is read."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from skillwire.authoring.rules import AuthoringError
from skillwire.model.name import NAME_RULE, is_skill_name
from skillwire.model.template import VALUE_RULE, parameter_of, parameters_of, value_fault


def check_function(path: str, function: object) -> None:
    """Raise `AuthoringError` if what is to make the text is no function."""
    if not callable(function):
        rule = f"is to be made by `{function!r}`, which is no function"
        raise AuthoringError("the skill", path, rule, "give a function that takes a `SkillRequest`")
    if not takes(function, 1) and not takes(function, 0):
        rule = "is to be made by a function that wants other arguments than a `SkillRequest`"
        raise AuthoringError("the skill", path, rule, "write it as in `def daily(request)` or `def daily()`")


def takes(function: Callable[..., object], arguments: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*range(arguments))
    except TypeError:
        return False
    except ValueError:  # one that is written in C says nothing of itself
        return arguments == 1
    return True


def check_timeout(timeout: object) -> None:
    """Raise `AuthoringError` if a function cannot have this long."""
    if not isinstance(timeout, int | float) or not math.isfinite(timeout) or timeout <= 0:
        fix = "give a number such as `30.0`"
        raise AuthoringError("the timeout", str(timeout), "is no number of seconds above zero", fix)


def check_fields(fields: Mapping[str, object]) -> None:
    """Raise `AuthoringError` if these cannot be further fields of a frontmatter."""
    for key, value in cast("Mapping[object, object]", fields).items():
        if key in {"name", "description"}:
            fix = "end the path in it" if key == "name" else "give it as `description`"
            raise AuthoringError("the field", str(key), "is no further field", fix)
        _check_key(key)
        _check_json(str(key), value)


def check_values(path: str, values: Mapping[str, object]) -> None:
    """Raise `AuthoringError` if the parameters of `path` cannot have these values."""
    known = parameters_of(path)
    if unknown := values.keys() - set(known):
        fix = f"its parameters are {', '.join(known) or 'none'}"
        raise AuthoringError("the parameter", min(map(str, unknown)), "is not in the path", fix)
    names = parameter_of(path.rpartition("/")[2])
    for name, given in values.items():
        if not callable(given):
            _check_known(name, given, is_name=name == names)


def _check_known(parameter: str, given: object, *, is_name: bool) -> None:
    """Check a list of values. Those of the last segment are names of skills."""
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        rule = f"has `{given!r}` for values, which is no list of texts"
        fix = f'write it as in `values={{"{parameter}": ["anvil", "rocket"]}}`, or give a function'
        raise AuthoringError("the parameter", parameter, rule, fix)
    for value in cast("Sequence[object]", given):
        if not isinstance(value, str) or value_fault(value) is not None:
            raise AuthoringError("the value", str(value), f"of `{parameter}` is not {VALUE_RULE}", "mend it")
        if is_name and not is_skill_name(value):
            rule = f"of `{parameter}` is the name of a skill, and not {NAME_RULE}"
            raise AuthoringError("the value", value, rule, "write it as in `refund-desk`")


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
            raise AuthoringError("the field", field, rule, "write it as text, a number, a list or a mapping")


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise AuthoringError("the key", repr(key), "in the frontmatter is no text", f'write `"{key}"`')
