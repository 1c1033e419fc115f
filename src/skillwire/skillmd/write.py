"""The other direction: from fields to the frontmatter that reads as just these fields."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from skillwire.model.entry import Json

# What may not stand for itself in YAML, or what some parsers drop or fold. JSON would leave it as it is.
_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[ _.,()/+-]+[A-Za-z0-9()]+)*[.!]?")
_NOT_TEXT = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


def write_frontmatter(fields: Mapping[str, Json]) -> str:
    """Return a frontmatter with both fences: a line for each field, in words or as JSON, which is YAML 1.2.

    Raises `ValueError` for a number that is not finite.
    """
    lines = [f"{_text(key)}: {_value(value)}\n" for key, value in fields.items()]
    return "".join(["---\n", *lines, "---\n"])


def _value(value: Json) -> str:
    return _text(value) if isinstance(value, str) else _inner(value)


def _inner(value: Json) -> str:
    """Return a value inside a list or a mapping, where a comma would mean something."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return "{" + ", ".join(f"{_quoted(key)}: {_inner(each)}" for key, each in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inner, value)) + "]"
    return json.dumps(value, allow_nan=False)


def _text(text: str) -> str:
    """Return a text as it is where every parser takes it for text, else in quotes."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT else _quoted(text)


def _quoted(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04X}", json.dumps(text, ensure_ascii=False))
