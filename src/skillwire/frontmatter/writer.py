"""Write frontmatter that every YAML parser reads alike."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from skillwire.core.record import Json
from skillwire.frontmatter.values import is_plain_text

# A letter, then letters, digits and a few characters without meaning in YAML; no space or sign at the end.
# Some parsers may read text that begins with a digit as a number, a date or a time.
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9 ._/()+-]*[A-Za-z0-9.)])?")
_BOOLEAN_WORDS = frozenset({"y", "n", "yes", "no", "on", "off"})
"""Words that are text in YAML 1.2 and booleans in YAML 1.1."""
_FENCE = "---"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def format_scalar(text: str) -> str:
    """Return `text` as a YAML scalar on one line: plain if possible, else in single or double quotes.

    Three dashes are always escaped, because `skills-ref` ends the frontmatter at the first three dashes
    anywhere.
    """
    if _FENCE not in text:
        if _PLAIN.fullmatch(text) and text.lower() not in _BOOLEAN_WORDS and is_plain_text(text):
            return text
        if text.isprintable():
            return "'" + text.replace("'", "''") + "'"
    escaped = "".join(_escaped(character) for character in text)
    return '"' + escaped.replace(_FENCE, "\\x2D\\x2D\\x2D") + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def write_frontmatter(fields: Mapping[str, Json]) -> str:
    """Return frontmatter with both fences, one line for each field.

    Raises `ValueError` for a number that is infinite or NaN.
    """
    lines = [f"{format_scalar(key)}: {_value(value)}\n" for key, value in fields.items()]
    return "".join(["---\n", *lines, "---\n"])


def _value(value: Json) -> str:
    if isinstance(value, str):
        return format_scalar(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return "{" + ", ".join(f"{format_scalar(key)}: {_value(each)}" for key, each in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, allow_nan=False)
