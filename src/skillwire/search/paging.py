"""The arguments of a search, and one page of its results."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from skillwire.errors import BadParamsError
from skillwire.features.base import bad_cursor_error
from skillwire.library.search import MAX_LIMIT, Audience
from skillwire.search.index import MAX_RESULTS
from skillwire.search.query import Query

_CURSOR = "search"


def parse_query(query: str, limit: int) -> Query:
    """Return the terms of a query. Raises `BadParamsError` for a wrong limit or an unusable query."""
    if not 1 <= limit <= MAX_LIMIT:
        raise BadParamsError(f"the limit must be a number from 1 to {MAX_LIMIT}")
    if not query.strip():
        raise BadParamsError("the query is empty; write what the skill should help with")
    return Query.parse(query)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the results of a query."""

    shown: Sequence[tuple[int, str]]
    """The rank of each result, and what identifies it."""
    next_cursor: str | None = None

    @classmethod
    def of(
        cls, results: Sequence[str], query: str, audience: Audience, limit: int, cursor: str | None
    ) -> "Page":
        """Return the first page, or the one after a cursor. `results` identifies all results in order.

        Raises `BadParamsError` if the cursor is for another query, or if the results before it have changed.
        """
        key = blake2b(f"{audience}\0{query}".encode(errors="replace"), digest_size=8).hexdigest()
        start = 0 if cursor is None else _start_after(cursor, key, results)
        end = start + limit
        shown = list(enumerate(results[start:end], start + 1))
        return cls(shown, _cursor(key, results[:end]) if end < len(results) else None)


def _cursor(key: str, shown: Sequence[str]) -> str:
    """Return a cursor that continues after the results in `shown`. It only fits the same results."""
    content = "\0".join([_CURSOR, key, str(len(shown)), _fingerprint(shown)])
    return base64.urlsafe_b64encode(content.encode()).decode("ascii")


def _fingerprint(uris: Sequence[str]) -> str:
    return blake2b("\n".join(uris).encode(errors="replace"), digest_size=8).hexdigest()


def _start_after(cursor: str, key: str, uris: Sequence[str]) -> int:
    """Return the number of results before the page of a cursor.

    Raises `BadParamsError` if the cursor is for another query, or if the results before it have changed.
    """
    try:
        name, query, number, _ = base64.urlsafe_b64decode(cursor.encode("ascii")).decode().split("\0")
        start = int(number)
    except (UnicodeError, binascii.Error, ValueError) as error:
        raise bad_cursor_error(cursor) from error
    if name != _CURSOR or query != key or not 0 < start <= MAX_RESULTS:
        raise bad_cursor_error(cursor)
    if _cursor(key, uris[:start]) != cursor:
        raise BadParamsError("the results have changed; search again without a cursor")
    return start
