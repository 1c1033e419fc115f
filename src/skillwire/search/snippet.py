"""The line of a skill's text that shows best why it matches a query."""

import re
from collections.abc import Collection
from itertools import chain

from skillwire.safe_text import strip_invisible
from skillwire.search.document import body_of
from skillwire.search.text import term_of_word, words, words_by_line

MAX_LENGTH = 160
_MAX_TEXT = 64_000
"""Maximum number of characters of a text that are searched for a snippet."""
_MARKUP = re.compile(r"^[#>*+\-\s|]+|[*_`]{1,3}|\|")
_WORD = re.compile(r"\S+")


def find_snippet(text: str, searched: Collection[str]) -> str:
    """Return the line with the most terms of a query, cut around them; an empty string if no line has one.

    Of equally good lines, the first one that is no heading is chosen.
    """
    terms, wanted = term_of_word(), frozenset(searched)
    lines = body_of(text)[:_MAX_TEXT].splitlines()
    split = list(words_by_line(lines))
    matching = {word for word in set(chain.from_iterable(split)) if terms[word] in wanted}
    best, score = "", (0, False)
    for line, found in zip(lines, split, strict=True):
        if matching.isdisjoint(found):
            continue
        number = len({terms[word] for word in matching.intersection(found)})
        if (number, not line.startswith("#")) > score:
            best, score = line, (number, not line.startswith("#"))
            if number == len(wanted):
                break
    return _cut(strip_invisible(_MARKUP.sub("", best), len(best) + 1), wanted) if best else ""


def _cut(line: str, wanted: Collection[str]) -> str:
    """Return at most `MAX_LENGTH` characters of a line, from a little before the first term."""
    if len(line) <= MAX_LENGTH:
        return line
    terms = term_of_word()
    places = (each for each in _WORD.finditer(line) if any(terms[word] in wanted for word in words(each[0])))
    first = next(places, None)
    start = 0 if first is None or first.end() < MAX_LENGTH - 40 else max(0, first.start() - 40)
    if start:
        start = line.find(" ", start) + 1 or start
    before, after = "… " if start else "", " …"
    room = MAX_LENGTH - len(before) - len(after)
    shown = line[start : start + room]
    if start + room >= len(line):
        return before + shown
    return before + (shown.rpartition(" ")[0] or shown) + after
