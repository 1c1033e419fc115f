"""Text to search terms: normalized words, stems, stop words, and pairs of characters for CJK and Thai."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from sys import intern

from skillwire.search.stem import stem

_STOP = """
a about above after again all also am an and any are as at be because been before being below between both
but by can could did do does doing don down during each else few for from further had has have having he her
here hers him his how i if in into is it its just me may might more most must my no nor not of off on once
only or other our out over own please same shall she should so some such than that the their them then there
these they this those through to too under until up upon us very via was we were what when where which while
who whom whose why will with would you your s t re ve ll d m im ive dont cant doesnt didnt isnt wont
"""
_QUANTITIES = """
one two three four five six seven eight nine ten first second third twice half several many much lot lots
enough whole certain
"""
_INDEFINITE = """
thing things something anything everything nothing someone somebody anyone anybody everyone everybody nobody
people person somehow anyway way ways kind sort
"""
_LIGHT_VERBS = """
say says said tell tells told ask asks asked come comes came coming go goes going went gone put puts take
takes took taken taking bring brings brought give gives gave given make makes made making keep keeps kept
leave leaves left let lets look looks looking looked see sees seen saw show shows shown find finds found
know knows knew known think thinks thought want wants wanted need needs needed try tries tried get gets got
getting seem seems become becomes happen happens happened work works working worked use uses used using turn
help helps
"""
_TIME_AND_PLACE = """
never always ever often sometimes usually already still yet ago soon later now today tomorrow yesterday
night week weeks month months day days year years hour hours minute minutes time times last next really
quite rather almost hardly mostly actually back away around apart inside outside together along aside
instead anymore currently
"""
_GENERAL = """
good bad better best worse worst big small little long short old new full right wrong hard easy different
another
"""
STOP_WORDS = frozenset(_STOP.split())
"""English function words. They are neither indexed nor searched for."""
LIGHT_WORDS = frozenset((_QUANTITIES + _INDEFINITE + _LIGHT_VERBS + _TIME_AND_PLACE + _GENERAL).split())
"""Words of everyday requests that say little about a subject. They count less than other words."""

MAX_WORD = 40
"""Maximum number of characters of a word that is indexed. Longer words are mostly encoded data."""

_ASCII_WORDS = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256)
)
"""Maps ASCII letters to lower case, and everything that is no letter or digit to a space."""
_ASCII_LINES = _ASCII_WORDS[:10] + b"\n" + _ASCII_WORDS[11:]
"""The same, but keeps line feeds."""
_ASCII = bytes(range(128))
# Names such as `c++` and `c#`, which are terms besides the single letter. Patterns that begin with a fixed
# character are the fastest: most texts have a `#`, but few such names.
_LANGUAGES = (
    re.compile(r"\+\+(?<=(?<![A-Za-z0-9])[A-Za-z]\+\+)(?![A-Za-z0-9])"),
    re.compile(r"#(?<=(?<![A-Za-z0-9])[A-Za-z]#)(?![A-Za-z0-9])"),
)
# Scripts that are written without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han, Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
# The vowel signs of the scripts of India are no word characters for `re`.
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]|[\u0900-\u0dff])+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
# Accents of Latin, Greek and Cyrillic letters, and the vowel points of Hebrew and Arabic. The marks of other
# scripts distinguish words.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\ud800-\udfff]")
_MAX_TERMS = 100_000
"""Maximum number of words whose terms are kept for reuse."""
_SHORT = 4
"""Maximum length of words with digits that are kept for reuse. Longer ones are mostly rare."""


def words(text: str) -> list[str]:
    """Return the words of `text` in lower case and without accents, in order.

    A run of characters of an unspaced script returns its pairs.
    """
    if _has_ascii_words(text):
        simple = _ascii_words(text)
        simple += _languages(text)
        return simple
    found, languages = list[str](), list[str]()
    for is_simple, lines in groupby(text.split("\n"), key=str.isascii):
        part = "\n".join(lines)
        if is_simple:
            found += _ascii_words(part)
        else:
            part = _normalize(part)
            for word in _WORD.findall(part):
                found.extend(_pairs(word) if is_unspaced(word) else (word,))
        languages += _languages(part)
    return found + languages


def words_by_line(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of each line. Faster than `words` for each of them.

    The lines must not contain line breaks.
    """
    text = "\n".join(lines)
    if not lines or not _has_ascii_words(text):
        yield from map(words, lines)
        return
    simple = text.encode("ascii", "replace").translate(_ASCII_LINES).decode("ascii").split("\n")
    for line, split in zip(lines, map(str.split, simple), strict=True):
        yield split + _languages(line) if "#" in line or "++" in line else split


def _has_ascii_words(text: str) -> bool:
    """Return whether no letter or digit of a text is outside of ASCII."""
    if text.isascii():
        return True
    others = text.encode("utf-8", "ignore").translate(None, _ASCII).decode("utf-8")
    return not any(map(str.isalnum, set(others)))


def _ascii_words(text: str) -> list[str]:
    return text.encode("ascii", "replace").translate(_ASCII_WORDS).decode("ascii").split()


def _languages(text: str) -> list[str]:
    if "#" not in text and "++" not in text:
        return []
    return [
        text[each.end() - len(each[0]) - 1 : each.end()].lower()
        for pattern in _LANGUAGES
        for each in pattern.finditer(text)
    ]


def _normalize(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", decomposed))


def is_unspaced(word: str) -> bool:
    """Return whether a word begins with a character of a script without spaces."""
    return _IS_UNSPACED.match(word) is not None


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


class Terms(dict[str, str]):
    """Maps each word to the term under which it is indexed, and words that are not indexed to an empty text.

    A term is the stem of an English word. Other words are mostly unchanged. Terms are kept for reuse.
    """

    def __missing__(self, word: str) -> str:
        if len(word) > MAX_WORD:
            return ""
        is_alpha = word.isalpha()
        if not is_alpha and len(word) > _SHORT:
            return word
        if len(self) >= _MAX_TERMS:
            self.clear()
        # Equal terms are one object, which is compared faster.
        term = "" if word in STOP_WORDS else intern(stem(word) if is_alpha else word)
        self[word] = term
        return term


@cache
def term_of_word() -> Terms:
    """Return the terms that this process shares."""
    return Terms()
