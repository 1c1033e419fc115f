"""Text written as a YAML scalar that every parser reads alike, and that no parser takes for a fence."""

import re

from skillwire.skillmd.scalars import is_plain_text

# A letter, then letters, digits and a few signs that mean nothing in YAML; no space or sign at the end.
# What begins with a digit may be a number, a date or a time of day to somebody.
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9 ._/()+-]*[A-Za-z0-9.)])?")
_TRUTHS = frozenset({"y", "n", "yes", "no", "on", "off"})
"""Text in YAML 1.2, and something else to readers of YAML 1.1."""
_FENCE = "---"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def scalar(text: str) -> str:
    """Return `text` on one line: plain if that stays text, else in the quotes that need least.

    `skills-ref` ends the frontmatter at the first three dashes anywhere, so they are never written as such.
    """
    if _FENCE not in text:
        if _PLAIN.fullmatch(text) and text.lower() not in _TRUTHS and is_plain_text(text):
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
