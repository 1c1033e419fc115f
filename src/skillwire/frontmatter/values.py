"""Frontmatter values: YAML 1.2 scalars, values that YAML 1.1 reads differently, and all fields together."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from math import isfinite
from typing import Any

from skillwire.core.record import Json
from skillwire.safe_text import quoted

Scalar = str | int | float | bool | None

_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1
_MAX_DIGITS = len(str(_MIN_INTEGER))
_NUMBER_STARTS = frozenset("+-.0123456789")
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(
    r"""
      (?P<decimal>     [-+]? [0-9]+ )
    | (?P<octal>       0o [0-7]+ )
    | (?P<hexadecimal> 0x [0-9a-fA-F]+ )
    | (?P<float>       [-+]? (?: \.[0-9]+ | [0-9]+ (?:\.[0-9]*)? ) (?: [eE] [-+]? [0-9]+ )? )
    | (?P<special>     [-+]? \. (?: inf | Inf | INF ) | \. (?: nan | NaN | NAN ) )
    """,
    re.VERBOSE | re.ASCII,
)
_BOOLEAN_WORDS = frozenset({"yes", "no", "on", "off"})
_SPECIAL = frozenset({"=", "<<"})
_STARTS = frozenset("+-.0123456789")
# Text that some parser may read as a number, date or time. All parsers read `_SAME_IN_BOTH_VERSIONS` alike.
_LOOKS_LIKE_NUMBER = re.compile(r"[-+]?\.?[0-9][-+0-9a-fA-FxXoObBtTzZ_:. \t]*")
_SAME_IN_BOTH_VERSIONS = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)*")
_MAX_WRITTEN_NUMBER = 10**15
"""Numbers from this size on are not written out in messages, because people write them with an exponent."""


_MAX_SHARED_LENGTH = 32
_MAX_SHARED_TEXTS = 4096
_shared_texts: dict[str, str] = {}


class NotFiniteError(ValueError):
    """A number is infinite or NaN, which JSON cannot represent."""


def parse_core_scalar(text: str) -> Scalar:
    """Return the value of `text` as a plain scalar of the YAML 1.2 core schema.

    Text that matches no other type in that schema stays text: for example `yes`, `2024-01-02`, `12:30:45`,
    `1_000` and `<<`. Raises `NotFiniteError` for a number that is infinite or NaN.
    """
    if text in _WORDS:
        return _WORDS[text]
    # Most scalars are words, and testing the first character is much cheaper than the expression.
    if text[0] not in _NUMBER_STARTS or (number := _NUMBER.fullmatch(text)) is None:
        return text
    return _NUMBER_PARSERS[str(number.lastgroup)](text)


def share_texts(values: dict[str, Json]) -> None:
    """Replace short texts with equal texts of other skills, to save memory.

    Many skills have the same license, version or owner.
    """
    is_full = len(_shared_texts) >= _MAX_SHARED_TEXTS
    for key, value in values.items():
        if isinstance(value, str):
            if len(value) <= _MAX_SHARED_LENGTH and key != "name":  # a name is rarely shared
                shared = _shared_texts.get(value)
                if shared is not None:
                    values[key] = shared
                elif not is_full:
                    _shared_texts[value] = value
        elif isinstance(value, dict):
            share_texts(value)


def is_plain_text(text: str) -> bool:
    """Return whether the scalar `text` stays text without quotes."""
    try:
        return isinstance(parse_core_scalar(text), str)
    except NotFiniteError:
        return False


def _decimal(text: str) -> int | float:
    # Python refuses to parse integers of thousands of digits; those become floats anyway.
    return _integer(int(text)) if len(text) <= _MAX_DIGITS else _long_decimal(text)


def _long_decimal(text: str) -> int | float:
    digits = text.lstrip("+-0")
    if len(digits) > _MAX_DIGITS:
        return _float(text)
    magnitude = int(digits or "0")
    return _integer(-magnitude if text.startswith("-") else magnitude)


def _integer(value: int) -> int | float:
    if _MIN_INTEGER <= value <= _MAX_INTEGER:
        return value
    # JSON parsers support at most 64 bits, and npm `yaml` also reads a double here.
    try:
        return float(value)
    except OverflowError:
        raise NotFiniteError from None


def _float(text: str) -> float:
    if not isfinite(value := float(text)):
        raise NotFiniteError
    return value


def _not_finite(_text: str) -> float:
    raise NotFiniteError


_NUMBER_PARSERS: dict[str, Callable[[str], int | float]] = {
    "decimal": _decimal,
    "octal": lambda text: _integer(int(text, 0)),
    "hexadecimal": lambda text: _integer(int(text, 0)),
    "float": _float,
    "special": _not_finite,
}


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A value that two parsers read differently: where it is, what is wrong, and what to write instead."""

    field: str
    line: int
    message: str
    hint: str


def may_be_ambiguous(text: str) -> bool:
    """Return whether a plain scalar may have another value in YAML 1.1. Does not load a parser."""
    if text[:1] not in _STARTS:
        return text.lower() in _BOOLEAN_WORDS or text in _SPECIAL
    return _LOOKS_LIKE_NUMBER.fullmatch(text) is not None and _SAME_IN_BOTH_VERSIONS.fullmatch(text) is None


def find_ambiguity(text: str, value: Scalar, field: str, line: int) -> Ambiguity | None:
    """Return the ambiguity of the plain scalar `text`, or None if YAML 1.1 reads it as `value`, too.

    `value` is the scalar's value in YAML 1.2.
    """
    if not may_be_ambiguous(text):
        return None
    other = _parse_yaml_1_1(text)
    if type(other) is type(value) and other == value:
        return None
    message = (
        f"{quoted(text)} is {_describe_value(value)} in YAML 1.2, but {_describe_value(other)} in YAML 1.1"
    )
    return Ambiguity(
        field, line, f"{message}: clients that read YAML 1.1 refuse the skill", _hint(text, value)
    )


def _hint(text: str, value: Scalar) -> str:
    in_quotes = "write " + quoted(f'"{text}"')
    if isinstance(value, str):
        return in_quotes
    number = _format_number(value)
    return f"{in_quotes} if it is text" + (f", or `{number}` if it is a number" if number else "")


def _format_number(value: Scalar) -> str:
    """Return a value in a form that all parsers read alike, or `""` for a very small or large float."""
    if isinstance(value, float):
        return repr(value) if 1e-4 <= abs(value) < _MAX_WRITTEN_NUMBER else ""
    return str(value)


def _describe_value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value!r}" if abs(value) < _MAX_WRITTEN_NUMBER else "a number"
        case str():
            return "text"
        case date():
            return "a date"
        case _:
            return "something else"


def _parse_yaml_1_1(text: str) -> object:
    if text in _SPECIAL:
        return None
    yaml = _yaml()
    node = yaml.ScalarNode(yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False)), text)
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except (ValueError, yaml.YAMLError):  # a date that does not exist
        return None


@cache
def _yaml() -> Any:
    import yaml  # noqa: PLC0415 - most frontmatter is read without it

    return yaml


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a frontmatter."""

    values: dict[str, Json]
    """Valid JSON values: text without lone surrogates, 64-bit integers, finite floats, string keys."""
    lines: dict[str, int]
    """The line of each top-level field."""
    ambiguities: tuple[Ambiguity, ...] = ()
    """The values that another parser reads differently."""
