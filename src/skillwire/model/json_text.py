"""JSON as it is written here. Values of others may hold what the fast writer does not know."""

import json
import math
from typing import Any, cast

import orjson


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
