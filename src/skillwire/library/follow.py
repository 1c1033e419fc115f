"""Follow several sources at once, and count the subscriptions that determine which skills to watch."""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, KeysView
from contextlib import aclosing
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from skillwire.core.record import Origin
from skillwire.library.catalog import Catalog, affected_skills
from skillwire.sources.base import Locations, Source, WatchFilter

Work: TypeAlias = Callable[[Source], Awaitable[None]]


class SourceFollower:
    """Runs a task for each followed source. Concurrent calls to `run` wait for each other."""

    def __init__(self) -> None:
        self._run_lock = anyio.Lock()
        self._running: tuple[TaskGroup, Work] | None = None
        self._scopes: dict[str, anyio.CancelScope] = {}

    async def run(
        self,
        work: Work,
        sources: Callable[[], Iterable[Source]],
        others: Iterable[Callable[[], Coroutine[None, None, None]]] = (),
    ) -> None:
        """Run `work` for `sources`, for sources added with `begin`, and `others`, until cancelled."""
        async with self._run_lock, anyio.create_task_group() as tasks:
            self._running = tasks, work
            try:
                for other in others:
                    tasks.start_soon(other)
                for source in sources():
                    self.begin(source)
                await anyio.sleep_forever()
            finally:
                self._running = None
                self._scopes.clear()

    def begin(self, source: Source) -> None:
        """Follow one more source, if `run` is active."""
        if self._running is not None:
            tasks, work = self._running
            scope = self._scopes[source.label] = anyio.CancelScope()
            tasks.start_soon(_within, scope, work, source)

    def end(self, source: Source) -> None:
        """Stop following a source."""
        if (scope := self._scopes.pop(source.label, None)) is not None:
            scope.cancel()


async def _within(scope: anyio.CancelScope, work: Work, source: Source) -> None:
    with scope:
        await work(source)


async def follow_changes(
    source: Source, watch_filter: WatchFilter | None, callback: Callable[[Source, Locations], Awaitable[None]]
) -> None:
    """Call `callback` with each set of locations where the source reports a change."""
    async with aclosing(source.changes(watch_filter)) as changes:
        async for where in changes:
            await callback(source, where)


class Subscriptions:
    """Counts the subscriptions to each URI, and updates the watch filter of each source accordingly."""

    def __init__(self, labels: Iterable[str]) -> None:
        self._counts: dict[str, int] = {}
        self._origins: dict[str, tuple[Origin, ...]] = {}
        """The origins of the skills that are followed for each URI."""
        self._watch_filters: dict[str, WatchFilter] = {}
        """The watch filter of each source, by label."""
        self._followed: dict[str, Counter[str]] = {}
        """By source label and location: the number of URIs for which this location is followed."""
        self.keep_sources(labels)

    @property
    def uris(self) -> KeysView[str]:
        """The URIs with at least one subscription."""
        return self._counts.keys()

    def watch_filter_of(self, label: str) -> WatchFilter:
        return self._watch_filters[label]

    def keep_sources(self, labels: Iterable[str]) -> None:
        """Keep or create the filters of these sources, and drop all others."""
        labels = tuple(labels)
        self._watch_filters = {label: self._watch_filters.get(label) or WatchFilter() for label in labels}
        self._followed = {label: self._followed.get(label) or Counter[str]() for label in labels}

    def drop_source(self, label: str) -> None:
        self._watch_filters.pop(label, None)
        self._followed.pop(label, None)

    def add(self, uris: Iterable[str], frozen: Catalog | None) -> None:
        """Add one subscription to each URI.

        With a frozen catalog, also follow the skills that contain these URIs or are below them.
        """
        new: list[str] = []
        for uri in uris:
            self._counts[uri] = number = self._counts.get(uri, 0) + 1
            if number == 1:
                new.append(uri)
        if frozen is not None:
            self._follow(new, frozen)

    def remove(self, uris: Iterable[str]) -> None:
        """Remove one subscription from each URI."""
        gone: list[Origin] = []
        for uri in uris:
            if (left := self._counts.pop(uri) - 1) > 0:
                self._counts[uri] = left
            else:
                gone.extend(self._origins.pop(uri, ()))
        for origin in gone:
            if (followed := self._followed.get(origin.source)) is not None:
                followed[origin.location] -= 1
                if not followed[origin.location]:
                    del followed[origin.location]
        self._update_filters({origin.source for origin in gone} & self._followed.keys())

    def settle(self, frozen: Catalog | None) -> None:
        """For all subscribed URIs, follow the skills in a new frozen catalog.

        If `frozen` is None, empty all watch filters.
        """
        self._origins.clear()
        for followed in self._followed.values():
            followed.clear()
        self._update_filters(self._followed)
        if frozen is not None:
            self._follow(self._counts, frozen)

    def _follow(self, uris: Iterable[str], catalog: Catalog) -> None:
        """Add the skills that contain these URIs or are below them to the watch filters."""
        updated: set[str] = set()
        for uri in uris:
            entries = affected_skills(catalog.entries, catalog.above, uri)
            self._origins[uri] = origins = tuple(entry.origin for entry in entries)
            for origin in origins:
                self._followed[origin.source][origin.location] += 1
                updated.add(origin.source)
        self._update_filters(updated)

    def _update_filters(self, labels: Iterable[str]) -> None:
        for label in labels:
            self._watch_filters[label].set(frozenset(self._followed[label]))
