"""Corrections of misspelled words, by comparing them with the words of names, descriptions and headings."""

from collections.abc import Callable, Iterable

from skillwire.search.text import LIGHT_WORDS, STOP_WORDS, is_unspaced

_MIN_LENGTH = 3
_MAX_LENGTH = 24
_SWAPS_ONLY = 5
"""Words of up to this length are corrected only if two neighboring letters are swapped.

With other edits, most short words would be similar to some other word.
"""
_TWO_EDITS = 8
"""Words of at least this length may have two errors."""

WordsLike = Callable[[str, range], Iterable[str]]
"""A function that returns the words with a first letter and lengths."""


def is_misspelled_common_word(word: str) -> bool:
    """Return whether a word is more likely a misspelled function word than a word to search for."""
    return len(word) > _MIN_LENGTH and any(
        word[0] == each[0] and edit_distance(word, each, 1) == 1 for each in _COMMON.get(len(word), ())
    )


def similar_words(word: str, words_like: WordsLike) -> list[tuple[int, str]]:
    """Return the words that may be meant, each with its number of edits. The most similar are first."""
    length = len(word)
    if not _MIN_LENGTH <= length <= _MAX_LENGTH or not word.isalpha() or is_unspaced(word):
        return []
    limit = 2 if length >= _TWO_EDITS else 1
    letters = _letters(word)
    found: list[tuple[int, str]] = []
    for initial in dict.fromkeys(word[:2]):
        for known in words_like(initial, range(length - limit, length + limit + 1)):
            if (letters ^ _letters(known)).bit_count() > 2 * limit:
                continue
            if length <= _SWAPS_ONLY and (len(known) != length or sorted(known) != sorted(word)):
                continue
            distance = edit_distance(word, known, limit)
            if distance <= limit and (initial == word[0] or distance == 1):
                found.append((distance, known))
    return sorted(found)


def edit_distance(one: str, other: str, limit: int) -> int:
    """Return how many letters were inserted, removed or replaced, or swapped with the next one.

    Returns more than `limit` as soon as it is certain that there are more edits.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        current = [i]
        for j, compared in enumerate(other, 1):
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + (letter != compared))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == compared:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, row = row, current
    return row[-1]


def _letters(word: str) -> int:
    """Return a number with one bit for each letter that occurs, to compare words quickly."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits


def _by_length() -> dict[int, list[str]]:
    """Return the function words that a word of each length may be a misspelling of."""
    found: dict[int, list[str]] = {}
    for word in sorted(STOP_WORDS | LIGHT_WORDS):
        for length in range(len(word) - 1, len(word) + 2):
            if len(word) > _MIN_LENGTH:
                found.setdefault(length, []).append(word)
    return found


_COMMON = _by_length()
