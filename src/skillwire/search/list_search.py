"""`MemorySearch`: the index of a list of skills, such as those of all servers of a host."""

from collections.abc import Sequence

import anyio
import anyio.to_thread

from skillwire.errors import SkillwireError
from skillwire.library.search import (
    DEFAULT_LIMIT,
    Audience,
    ListSearch,
    SearchEntry,
    SearchResult,
    SearchResults,
)
from skillwire.safe_text import collapse_lines
from skillwire.search.document import has_indexed_text, identity, make_document, matched_fields
from skillwire.search.index import Index, Ranking
from skillwire.search.paging import Page, parse_query
from skillwire.search.query import Query
from skillwire.search.snippet import find_snippet

_BATCH = 32
"""Number of skills that are read and indexed before other work gets a turn."""


class MemorySearch(ListSearch):
    """An index in memory. It ranks as the index of a library does."""

    def __init__(self) -> None:
        self._index = Index()
        self._listed: Sequence[SearchEntry] = ()
        """The list that is indexed."""
        self._indexed: dict[str, SearchEntry] = {}
        """The indexed entries by key, except those whose text could not be read."""
        self._positions: dict[str, int] = {}
        self._hidden: dict[Audience, frozenset[int]] = {}
        """The numbers of the documents that an audience may not find."""
        self._lock = anyio.Lock()

    async def search(
        self,
        query: str,
        entries: Sequence[SearchEntry],
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        audience: Audience = Audience.EVERYONE,
    ) -> SearchResults:
        parsed = parse_query(query, limit)
        async with self._lock:
            await self._update(entries)
            ranking = await anyio.to_thread.run_sync(self._rank, parsed, audience)
            page = Page.of(ranking.uris, query, audience, limit, cursor)
            shown = [(rank, entries[self._positions[key]]) for rank, key in page.shown]
        read = [(rank, each, await _text_of(each) or "") for rank, each in shown]
        return SearchResults(
            await anyio.to_thread.run_sync(_results, read, ranking),
            len(ranking.uris),
            ranking.is_weak,
            ranking.corrections,
            next_cursor=page.next_cursor,
        )

    async def _update(self, entries: Sequence[SearchEntry]) -> None:
        """Index what differs from the last list."""
        if entries is self._listed and len(self._indexed) == len(self._positions):
            return
        self._listed = entries
        self._hidden.clear()
        changed = await anyio.to_thread.run_sync(self._compare, entries)
        for start in range(0, len(changed), _BATCH):
            batch = [(each, await _text_of(each)) for each in changed[start : start + _BATCH]]
            await anyio.to_thread.run_sync(self._add, batch)

    def _compare(self, entries: Sequence[SearchEntry]) -> list[SearchEntry]:
        """Remove entries that are not in the list, and return those to index."""
        self._positions = {each.key: position for position, each in enumerate(entries)}
        for key in [key for key in self._index.uris if key not in self._positions]:
            self._index.remove(key)
        known, self._indexed = self._indexed, {}
        changed: list[SearchEntry] = []
        for each in entries:
            before = known.get(each.key)
            if before is not None and (
                before.entry is each.entry or identity(before.entry) == identity(each.entry)
            ):
                self._indexed[each.key] = each
            else:
                changed.append(each)
        return changed

    def _add(self, batch: Sequence[tuple[SearchEntry, str | None]]) -> None:
        for each, text in batch:
            self._index.put(each.key, identity(each.entry), make_document(each.entry, text or ""))
            if text is not None:
                self._indexed[each.key] = each

    def _rank(self, query: Query, audience: Audience) -> Ranking:
        return self._index.rank(query, self._hidden_from(audience), self._positions.__getitem__)

    def _hidden_from(self, audience: Audience) -> frozenset[int]:
        if audience is Audience.EVERYONE:
            return frozenset()
        if (known := self._hidden.get(audience)) is None:
            uris = (each.key for each in self._listed if not each.allows(audience))
            known = self._hidden[audience] = self._index.numbers_of(uris)
        return known


async def _text_of(each: SearchEntry) -> str | None:
    """Return the text that is indexed, or None if it cannot be read.

    It is empty for other operators' skills: nothing is read from their servers (H11).
    """
    if each.read is None or not has_indexed_text(each.entry):
        return ""
    try:
        return (await each.read()).decode(errors="replace")
    except (SkillwireError, OSError):
        return None


def _results(read: Sequence[tuple[int, SearchEntry, str]], ranking: Ranking) -> tuple[SearchResult, ...]:
    return tuple([_result(each, text, rank, ranking) for rank, each, text in read])


def _result(each: SearchEntry, text: str, rank: int, ranking: Ranking) -> SearchResult:
    fields = matched_fields(each.entry, text, ranking.terms)
    snippet = find_snippet(text, ranking.terms)
    return SearchResult(each.name, each.uri, collapse_lines(each.description), rank, tuple(fields), snippet)
