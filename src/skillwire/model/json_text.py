"""JSON as it is written here. Values of others may hold what the fast writer does not know."""

import json
import math
from typing import Any, cast

import orjson

from skillwire.model.errors import SkillwireError

_CHUNK = 1 << 16
"""Bytes that are counted in one step."""


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
    if _separators(content) >= max_values and _values(content, enough=max_values) > max_values:
        raise JsonTooLargeError(max_values=max_values)
    return orjson.loads(content)


def _values(content: bytes, *, enough: int) -> int:
    """Return an upper bound of the number of values outside strings, or any number above `enough`."""
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
        text = json.dumps(_finite(value), indent=2 if indented else None, separators=separators)
        return f"{text}\n".encode() if indented else text.encode()


def _finite(value: Any) -> object:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in cast("list[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value
