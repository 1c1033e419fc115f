"""A query: the terms to search for, and what they count."""

from dataclasses import dataclass

from skillwire.errors import BadParamsError
from skillwire.search.document import exact_term
from skillwire.search.text import LIGHT_WORDS, is_unspaced, term_of_word, words

MAX_QUERY_BYTES = 8 * 1024
_LIGHT = 0.3
"""What a light word counts, compared with other words."""
_MAX_EXACT = 200
"""Maximum number of characters of a query that may be a whole name."""


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One term of a query."""

    term: str
    word: str
    """The word as it was written, in lower case."""
    amount: float
    """What the term counts. A term that is repeated counts more, but at most twice as much."""
    is_light: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """The terms of a query."""

    terms: tuple[QueryTerm, ...]
    exact: str = ""
    """The term for the whole query, if it may be the name of a skill."""
    last: str = ""
    """The last word, which the person may still be typing. Empty if it cannot be the beginning of a word."""

    @classmethod
    def parse(cls, text: str) -> "Query":
        """Return the terms of a query. Raises `BadParamsError` if it is too long."""
        # Characters that cannot be encoded are ignored, as they are in the texts.
        if len(text) > MAX_QUERY_BYTES or len(text.encode(errors="replace")) > MAX_QUERY_BYTES:
            raise BadParamsError(f"the query is too long; the limit is {MAX_QUERY_BYTES:,} bytes")
        found, terms = words(text), term_of_word()
        counts = dict[str, float]()
        first = dict[str, str]()
        for word in found:
            if term := terms[word]:
                counts[term] = counts.get(term, 0) + 1
                first.setdefault(term, word)
        parsed = [
            QueryTerm(
                term,
                first[term],
                (_LIGHT if first[term] in LIGHT_WORDS else 1) * 2 * count / (1 + count),
                first[term] in LIGHT_WORDS,
            )
            for term, count in counts.items()
        ]
        exact = exact_term(text) if found and len(text) <= _MAX_EXACT else ""
        return cls(tuple(parsed), exact, _unfinished(text, found))


def _unfinished(text: str, found: list[str]) -> str:
    """Return the last word of a query if more letters may follow."""
    if not found or not text[-1].isalnum():
        return ""
    last = found[-1]
    long_enough = len(last) >= 3 or (is_unspaced(last) and len(last) == 1)
    return last if long_enough and last not in LIGHT_WORDS else ""
