"""Make foreign text safe to show: in errors, logs and terminals, and to a model."""

import re
import unicodedata

MAX_SHOWN_CHARACTERS = 200
"""How many characters of a foreign value an error repeats."""

# Control, format (bidi overrides, invisible tags), surrogate, private use, unassigned.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_LINE_BREAKS = frozenset({"Zl", "Zp"})

_BACKTICK = "\\x60"
_WORD = re.compile(r"[\w!#$%&'()*+,./:;=?@~^|{}\[\]-]+")

# Who asks, before the host, also where the text was cut; a password may hold a `/`, though it should not.
_USER = re.compile(r"(?<=://)(?:[^/?#`]*|[^/?#`@:]*:(?!\d+(?:[/?#`]|$))[^`]*)(?:@|…)")
_QUERY = re.compile(r"(?<=://)([^?`]*)\?[^`]*")

_LONGEST = 4000
"""Characters of a message. The patterns above take longer than a text is long."""
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Control, format (bidi overrides, invisible tags), surrogate, private use, unassigned."""
_BLANKS = frozenset(
    {
        "\u034f",  # combining grapheme joiner
        "\u115f",
        "\u1160",
        "\u3164",
        "\uffa0",  # fillers of Hangul
        "\u17b4",
        "\u17b5",  # vowels of Khmer that nobody sees
        "\u2800",  # the empty pattern of Braille
        *map(chr, range(0x180B, 0x1810)),
        *map(chr, range(0xFE00, 0xFE10)),
        *map(chr, range(0xE0100, 0xE01F0)),  # variation selectors: any byte can hide in them
    }
)


def escape_invisible(text: str, limit: int | None = None, *, keep: str = "") -> str:
    """Return `text` on one line, with what the eye cannot see spelled as an escape, cut at `limit`.

    The characters in `keep` stay as they are.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(character if character in keep else _escape(character) for character in cut)


def collapse_lines(text: str) -> str:
    """Return a longer text on one line, for a list or a menu: runs of spaces and line breaks are a space."""
    return escape_invisible(" ".join(text.split()))


def quoted(text: str, limit: int | None = MAX_SHOWN_CHARACTERS) -> str:
    """Return `text` as a literal in a sentence: visible, capped, in backticks.

    A backtick in it is spelled as an escape, so that no text can end its own quotation.
    """
    return f"`{escape_invisible(text, limit).replace('`', _BACKTICK)}`"


def quote_if_needed(text: str) -> str:
    """Return an address or a name as it is if it is one word, else as a literal.

    One word cannot pass for a part of the sentence around it.
    """
    return text if len(text) <= MAX_SHOWN_CHARACTERS and _WORD.fullmatch(text) else quoted(text)


def redact_secrets(text: str) -> str:
    """Return an address, or a message with one in backticks, without the parts that people put keys in."""
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return _QUERY.sub(r"\1?…", _USER.sub("…@", cut))


def _escape(character: str) -> str:
    category = unicodedata.category(character)
    if category not in _HIDDEN_CATEGORIES and category not in _LINE_BREAKS:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def strip_invisible(text: str, limit: int) -> str:
    """Return `text` on one line, without anything invisible, cut at `limit` characters."""
    line = " ".join(text[: 8 * limit].split())
    seen = line
    if not (line.isascii() and line.isprintable()):  # most are, and are done with
        seen = " ".join("".join(filter(_is_seen, line)).split())
    return seen if len(seen) <= limit else seen[: limit - 1].rstrip() + "…"


def _is_seen(character: str) -> bool:
    if character.isascii():
        return character.isprintable()
    return character not in _BLANKS and unicodedata.category(character) not in _HIDDEN
