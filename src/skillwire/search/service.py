"""`LibrarySearch`: the index of one library. It follows the library's changes, and answers queries."""

import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar

import anyio
import anyio.to_thread

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord, Trust
from skillwire.core.template import SkillTemplate
from skillwire.errors import SkillwireError
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change, connected_changes, described_uris
from skillwire.library.library import Library
from skillwire.library.names import Names
from skillwire.library.search import (
    DEFAULT_LIMIT,
    Audience,
    SearchIndex,
    SearchResult,
    SearchResults,
)
from skillwire.safe_text import collapse_lines
from skillwire.search.document import (
    Document,
    Searchable,
    has_indexed_text,
    identity,
    make_document,
    matched_fields,
)
from skillwire.search.index import Index, Ranking
from skillwire.search.paging import Page, parse_query
from skillwire.search.query import Query
from skillwire.search.ranker import Ranker
from skillwire.search.segments import Segments, SegmentWriter
from skillwire.search.snippet import find_snippet
from skillwire.search.store import WAIT_SECONDS, IndexStore
from skillwire.sources.cache_folder import CACHE_DIR

_MANY = 500
"""Number of new skills from which they are indexed in the background, or written as a new index file."""
_BATCH = 32
"""Number of skills that are read and indexed before other work gets a turn."""
_PATIENCE = 5.0
"""Seconds that a query waits for the background work, before it uses what is indexed already."""
_PAUSE = 1.0
"""Seconds from a start or a change to the background work, so that requests are answered first."""
_STORED_SHARE = 0.1
"""Share of changed skills from which the index file is written again."""
_DAMAGE = (sqlite3.Error, ValueError, OverflowError, LookupError)
"""What a damaged index raises. It is then built again."""
_NOT_STORED = (OSError, sqlite3.OperationalError)
"""What is raised if an index file cannot be written. Other errors of SQLite mean damage."""
_MAX_CHANGES = 1_000
"""Maximum number of changes that are kept. After more of them, every skill is compared with the index."""
_MAX_RETRIED = 100
"""Maximum number of skills that are read again because their text could not be read before."""

Value = TypeVar("Value")
_Read: TypeAlias = tuple[Searchable, str, bool]
"""An entry, its text, and whether the text was read if it should be."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Pending:
    """What differs between the index and a catalog."""

    removed: Sequence[str]
    changed: Sequence[Searchable]
    decided: frozenset[str] | None = None
    """The URIs for which it is decided again whether an audience may find them. None: all."""

    @property
    def is_large(self) -> bool:
        return len(self.changed) >= _MANY


class LibrarySearch(SearchIndex):
    """The index of one library."""

    def __init__(self, library: Library, folder: Path | None = None, ranker: Ranker | None = None) -> None:
        """Create an index, which is built by the first search or by `follow`.

        With `folder`, the index is stored there, so that the next start only indexes what has changed. With
        `ranker`, the results have its order, and may contain skills without a word of the query.
        """
        self._library, self._folder, self._ranker = library, folder, ranker
        self._visible = VisibleSkills.of(library)
        self._index: Index | None = None
        self._indexed: Catalog | None = None
        """The catalog that the index describes."""
        self._changes: list[Change] = []
        """The changes since `_indexed`."""
        self._unread: dict[str, None] = {}
        """The skills whose text could not be read when they were indexed, by URI."""
        self._hidden: dict[Audience, tuple[Catalog, frozenset[int]]] = {}
        """The numbers of the documents that an audience may not find, and the catalog that decides it."""
        self._lock = anyio.Lock()
        """Held while the index is changed or used."""
        self._updating = anyio.Lock()
        self._worker = anyio.CapacityLimiter(1)
        self._following = False
        self._stale, self._finished = anyio.Event(), anyio.Event()
        library.listen(self._note)

    async def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        audience: Audience = Audience.EVERYONE,
    ) -> SearchResults:
        parsed = parse_query(query, limit)
        await self._library.ensure_loaded()
        incomplete = not await self._catch_up()
        ranking, fallback = await self._rank_or_rebuild(parsed, audience), ""
        if self._ranker is not None:
            ranking, fallback = await self._ranker.rank(query, parsed, ranking, audience)
        # The catalog may have changed during the search. The results and their names are from this one.
        catalog, names = self._visible.catalog, self._visible.names
        found = {uri: entry for uri in ranking.uris if (entry := self._find(catalog, uri, audience))}
        uris = list(found)
        page = Page.of(uris, query, audience, limit, cursor)
        return SearchResults(
            await self._results([(rank, found[uri]) for rank, uri in page.shown], names, ranking),
            len(uris),
            ranking.is_weak,
            ranking.corrections,
            incomplete,
            page.next_cursor,
            fallback,
        )

    async def follow(self) -> None:
        if self._ranker is None:
            await self._follow_library()
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._ranker.follow)
            await self._follow_library()

    async def _follow_library(self) -> None:
        self._following = True
        try:
            await self._library.ensure_loaded()
            while True:
                self._stale = anyio.Event()
                await anyio.sleep(_PAUSE)
                await self._update()
                self._finished.set()
                self._finished = anyio.Event()
                await self._store()
                await self._stale.wait()
        finally:
            self._following = False

    # What is indexed

    def _note(self, change: Change) -> None:
        if len(self._changes) >= _MAX_CHANGES:
            self._changes.clear()
        self._changes.append(change)
        self._stale.set()

    async def _catch_up(self) -> bool:
        """Bring the index up to date. Return False if that takes long and goes on in the background."""
        with anyio.move_on_after(_PATIENCE if self._following else None):
            while not await self._update(only_few=self._following):
                self._stale.set()
                await self._finished.wait()
        return self._is_current()

    def _is_current(self) -> bool:
        return self._index is not None and self._indexed is self._visible.catalog

    async def _update(self, *, only_few: bool = False) -> bool:
        """Index what has changed since the last update.

        With `only_few`, return False and do nothing if that would take long.
        """
        async with self._updating:
            while not self._is_current():
                if self._index is None:
                    await self._open()
                wanted, known = self._visible.catalog, len(self._changes)
                changes = connected_changes(self._changes, self._indexed, wanted)
                pending = await self._in_worker(partial(self._compare, wanted, changes))
                if pending.is_large and only_few:
                    return False
                if pending.is_large:
                    await self._write(wanted, pending)
                else:
                    await self._apply(wanted, pending)
                del self._changes[:known]
            return True

    async def _open(self) -> None:
        """Open the stored index, or create an empty one."""

        def load() -> Index:
            store = self._index_store()
            segments = None if store is None else store.load()
            return Index(segments)

        try:
            self._index = await self._in_worker(load)
        except _DAMAGE:
            self._index = Index()

    def _index_store(self) -> IndexStore | None:
        return None if self._folder is None else IndexStore(self._folder, self._library.sources)

    def _compare(self, wanted: Catalog, changes: Sequence[Change] | None) -> _Pending:
        """Return what to index. Without `changes`, every skill is compared with the index."""
        index = self._index
        assert index is not None, "the index is opened first"
        uris = dict.fromkeys([*index.uris, *wanted.entries]) if changes is None else described_uris(changes)
        uris |= dict.fromkeys(islice(self._unread, _MAX_RETRIED))
        found: dict[str, Searchable] = {uri: wanted.entries[uri] for uri in uris if uri in wanted.entries}
        kept = {uri: each for uri, each in found.items() if may_be_found(each)}
        for template in wanted.templates:  # a skill with the same URI takes precedence
            if may_be_found(template):
                kept.setdefault(template.uri, template)
        removed = [uri for uri in uris if uri not in kept and index.identity(uri) is not None]
        changed = [each for uri, each in kept.items() if not _is_known(index.identity(uri), each)]
        decided = None if changes is None else _decided(changes)
        if decided is not None:  # a document that is indexed again gets another number
            decided = decided.union(removed, (each.uri for each in changed))
        return _Pending(removed, changed, decided)

    async def _apply(self, wanted: Catalog, pending: _Pending) -> None:
        """Change the index, so that it describes the catalog `wanted`."""
        made: list[tuple[Searchable, bytes, Document]] = []
        async for batch in self._read(pending.changed):
            made += await self._in_worker(lambda read=batch: list(_make_documents(read)))

        def change(refused: Mapping[Audience, Sequence[str]]) -> None:
            index = self._index
            assert index is not None, "the index is opened first"
            before = index.numbers_of(pending.decided or ())
            for uri in pending.removed:
                index.remove(uri)
            for entry, known, document in made:
                index.put(entry.uri, known, document)
            self._hidden = {
                audience: (wanted, (self._hidden[audience][1] - before) | index.numbers_of(uris))
                for audience, uris in refused.items()
            }

        async with self._lock:
            try:
                await self._in_worker(partial(change, self._refused(wanted, pending)))
            except _DAMAGE:
                await self._rebuild()
                return
            self._indexed = wanted

    async def _read(self, entries: Sequence[Searchable]) -> AsyncGenerator[list[_Read]]:
        """Yield batches of entries with their texts."""
        for start in range(0, len(entries), _BATCH):
            batch = [(each, *await self._text_of(each)) for each in entries[start : start + _BATCH]]
            for entry, _, was_read in batch:
                if was_read:
                    self._unread.pop(entry.uri, None)
                else:
                    self._unread[entry.uri] = None
            yield batch

    async def _text_of(self, entry: Searchable) -> tuple[str, bool]:
        """Return the text of a skill that is indexed, and whether it was read if it should be.

        If the file is not as listed, the library has not noticed a change yet. It will.
        """
        if not has_indexed_text(entry):
            return "", True
        assert isinstance(entry, SkillRecord), "a template has no text"
        try:
            return (await self._library.read_listed(entry, entry.files[0])).decode(errors="replace"), True
        except (SkillwireError, OSError):
            return "", False

    async def _write(self, wanted: Catalog, pending: _Pending) -> None:
        """Write a new index, which describes the catalog `wanted`, and use it from now on."""
        try:
            if (store := self._index_store()) is not None:
                try:
                    async with self._building(store):
                        if not await self._use_other(store):
                            await self._write_file(store, wanted, pending)
                except _NOT_STORED as error:
                    await self._use_memory(error)
                else:
                    return
            writer = SegmentWriter(Segments())
            await self._fill(writer, pending)
            await self._replace(writer.segments, wanted)
        except _DAMAGE:
            async with self._lock:
                await self._rebuild()

    @asynccontextmanager
    async def _building(self, store: IndexStore) -> AsyncGenerator[None]:
        """Wait until no other process builds the same index, and keep others from it."""
        lock = await self._in_worker(store.lock)
        try:
            if lock is not None:
                await lock.acquire(seconds=WAIT_SECONDS)
            yield
        finally:
            if lock is not None:
                lock.release()

    async def _use_other(self, store: IndexStore) -> bool:
        """Use the index that another process has stored in the meantime. Return whether there was one."""
        if self._index is not None and len(self._index):
            return False
        if (segments := await self._in_worker(store.load)) is None:
            return False
        await self._replace(segments, None)
        return len(self._index or ()) > 0  # an empty one is of no use

    async def _write_file(self, store: IndexStore, wanted: Catalog, pending: _Pending) -> None:
        with store.staged() as staged:
            writer = SegmentWriter(staged.segments)
            await self._fill(writer, pending)
            segments = await self._in_worker(staged.keep)
        await self._replace(segments, wanted)

    async def _fill(self, writer: SegmentWriter, pending: _Pending) -> None:
        """Write the unchanged documents of the index, and the documents of changed skills."""
        left_out = [*pending.removed, *(each.uri for each in pending.changed)]
        async with self._lock:
            index = self._index
            assert index is not None, "the index is opened first"
            await self._in_worker(partial(index.copy_to, writer, left_out))

        def add(batch: Sequence[_Read]) -> None:
            for entry, known, document in _make_documents(batch):
                writer.add(entry.uri, known, document)

        async with aclosing(self._read(pending.changed)) as batches:
            async for batch in batches:
                await self._in_worker(partial(add, batch))
        await self._in_worker(writer.finish)

    async def _replace(self, segments: Segments, describes: Catalog | None) -> None:
        """Use a new index, which describes a catalog. None means that it is not known what it describes."""
        made = await self._in_worker(partial(Index, segments))
        async with self._lock:
            before, self._index, self._indexed = self._index, made, describes
            self._hidden.clear()
            if before is not None:
                await self._in_worker(before.close)

    async def _use_memory(self, error: Exception) -> None:
        """Keep the index in memory from now on, and report why."""
        self._folder = None
        problem = Problem(
            ".",
            Rule.SEARCH_NOT_STORED,
            Severity.WARNING,
            f"the search index cannot be stored, so each start builds it again: {error}",
            hint=f"free space on the disk or make the folder writable, or set `{CACHE_DIR}` to another one",
        )
        await self._library.report([problem], reporter="search")

    async def _store(self) -> None:
        """Store the index again if much has changed since it was stored."""
        index, store = self._index, self._index_store()
        if index is None or store is None or index.unstored <= _STORED_SHARE * len(index):
            return
        try:
            async with self._updating, self._building(store):
                if self._index is None:
                    return
                with store.staged() as staged:
                    await self._fill(SegmentWriter(staged.segments), _Pending((), ()))
                    segments = await self._in_worker(staged.keep)
                await self._replace(segments, self._indexed)
        except _NOT_STORED as error:
            await self._use_memory(error)
        except _DAMAGE:
            async with self._lock:
                await self._rebuild()
            self._stale.set()

    async def _rebuild(self) -> None:
        """Drop a damaged index and its file. The next update builds it again."""
        _log.warning("the search index is damaged, and is built again")
        damaged, self._index, self._indexed = self._index, None, None
        self._hidden.clear()
        if damaged is not None:
            await self._in_worker(damaged.close)
        if (store := self._index_store()) is not None:
            await self._in_worker(store.remove)

    async def _in_worker(self, work: Callable[[], Value]) -> Value:
        """Run `work` in a thread, one at a time."""
        return await anyio.to_thread.run_sync(work, limiter=self._worker)

    # Who may find what

    def _hidden_from(self, audience: Audience, index: Index, catalog: Catalog) -> frozenset[int]:
        """Return the numbers of the documents that an audience may not find."""
        if audience is Audience.EVERYONE:
            return frozenset()
        decided, numbers = self._hidden.get(audience, (None, frozenset[int]()))
        if decided is not catalog:
            entries = (*catalog.entries.values(), *catalog.templates)
            uris = (each.uri for each in entries if not self._visible.allows(each, audience))
            numbers = index.numbers_of(uris)
            self._hidden[audience] = catalog, numbers
        return numbers

    def _refused(self, wanted: Catalog, pending: _Pending) -> dict[Audience, list[str]]:
        """Return which of the URIs of `pending` audiences may not find; only the audiences that are known."""
        if pending.decided is None or self._visible.catalog is not wanted:
            return {}
        entries = [found for uri in pending.decided if (found := wanted.entries.get(uri)) is not None]
        return {
            audience: [each.uri for each in entries if not self._visible.allows(each, audience)]
            for audience, (catalog, _) in self._hidden.items()
            if catalog is self._indexed or catalog is wanted
        }

    def _find(self, catalog: Catalog, uri: str, audience: Audience) -> Searchable | None:
        """Return the skill or template of the current catalog with this URI, if the audience may find it."""
        templates = (each for each in catalog.templates if each.uri == uri)
        found = catalog.entries.get(uri) or next(templates, None)
        allowed = found is not None and self._visible.allows(found, audience)
        return found if allowed else None

    # Answers

    async def _rank_or_rebuild(self, query: Query, audience: Audience) -> Ranking:
        try:
            return await self._rank(query, audience)
        except _DAMAGE:
            async with self._lock:
                await self._rebuild()
            await self._update()
            return await self._rank(query, audience)

    async def _rank(self, query: Query, audience: Audience) -> Ranking:
        catalog = self._visible.catalog
        positions, last = catalog.positions, len(catalog.positions)

        def rank(index: Index) -> Ranking:
            hidden = self._hidden_from(audience, index, catalog)
            return index.rank(query, hidden, lambda uri: positions.get(uri, last))

        async with self._lock:
            if (index := self._index) is None:  # it is still being opened
                return Ranking()
            return await self._in_worker(partial(rank, index))

    async def _results(
        self, shown: Sequence[tuple[int, Searchable]], names: Names, ranking: Ranking
    ) -> tuple[SearchResult, ...]:
        read = [(rank, entry, (await self._text_of(entry))[0]) for rank, entry in shown]
        return await self._in_worker(
            lambda: tuple([self._result(entry, text, names, rank, ranking) for rank, entry, text in read])
        )

    def _result(
        self, entry: Searchable, text: str, names: Names, rank: int, ranking: Ranking
    ) -> SearchResult:
        fields = matched_fields(entry, text, ranking.terms)
        snippet = find_snippet(text, ranking.terms)
        if isinstance(entry, SkillTemplate):
            name, description = self._visible.template_name(entry), entry.description
        else:
            name, description = names.handle(entry), entry.shown_description
        return SearchResult(name, entry.uri, collapse_lines(description), rank, tuple(fields), snippet)


def _make_documents(batch: Sequence[_Read]) -> Iterator[tuple[Searchable, bytes, Document]]:
    """Yield entries with their identities and documents."""
    for entry, text, was_read in batch:
        # A skill whose text could not be read gets an identity that differs from the one it should have.
        yield entry, identity(entry) if was_read else b"", make_document(entry, text)


def _is_known(known: bytes | None, entry: Searchable) -> bool:
    return known is not None and known == identity(entry)


def _decided(changes: Sequence[Change]) -> frozenset[str] | None:
    """Return the URIs of skills that audiences may find or not since `changes`; None if perhaps all."""
    decided = {uri for change in changes for uri in change.visibility_changed_uris}
    if any(change.before.templates or change.after.templates for change in changes):
        return None
    return frozenset(decided.union(each.uri for c in changes for edit in c.edits for each in edit.entries))


def may_be_found(entry: Searchable) -> bool:
    if isinstance(entry, SkillTemplate):
        return not entry.is_withheld
    return entry.trust is not Trust.WITHHELD
