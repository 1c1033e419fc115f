"""Read, write, compare and measure JSON."""

import json
import math
from typing import Any, cast

import orjson

from skillwire.core.record import Json
from skillwire.errors import SkillwireError

_CHUNK = 1 << 16
"""Number of bytes to examine in one step."""
_VALUE_BYTES, _CONTAINER_BYTES = 8, 56
"""Estimated bytes for any value, and additional bytes for an object or array."""


class JsonTooLargeError(SkillwireError, ValueError):
    """A JSON document may have more values than the limit, counted as in `has_more_values`."""

    def __init__(self, *, max_values: int) -> None:
        self.max_values = max_values
        super().__init__(f"the JSON document holds more than {max_values:,} values, which is the limit")


def load_bounded_json(content: bytes, *, max_values: int) -> object:
    """Parse a JSON document that has at most `max_values` values.

    Parsed values take up to 40 times the memory of their text, so a limit on bytes alone is not enough. The
    values are counted before parsing. The parsed document takes at most about 200 bytes for each value, plus
    four times the length of the text.

    Raises:
        JsonTooLargeError: The document may have more than `max_values` values, as `has_more_values` counts.
        orjson.JSONDecodeError: The document is not valid JSON.
    """
    if has_more_values(content, max_values):
        raise JsonTooLargeError(max_values=max_values)
    return orjson.loads(content)


def has_more_values(content: bytes, max_values: int) -> bool:
    """Return whether a JSON document may have more than `max_values` values, without parsing it.

    Each object, array and other value counts as one; an empty object or array counts as two. Keys do not
    count.
    """
    if len(content) <= max_values or _separators(content) < max_values:  # true for almost every document
        return False
    return _values(content, enough=max_values) > max_values


def _values(content: bytes, *, enough: int) -> int:
    """Return an upper bound for the number of values. Counting stops when the result is above `enough`."""
    # If there are no escapes, every second quote ends a string.
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
    """Return a value as JSON. With `indented`, the JSON is easy to read and ends with a line break.

    Integers may have any length. Lone surrogates are escaped. Infinity and NaN become `null`.
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


def weight(value: object, limit: int) -> int:
    """Estimate the memory that a JSON value takes, in bytes.

    Counting stops once the total exceeds `limit`.
    """
    total, left = 0, [value]
    while left and total <= limit:
        each = left.pop()
        total += _VALUE_BYTES
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, dict):
            total += _CONTAINER_BYTES
            left.extend(cast("dict[object, object]", each).keys())
            left.extend(cast("dict[object, object]", each).values())
        elif isinstance(each, list):
            total += _CONTAINER_BYTES
            left.extend(cast("list[object]", each))
    return total


def json_equal(one: Json, other: Json) -> bool:
    """Return whether two JSON values are equal. `1` equals `1.0`, and a boolean equals no number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return (type(one) is type(other) and one == other) or _both_numbers(one, other)


def _both_numbers(one: Json, other: Json) -> bool:
    return isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other
