"""The other direction: from fields to the frontmatter that reads as just these fields."""

import json
from collections.abc import Mapping
from typing import Any, cast

from skillwire.model.entry import Json
from skillwire.skillmd.scalar_text import scalar


def write_frontmatter(fields: Mapping[str, Json]) -> str:
    """Return a frontmatter with both fences, a line for each field. Raises `ValueError` for NaN."""
    lines = [f"{scalar(key)}: {_value(value)}\n" for key, value in fields.items()]
    return "".join(["---\n", *lines, "---\n"])


def _value(value: Json) -> str:
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return "{" + ", ".join(f"{scalar(key)}: {_value(each)}" for key, each in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, allow_nan=False)
