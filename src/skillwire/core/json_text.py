"""Read, write, compare and measure JSON."""

import json
import math
from typing import Any, cast

import orjson

from skillwire.core.record import Json
from skillwire.errors import SkillwireError

_CHUNK = 1 << 16
"""Bytes that are counted in one step."""
_EACH, _CONTAINER = 8, 56
"""Bytes for a value, whatever it is, and more for one that holds others: nothing is free."""


class JsonTooLargeError(SkillwireError, ValueError):
    """A JSON document holds more values than its reader accepts."""

    def __init__(self, *, max_values: int) -> None:
        self.max_values = max_values
        super().__init__(f"the JSON document holds more than {max_values:,} values, which is the limit")


def load_bounded_json(content: bytes, *, max_values: int) -> object:
    """Return what a JSON document says, unless it holds more than `max_values` values.

    Parsed values take up to 40 times the space of their text, so that a limit on bytes alone is not enough.
    The values are counted before anything is parsed: the parsed document takes at most about 200 bytes for
    each value, and four times its own length.

    Raise:
        JsonTooLargeError: It holds more values.
        orjson.JSONDecodeError: It is not JSON.
    """
    if has_more_values(content, max_values):
        raise JsonTooLargeError(max_values=max_values)
    return orjson.loads(content)


def has_more_values(content: bytes, most: int) -> bool:
    """Whether a JSON document may hold more than `most` values, found without parsing it."""
    if len(content) <= most or _separators(content) < most:  # as almost every one
        return False
    return _values(content, enough=most) > most


def _values(content: bytes, *, enough: int) -> int:
    """Return an upper bound of the number of values outside strings, or any number above `enough`."""
    # Without escapes, every other quote ends a string.
    text = content.replace(rb"\\", b"").replace(rb"\"", b"")
    found, in_string = 1, 0
    for start in range(0, len(text), _CHUNK):
        pieces = text[start : start + _CHUNK].split(b'"')
        found += _separators(b"".join(pieces[in_string::2]))
        if found > enough:
            break
        in_string = (in_string + len(pieces) - 1) % 2
    return found


def _separators(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def json_bytes(value: object, *, indented: bool = False) -> bytes:
    """Return a value as JSON; `indented` for people to read, with a line break at its end.

    Numbers of any length stay what they are, half characters are escaped, and what is no number is `null`.
    """
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE if indented else 0
    try:
        return orjson.dumps(value, option=option)
    except orjson.JSONEncodeError:
        separators = None if indented else (",", ":")
        text = json.dumps(_replace_non_finite(value), indent=2 if indented else None, separators=separators)
        return f"{text}\n".encode() if indented else text.encode()


def _replace_non_finite(value: Any) -> object:
    if isinstance(value, dict):
        return {key: _replace_non_finite(each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_replace_non_finite(each) for each in cast("list[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def weight(value: object, most: int) -> int:
    """Return about how many bytes a value of JSON has; once that is more than `most`, counting ends."""
    total, left = 0, [value]
    while left and total <= most:
        each = left.pop()
        total += _EACH
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, dict):
            total += _CONTAINER
            left.extend(cast("dict[object, object]", each).keys())
            left.extend(cast("dict[object, object]", each).values())
        elif isinstance(each, list):
            total += _CONTAINER
            left.extend(cast("list[object]", each))
    return total


def json_equal(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal: a number is one however it is written, and never a boolean."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return (type(one) is type(other) and one == other) or _both_numbers(one, other)


def _both_numbers(one: Json, other: Json) -> bool:
    return isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other
