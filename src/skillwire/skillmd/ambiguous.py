"""Scalars that YAML 1.2 and YAML 1.1 read differently.

A frontmatter is YAML 1.2 (S7). A client with a parser of YAML 1.1, such as PyYAML, gets another value from
the same bytes. It differs from the listed value, so the client refuses the skill.
"""

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from skillwire.model.display import quoted
from skillwire.skillmd.scalars import Scalar

_TRUTHS = frozenset({"yes", "no", "on", "off"})
_SPECIAL = frozenset({"=", "<<"})
_STARTS = frozenset("+-.0123456789")
# What some parser may read as a number, a date or a time; and of that, what all parsers read alike.
_LOOKS_LIKE_NUMBER = re.compile(r"[-+]?\.?[0-9][-+0-9a-fA-FxXoObBtTzZ_:. \t]*")
_SAME = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)*")
_BIGGEST_WRITTEN = 10**15
"""People do not want to write larger floats without an exponent, so no spelling is proposed."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A value that two parsers read differently: where it is, what is wrong, and what to write instead."""

    field: str
    line: int
    message: str
    hint: str


def is_suspect(text: str) -> bool:
    """Whether a plain scalar may mean something else in YAML 1.1. Loads no parser."""
    if text[:1] not in _STARTS:
        return text.lower() in _TRUTHS or text in _SPECIAL
    return _LOOKS_LIKE_NUMBER.fullmatch(text) is not None and _SAME.fullmatch(text) is None


def doubt_about(text: str, value: Scalar, field: str, line: int) -> Doubt | None:
    """Return what is ambiguous about the plain scalar `text`, which means `value` in YAML 1.2."""
    if not is_suspect(text):
        return None
    other = _in_yaml_1_1(text)
    if type(other) is type(value) and other == value:
        return None
    message = f"{quoted(text)} is {_told(value)} in YAML 1.2, but {_told(other)} in YAML 1.1"
    return Doubt(field, line, f"{message}: clients that read YAML 1.1 refuse the skill", _hint(text, value))


def _hint(text: str, value: Scalar) -> str:
    in_quotes = "write " + quoted(f'"{text}"')
    if isinstance(value, str):
        return in_quotes
    number = _spelled(value)
    return f"{in_quotes} if it is text" + (f", or `{number}` if it is a number" if number else "")


def _spelled(value: Scalar) -> str:
    """Return a number as all parsers read it."""
    if isinstance(value, float):
        return repr(value) if 1e-4 <= abs(value) < _BIGGEST_WRITTEN else ""
    return str(value)


def _told(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value!r}" if abs(value) < _BIGGEST_WRITTEN else "a number"
        case str():
            return "text"
        case date():
            return "a date"
        case _:
            return "something else"


def _in_yaml_1_1(text: str) -> object:
    if text in _SPECIAL:
        return None
    yaml = _yaml()
    node = yaml.ScalarNode(yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False)), text)
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except (ValueError, yaml.YAMLError):  # a day that no calendar has
        return None


@cache
def _yaml() -> Any:
    import yaml  # noqa: PLC0415 - most frontmatter is read without it

    return yaml
