"""What a plain YAML scalar means: the core schema of YAML 1.2, as one table (S7)."""

import re
from collections.abc import Callable
from math import isfinite

Scalar = str | int | float | bool | None

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_LONGEST = len(str(_SMALLEST))
_NUMBER_STARTS = frozenset("+-.0123456789")
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class NotFiniteError(ValueError):
    """A number that JSON cannot say."""


def core_value(text: str) -> Scalar:
    """Return what `text` means where it stands without quotes.

    What is not in the table is text: `yes`, `2024-01-02`, `12:30:45`, `1_000`, `<<`.
    """
    if text in _WORDS:
        return _WORDS[text]
    # Most scalars are words, and a look at the first character is much cheaper than the expression.
    if text[0] not in _NUMBER_STARTS or (number := _NUMBER.fullmatch(text)) is None:
        return text
    return _READ[str(number.lastgroup)](text)


def is_plain_text(text: str) -> bool:
    """Whether the scalar `text` stays text without quotes."""
    try:
        return isinstance(core_value(text), str)
    except NotFiniteError:
        return False


def _decimal(text: str) -> int | float:
    # Python refuses to read integers of thousands of digits; those are floats anyway.
    return _integer(int(text)) if len(text) <= _LONGEST else _long_decimal(text)


def _long_decimal(text: str) -> int | float:
    digits = text.lstrip("+-0")
    if len(digits) > _LONGEST:
        return _float(text)
    magnitude = int(digits or "0")
    return _integer(-magnitude if text.startswith("-") else magnitude)


def _integer(value: int) -> int | float:
    if _SMALLEST <= value <= _LARGEST:
        return value
    # No JSON reader promises more than 64 bits, and npm `yaml` reads a double here too.
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


_READ: dict[str, Callable[[str], int | float]] = {
    "decimal": _decimal,
    "octal": lambda text: _integer(int(text, 0)),
    "hexadecimal": lambda text: _integer(int(text, 0)),
    "float": _float,
    "special": _not_finite,
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
