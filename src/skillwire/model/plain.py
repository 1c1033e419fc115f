"""Foreign text made fit for a model: what a person could not see in it is not there (H27)."""

import unicodedata

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


def plain(text: str, limit: int) -> str:
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
