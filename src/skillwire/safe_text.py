"""Make untrusted text safe to show to people and models, in errors, logs and terminals."""

import re
import unicodedata

MAX_SHOWN_CHARACTERS = 200
"""Maximum number of characters of an untrusted value that an error repeats."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode categories of invisible characters: control, format, surrogate, private use, unassigned."""
_LINE_BREAKS = frozenset({"Zl", "Zp"})

_BACKTICK = "\\x60"
_WORD = re.compile(r"[\w!#$%&'()*+,./:;=?@~^|{}\[\]-]+")

# User information before the host, even if the text was cut off inside it. A password may contain a `/`.
_USER = re.compile(r"(?<=://)(?:[^/?#`]*|[^/?#`@:]*:(?!\d+(?:[/?#`]|$))[^`]*)(?:@|…)")
_QUERY = re.compile(r"(?<=://)([^?`]*)\?[^`]*")

_MAX_MESSAGE_LENGTH = 4000
"""Maximum number of characters that `redact_secrets` searches.

Longer text is cut first, because the patterns above take more than linear time.
"""
_BLANKS = frozenset(
    {
        "\u034f",  # combining grapheme joiner
        "\u115f",
        "\u1160",
        "\u3164",
        "\uffa0",  # Hangul fillers
        "\u17b4",
        "\u17b5",  # invisible Khmer vowels
        "\u2800",  # blank Braille pattern
        *map(chr, range(0x180B, 0x1810)),
        *map(chr, range(0xFE00, 0xFE10)),
        *map(chr, range(0xE0100, 0xE01F0)),  # variation selectors: they can encode hidden bytes
    }
)


def escape_invisible(text: str, limit: int | None = None, *, keep: str = "") -> str:
    """Return `text` on one line, with line breaks and invisible characters as escapes.

    The text is cut after `limit` characters, before it is escaped. Characters in `keep` stay unchanged.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(character if character in keep else _escape(character) for character in cut)


def collapse_lines(text: str) -> str:
    """Return `text` on one line, for lists and menus.

    Each run of whitespace becomes one space. Invisible characters become escapes.
    """
    return escape_invisible(" ".join(text.split()))


def quoted(text: str, limit: int | None = MAX_SHOWN_CHARACTERS) -> str:
    """Return `text` as a literal for a message: escaped, cut at `limit`, in backticks.

    Backticks in the text are escaped, so that it cannot end its own quotation.
    """
    return f"`{escape_invisible(text, limit).replace('`', _BACKTICK)}`"


def quote_if_needed(text: str) -> str:
    """Return an address or name unchanged if it is one word of at most 200 characters, else quoted.

    One word cannot be mistaken for part of the sentence around it.
    """
    return text if len(text) <= MAX_SHOWN_CHARACTERS and _WORD.fullmatch(text) else quoted(text)


def redact_secrets(text: str) -> str:
    """Replace user information and queries in URLs with `…`. In a message, URLs must be in backticks.

    Text longer than 4000 characters is cut.
    """
    cut = text if len(text) <= _MAX_MESSAGE_LENGTH else text[:_MAX_MESSAGE_LENGTH] + "…"
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
    """Return `text` on one line, without invisible characters, cut at `limit` characters."""
    line = " ".join(text[: 8 * limit].split())
    visible = line
    if not (line.isascii() and line.isprintable()):  # fast path, because most text has nothing to strip
        visible = " ".join("".join(filter(_is_visible, line)).split())
    return visible if len(visible) <= limit else visible[: limit - 1].rstrip() + "…"


def _is_visible(character: str) -> bool:
    if character.isascii():
        return character.isprintable()
    return character not in _BLANKS and unicodedata.category(character) not in _HIDDEN_CATEGORIES
