"""`SemanticRanker`: follows a library with vectors, and combines the order by words with that by meaning."""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord
from skillwire.errors import SkillwireError
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change, connected_changes, described_uris
from skillwire.library.library import Library
from skillwire.library.search import Audience
from skillwire.search.document import Searchable, exact_term
from skillwire.search.index import MAX_RESULTS, Ranking
from skillwire.search.query import Query
from skillwire.search.ranker import Ranker
from skillwire.search.semantic.embedder import (
    Embedder,
    EmbeddingError,
    Passage,
    is_read,
    passage_identity,
    passage_of,
)
from skillwire.search.semantic.store import KEY_BYTES, VectorStore
from skillwire.search.semantic.vectors import Vectors, quantized

_NEAREST = 100
"""Number of the most similar skills that count."""
_LEAST = 0.05
"""The cosine from which a skill is similar at all. Texts about different subjects are around 0."""
_LEAST_ALONE = 0.15
"""The same if no skill contains a word of the query. So a query without an answer finds nothing."""
_FIRST = 10
"""How much less the second place counts than the first (k of reciprocal rank fusion)."""
_WEIGHT = 1.1
"""What a place by meaning counts, compared with a place by words."""
_MANY_TERMS = 12
"""Number of terms of a query from which the meaning counts less.

A long query has enough words to find skills by. Its vector is a mean of many subjects.
"""
_MANY = 500
"""Number of new skills from which the background work computes their vectors, not a query."""
_PATIENCE = 5.0
"""Seconds that a query waits for the vectors of new skills."""
_BUILD_SECONDS = 120.0
"""Seconds that a single search waits for vectors, if no background work computes them."""
_STORED_TOGETHER = 2_048
"""Number of new vectors from which they are stored, so that an interrupted computation can go on."""
RETRY_SECONDS = 30.0
"""Seconds after a failure before the embedder is used again."""
_PAUSE = 1.0
_KEPT_QUERIES = 256
_COMPUTING = "the vectors of skills are still being computed"

Value = TypeVar("Value")
Given = TypeVar("Given")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Pending:
    """What differs between the vectors and a catalog."""

    removed: Sequence[str]
    changed: Sequence[tuple[Searchable, bytes]]
    """Entries with the keys of their vectors."""


class SemanticRanker(Ranker):
    """Ranks the skills of one library by meaning, too."""

    def __init__(
        self,
        library: Library,
        embedder: Embedder,
        folder: Path | None = None,
        *,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """Create a ranker. With `folder`, vectors are stored there."""
        self._library, self._embedder, self._retry_seconds = library, embedder, retry_seconds
        self._visible = VisibleSkills.of(library)
        sources = [f"{type(each).__name__}\0{each.label}\0{each.place}" for each in library.sources]
        self._store = None if folder is None else VectorStore(folder, [embedder.key, *sources])
        self._vectors = Vectors()
        self._described: Catalog | None = None
        """The catalog whose skills all have vectors."""
        self._changes: list[Change] = []
        """The changes since `_described`."""
        self._stored: Mapping[bytes, NDArray[np.int8]] | None = None
        """The vectors that were stored before the start, until they have been used."""
        self._unstored: dict[bytes, NDArray[np.int8]] = {}
        self._queries: OrderedDict[str, NDArray[np.int8]] = OrderedDict()
        self._hidden: dict[Audience, tuple[Catalog, frozenset[str]]] = {}
        self._updating = anyio.Lock()
        self._worker = anyio.CapacityLimiter(1)
        self._following = False
        self._changed, self._finished = anyio.Event(), anyio.Event()
        self._retry_at = 0.0
        self._failure = self._reported = ""
        library.listen(self._note)

    async def rank(
        self, query: str, parsed: Query, found: Ranking, audience: Audience
    ) -> tuple[Ranking, str]:
        try:
            if not await self._catch_up():
                return found, _COMPUTING
            vector = await self._vector_of(query)
            if self._vectors.dimensions not in {0, len(vector)}:
                await self._start_again()
                return found, _COMPUTING
        except EmbeddingError as error:
            await self._report(str(error))
            return found, str(error)
        await self._report("")
        return await self._in_worker(partial(self._fused, vector, parsed, found, audience)), ""

    async def follow(self) -> None:
        self._following = True
        try:
            while True:
                self._changed = anyio.Event()
                await anyio.sleep(_PAUSE)
                await self._library.ensure_loaded()
                failure = ""
                try:
                    await self._update()
                except EmbeddingError as error:
                    failure = str(error)
                await self._report(failure)
                self._finished.set()
                self._finished = anyio.Event()
                with anyio.move_on_after(self._retry_seconds if failure else None):
                    await self._changed.wait()
        finally:
            self._following = False

    # The vectors of skills

    def _note(self, change: Change) -> None:
        self._changes.append(change)
        self._changed.set()

    async def _catch_up(self) -> bool:
        """Compute missing vectors. Return False if that takes long. Raises `EmbeddingError`."""
        self._check_not_failed()
        with anyio.move_on_after(_PATIENCE if self._following else _BUILD_SECONDS):
            while not await self._update(only_few=self._following):
                self._changed.set()
                await self._finished.wait()
                self._check_not_failed()
        return self._described is self._visible.catalog

    def _check_not_failed(self) -> None:
        if anyio.current_time() < self._retry_at:
            raise EmbeddingError(self._failure or "the embedder failed a moment ago")

    async def _update(self, *, only_few: bool = False) -> bool:
        """Compute the vectors of what has changed. With `only_few`, return False if that would take long."""
        if only_few and self._updating.locked():  # the background work computes them
            return False
        async with self._updating:
            if self._stored is None:
                self._stored = {} if self._store is None else await self._in_worker(self._store.load)
            while self._described is not (wanted := self._visible.catalog):
                known = len(self._changes)
                changes = connected_changes(self._changes, self._described, wanted)
                pending = await self._in_worker(partial(self._compare, wanted, changes))
                if only_few and len(pending.changed) >= _MANY:
                    return False
                await self._apply(pending)
                del self._changes[:known]
                self._described = wanted
            self._stored = {}
            await self._keep(all_of_them=True)
            return True

    def _compare(self, wanted: Catalog, changes: Sequence[Change] | None) -> _Pending:
        """Return what to embed. Without `changes`, every skill is compared."""
        vectors = self._vectors
        uris = dict.fromkeys([*vectors.uris, *wanted.entries]) if changes is None else described_uris(changes)
        entries: dict[str, Searchable] = {uri: wanted.entries[uri] for uri in uris if uri in wanted.entries}
        for template in wanted.templates:  # a skill with the same URI takes precedence
            entries.setdefault(template.uri, template)
        kept = {uri: each for uri, each in entries.items() if self._visible.allows(each, Audience.EVERYONE)}
        changed: list[tuple[Searchable, bytes]] = []
        for uri, entry in kept.items():
            if vectors.key(uri) == (key := self._key_of(entry)):
                continue
            if (stored := (self._stored or {}).get(key)) is not None and self._put(uri, key, stored):
                continue
            changed.append((entry, key))
        return _Pending([uri for uri in uris if uri not in kept and vectors.key(uri) is not None], changed)

    def _key_of(self, entry: Searchable) -> bytes:
        text = f"{self._embedder.key}\0{passage_identity(entry)}"
        return blake2b(text.encode(errors="replace"), digest_size=KEY_BYTES).digest()

    def _put(self, uri: str, key: bytes, vector: NDArray[np.int8]) -> bool:
        """Set a stored vector. Return False if it does not fit the others."""
        try:
            self._vectors.put(uri, key, vector)
        except ValueError:
            return False
        return True

    async def _apply(self, pending: _Pending) -> None:
        await self._in_worker(lambda: [self._vectors.remove(uri) for uri in pending.removed])
        size = self._embedder.batch
        for start in range(0, len(pending.changed), size):
            batch = pending.changed[start : start + size]
            read = [(entry, key, *await self._text_of(entry)) for entry, key in batch]
            passages = await self._in_worker(
                partial(_passages, [(entry, text) for entry, _, text, _ in read])
            )
            found = await self._use(self._embedder.embed_passages, passages)
            keys = [(entry.uri, key if was_read else b"") for entry, key, _, was_read in read]
            if not await self._in_worker(partial(self._put_all, keys, found)):
                await self._drop()
                raise EmbeddingError("another model has the same name, so all vectors are computed again")
            await self._keep()

    def _put_all(self, keys: Sequence[tuple[str, bytes]], found: NDArray[np.float64]) -> bool:
        """Set new vectors. Return False if they do not fit the others."""
        for (uri, key), vector in zip(keys, quantized(found), strict=True):
            if not self._put(uri, key, vector):
                return False
            if key:
                self._unstored[key] = vector
        return True

    async def _start_again(self) -> None:
        """Compute all vectors again, because another model now has the same name."""
        async with self._updating:
            await self._drop()
        self._changed.set()

    async def _drop(self) -> None:
        self._vectors, self._described, self._stored = Vectors(), None, {}
        self._unstored.clear()
        self._queries.clear()
        if self._store is not None:
            await self._write(partial(self._store.replace, {}))

    async def _text_of(self, entry: Searchable) -> tuple[str, bool]:
        """Return the text of a skill that is embedded, and whether it was read if it should be."""
        if not is_read(entry):
            return "", True
        assert isinstance(entry, SkillRecord), "a template has no text"
        try:
            return (await self._library.read_listed(entry, entry.files[0])).decode(errors="replace"), True
        except (SkillwireError, OSError):
            return "", False

    async def _keep(self, *, all_of_them: bool = False) -> None:
        """Store new vectors, if there are enough of them."""
        if self._store is None or not self._unstored:
            return
        if not all_of_them and len(self._unstored) < _STORED_TOGETHER:
            return
        new, self._unstored = self._unstored, {}
        store, vectors = self._store, self._vectors

        def write() -> None:
            if store.add(new) and all_of_them:
                store.replace({key: vector for key, vector in vectors.items() if key})

        await self._write(write)

    async def _write(self, write: Callable[[], None]) -> None:
        """Change what is stored. If that is not possible, vectors are only kept in memory from now on."""
        try:
            await self._in_worker(write)
        except OSError as error:
            _log.warning("vectors cannot be stored, so each start computes them again: %s", error)
            self._store = None

    # The order

    async def _vector_of(self, query: str) -> NDArray[np.int8]:
        """Return the vector of a query, which is computed once. Raises `EmbeddingError`."""
        if (known := self._queries.get(query)) is None:
            known = quantized(await self._use(self._embedder.embed_query, query))[0]
            self._queries[query] = known
            while len(self._queries) > _KEPT_QUERIES:
                self._queries.popitem(last=False)
        self._queries.move_to_end(query)
        return known

    def _fused(self, vector: NDArray[np.int8], parsed: Query, found: Ranking, audience: Audience) -> Ranking:
        """Return the order by words and by meaning together (reciprocal rank fusion).

        The place in each of the two orders counts. A skill that the query names stays first. A skill that is
        only similar is a weak result.
        """
        catalog = self._visible.catalog
        positions, last = catalog.positions, len(catalog.positions)

        def place(uri: str) -> int:
            return positions.get(uri, last)

        hidden = self._hidden_from(catalog, audience)
        least = _LEAST if found.uris else _LEAST_ALONE
        similar = self._vectors.nearest(vector, _NEAREST, least, hidden, place)
        weight = _WEIGHT * min(1.0, _MANY_TERMS / max(len(parsed.terms), 1))
        counts: dict[str, float] = {}
        for at, uri in enumerate(found.uris, 1):
            counts[uri] = 1 / (_FIRST + at)
        for at, uri in enumerate(similar, 1):
            counts[uri] = counts.get(uri, 0.0) + weight / (_FIRST + at)
        named = [uri for uri in found.uris if parsed.exact and _is_named(catalog, uri, parsed.exact)]
        order = sorted(counts, key=lambda uri: (-counts[uri], place(uri), uri))
        ranked = dict.fromkeys([*named, *order])
        return replace(
            found,
            uris=tuple(ranked)[:MAX_RESULTS],
            is_weak=bool(ranked) and (found.is_weak or not found.uris),
        )

    def _hidden_from(self, catalog: Catalog, audience: Audience) -> frozenset[str]:
        """Return the URIs of the skills that an audience may not find."""
        if audience is Audience.EVERYONE:
            return frozenset()
        known = self._hidden.get(audience)
        if known is None or known[0] is not catalog:
            entries = (*catalog.entries.values(), *catalog.templates)
            uris = frozenset(each.uri for each in entries if not self._visible.allows(each, audience))
            known = self._hidden[audience] = catalog, uris
        return known[1]

    # Failures

    async def _use(self, embed: Callable[[Given], Awaitable[Value]], given: Given) -> Value:
        """Use the embedder, unless it failed a moment ago. Raises `EmbeddingError`."""
        self._check_not_failed()
        try:
            return await embed(given)
        except EmbeddingError as error:
            self._failure, self._retry_at = str(error), anyio.current_time() + self._retry_seconds
            raise

    async def _report(self, failure: str) -> None:
        """Report a failure as a problem of the library, once, and that it is over."""
        if failure == self._reported:
            return
        self._reported = failure
        problems = [
            Problem(
                ".",
                Rule.SEARCH_BY_WORDS,
                Severity.WARNING,
                f"skills are only found by words, not by meaning: {failure}",
                hint="start the server of embeddings, or correct `[search]` in the configuration file",
            )
        ]
        await self._library.report(problems if failure else [], reporter="search-semantic")

    async def _in_worker(self, work: Callable[[], Value]) -> Value:
        """Run `work` in a thread, one at a time."""
        return await anyio.to_thread.run_sync(work, limiter=self._worker)


def _passages(read: Sequence[tuple[Searchable, str]]) -> list[Passage]:
    return [passage_of(entry, text) for entry, text in read]


def _is_named(catalog: Catalog, uri: str, exact: str) -> bool:
    entry = catalog.entries.get(uri)
    return entry is not None and exact in {exact_term(entry.name), exact_term(unquote(entry.path))}
