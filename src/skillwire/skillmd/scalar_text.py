"""Text written as a YAML scalar that every parser reads alike, and that no parser takes for a fence."""

import re

from skillwire.skillmd.scalars import is_plain_text

# Letters, digits and a few signs that mean nothing in YAML; never a space or a sign at either end.
_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._/()+-]*[A-Za-z0-9.)])?")
_FENCE = "---"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def scalar(text: str) -> str:
    """Return `text` on one line: plain if that stays text, else in the quotes that need least.

    `skills-ref` ends the frontmatter at the first three dashes anywhere, so they are never written as such.
    """
    if _FENCE not in text:
        if _PLAIN.fullmatch(text) and is_plain_text(text):
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
