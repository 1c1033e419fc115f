"""The library: sources and the catalogue made from them. The one part that moves."""

import logging
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import anyio
import anyio.to_thread

from skillwire.core.problem import Rule
from skillwire.core.record import LiveFile, SkillRecord
from skillwire.errors import (
    ConflictError,
    ContentError,
    SourceBusyError,
    SourceError,
    SourceMissingError,
    SourceUnavailableError,
    UnsettledError,
    UntrustedContentError,
)
from skillwire.library.catalog import Catalog, ServedFile
from skillwire.library.change import Change
from skillwire.library.compose import LabelledScan, compose, update_catalog
from skillwire.library.follow import SourceFollower, Subscriptions, follow_changes
from skillwire.library.scanning import (
    FailedSources,
    add_source_problem,
    first_scan,
    keep_same_skills,
    prepare_all,
)
from skillwire.library.visibility import VisibilityPolicy
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, Source, Validator, ignore_progress

_log = logging.getLogger(__name__)

_PAUSE = 5.0
"""Seconds before a source is followed again that could not be."""

_TRIES = 3
"""To read what moves while others look at it: such a look may be from before it moved the last time."""

Listener: TypeAlias = Callable[[Change], None]
"""Told of every change of the catalogue, in the loop, right after it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes of a file, and its record in the catalogue."""

    served: ServedFile
    content: bytes


class _CatalogValidator(Validator):
    """Holds for as long as the catalogue is the same, and with it what was read."""

    __slots__ = ("_library", "_of_file", "_revision")

    def __init__(self, library: "Library", of_file: Validator | None = None) -> None:
        self._library = library
        self._revision = library.revision
        self._of_file = of_file

    def is_current(self) -> bool:
        return self._library.revision == self._revision and (
            self._of_file is None or self._of_file.is_current()
        )


class Library:
    """Sources together: scans them, holds the current catalogue, and reads files that match it."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        frozen: bool = False,
        movable: bool = True,
        visibility: VisibilityPolicy | None = None,
    ) -> None:
        """With `frozen`, the skills stay those that `load` finds; only their contents follow the sources.

        Unless they are `movable`, a skill whose path is taken is left out, instead of published elsewhere.
        """
        self.frozen = frozen
        self._movable = movable
        self._visibility = visibility or VisibilityPolicy()
        self._sources = _by_label(sources)
        self._subscriptions = Subscriptions(self._sources)
        self._listeners: list[Listener] = []
        self._scans: dict[str, Scan] = {}
        self._catalog = self.loaded = self._compose()
        self.revision = 0
        """Another number whenever an answer made from the catalogue may be another."""
        self._refresh_lock = anyio.Lock()
        self._load_lock = anyio.Lock()
        self._follower = SourceFollower()
        self._lost: dict[str, SkillRecord] = {}
        """Skills that a refresh found broken or gone, by the URI of each of their files."""
        self._failures = FailedSources()

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the skills come from, in the order that decides who keeps a path."""
        return tuple(self._sources.values())

    @property
    def scans(self) -> Mapping[str, Scan]:
        """What each source held when it was looked at last, by its label."""
        return self._scans

    @property
    def catalog(self) -> Catalog:
        """What is served now. Keep it for as long as one answer takes: the next one may be another."""
        return self._catalog

    @property
    def pending_sources(self) -> tuple[Source, ...]:
        """The sources that are not there yet, or not any more."""
        waiting = {
            label
            for label, scan in self._scans.items()
            if any(problem.rule is Rule.SOURCE_WAITING for problem in scan.problems)
        }
        return tuple(source for source in self.sources if source.label in waiting)

    async def load(self, progress: Progress = ignore_progress) -> Catalog:
        """Scan every source. One that fails is a problem in the catalogue; the others are served."""
        async with self._refresh_lock:
            await prepare_all(self._sources.values())
            for source in self._sources.values():
                self._scans[source.label] = await self._first_scan(source, progress)
            self._catalog = self.loaded = await anyio.to_thread.run_sync(self._compose)
            self.revision += 1
            self._lost.clear()
            return self._catalog

    async def ensure_loaded(self) -> None:
        """Load, unless somebody did."""
        async with self._load_lock:
            if not self.is_loaded:
                await self.load()

    @property
    def is_loaded(self) -> bool:
        """Whether every source was scanned."""
        return len(self._scans) >= len(self._sources)

    async def serve(self, sources: Sequence[Source]) -> None:
        """Serve these sources from now on, in this order. Those that are served already go on as they are.

        While frozen, the skills are from now on those that there are then. Raises `ConflictError`.
        """
        wanted = _by_label(sources)
        new = [source for label, source in wanted.items() if self._sources.get(label) is not source]
        await prepare_all(new)  # what has to be fetched may take long: nobody waits for it
        async with self._refresh_lock:
            found = {source.label: await first_scan(source) for source in new}
            for source in self.sources:
                if wanted.get(source.label) is not source:
                    self._follower.end(source)
                    self._forget(source.label)
            self._scans |= {label: scan for label, (scan, _) in found.items()}
            self._sources = wanted
            self.revision += 1  # the same skills may be read elsewhere from now on
            self._scans = {label: self._scans[label] for label in wanted if label in self._scans}
            self._subscriptions.keep_sources(wanted)
            self._publish(Change.between(self._catalog, await anyio.to_thread.run_sync(self._compose)))
            self._settle()
            for source in new:
                if found[source.label][1]:
                    self._mark_stale(source, EVERYWHERE)
                self._follower.begin(source)

    async def freeze(self, *, frozen: bool) -> None:
        """Keep the skills as they are from now on, or follow the sources again."""
        async with self._refresh_lock:  # nobody who follows a source is in the middle of anything
            if self.frozen is frozen:
                return
            self.frozen = frozen
            self.revision += 1  # answers are made from another catalogue from now on
            self._settle()
            for source in self.sources:
                self._follower.end(source)
                self._follower.begin(source)
        if not frozen:
            for source in self.sources:
                await self.rescan_source(source)

    async def decide(self, visibility: VisibilityPolicy) -> None:
        """Have another policy decide who may start a skill, from now on."""
        async with self._refresh_lock:
            self._visibility = visibility
            self.loaded = replace(self.loaded, visibility=visibility)
            self._publish(Change.between(self._catalog, replace(self._catalog, visibility=visibility)))

    def _settle(self) -> None:
        """Take the catalogue of now for the one that stays while frozen."""
        self.loaded = self._catalog
        self._subscriptions.settle(self._catalog if self.frozen else None)

    def _forget(self, label: str) -> None:
        """Forget what was known of a source."""
        self._scans.pop(label, None)
        self._subscriptions.drop_source(label)
        self._failures.clear(label)
        self._lost = {uri: entry for uri, entry in self._lost.items() if entry.origin.source != label}

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` told of every change from now on, until what this returns is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def follow(self) -> None:
        """Keep the catalogue as the sources are, until cancelled. Of several who do so, one works."""
        await self._follower.run(self._follow, lambda: self.sources)

    @property
    def subscribed_uris(self) -> KeysView[str]:
        """The URIs that somebody subscribed to."""
        return self._subscriptions.uris

    def subscribe(self, uris: Iterable[str]) -> None:
        """Note one more subscription to each of these URIs. While frozen, only such skills are followed."""
        self._subscriptions.add(uris, self._catalog if self.frozen else None)

    def unsubscribe(self, uris: Iterable[str]) -> None:
        """Note one subscription less to each of these URIs."""
        self._subscriptions.remove(uris)

    async def _follow(self, source: Source) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._failures.retry, source.label, partial(self._update, source))
            await self._note_changes(source)

    async def _note_changes(self, source: Source) -> None:
        watch_filter = self._subscriptions.watch_filter_of(source.label) if self.frozen else None
        while True:
            try:
                await follow_changes(source, watch_filter, self._update)
            except Exception:  # noqa: BLE001 - somebody's source: its failure must not end the service
                _log.exception("changes of the source `%s` are not noticed for a while", source.label)
                await self._report_failure(source)
                await anyio.sleep(_PAUSE)
            else:
                return

    async def _report_failure(self, source: Source) -> None:
        """Show that a source is not followed. It goes with the next look at it."""
        async with self._refresh_lock:
            known = self._scans.get(source.label, Scan())
            await self._swap(source, add_source_problem(source, SourceError("following it failed"), known))

    async def rescan_source(self, source: Source) -> None:
        """Look at a source now, without waiting for it to say that something changed."""
        await self._update(source, EVERYWHERE)

    async def _update(self, source: Source, where: Locations) -> None:
        """Look again where a source says that something changed, and where earlier looks failed."""
        async with self._refresh_lock:
            if self._sources.get(source.label) is not source:
                return  # it was taken out while we waited
            before = self._scans.get(source.label, Scan())
            try:
                after = await self._rescan(source, where)
            except SourceMissingError as error:  # it is known to be gone
                self._failures.clear(source.label)
                after = add_source_problem(source, error, Scan())
            except SourceError as error:
                after = add_source_problem(source, error, before)
                if after == before:  # nothing to report that was not reported before
                    return
            await self._swap(source, after)

    async def _rescan(self, source: Source, where: Locations) -> Scan:
        """Look again at a source. Raises `SourceError`, having noted where that has to be made up for."""
        where = self._failures.add_missed(source.label, where)
        try:
            scan = await source.rescan(where)
        except SourceMissingError:
            raise
        except SourceError as error:
            self._mark_stale(source, where, retry=not isinstance(error, SourceUnavailableError))
            raise
        self._failures.clear(source.label)
        return scan

    async def _first_scan(self, source: Source, progress: Progress) -> Scan:
        scan, failed = await first_scan(source, progress)
        if failed:
            self._mark_stale(source, EVERYWHERE)
        else:
            self._failures.clear(source.label)
        return scan

    async def _swap(self, source: Source, after: Scan) -> None:
        """Make the catalogue in which `source` is as in `after`, and tell of what is different."""
        before = self._scans.get(source.label, Scan())
        if self.frozen:
            after = keep_same_skills(before, after)
        self._scans[source.label] = after
        self._publish(await anyio.to_thread.run_sync(self._change, before, after))

    def _publish(self, change: Change) -> None:
        if change.is_empty:
            return
        self._catalog = change.after
        self.revision += 1
        for listener in self._listeners:
            listener(change)

    def _change(self, before: Scan, after: Scan) -> Change:
        scans = self._labelled_scans()
        catalog = update_catalog(self._catalog, before, after, scans) or self._compose()
        return Change.between(self._catalog, catalog)

    async def skill(self, uri: str) -> SkillRecord:
        """Return the skill whose `SKILL.md` has this URI. Raises `NotServedError`."""
        await self._refresh_if_stale(uri)
        return self._catalog.skill(uri)

    async def read(self, uri: str) -> Reading:
        """Return a file whose bytes have the digest that the current catalogue lists (S19).

        Bytes that moved since the scan: the skill is looked at again, and the answer comes from the new
        catalogue. Raises `NotServedError`, `UnsettledError` if it will not stand still, or what the source
        says where only that one knows why.
        """
        await self._refresh_if_stale(uri)
        has_rescanned = False
        for _ in range(_TRIES):
            served = self._catalog.file(uri)
            try:
                return await self._read_now(uri, served)
            except (ContentError, SourceError) as error:
                if isinstance(served.file, LiveFile):  # there was no promise that could have been broken
                    raise
                if isinstance(
                    error, SourceUnavailableError
                ):  # and then nobody can be asked what is there now
                    raise
                if has_rescanned and isinstance(
                    error, UntrustedContentError
                ):  # they were asked, and say what is wrong
                    raise
                if has_rescanned or isinstance(error, SourceBusyError):
                    raise UnsettledError(uri) from error
            has_rescanned = await self._refresh(served.entry)
        raise UnsettledError(uri)

    def validator(self) -> Validator | None:
        """Return what tells whether the catalogue is still the one of now; None until it is loaded."""
        return _CatalogValidator(self) if self.is_loaded else None

    def has_fresh(self, uri: object) -> bool:
        """Whether a skill is listed at `uri`, and there is no reason to look again."""
        return isinstance(uri, str) and uri in self._catalog.positions and self._stale_skill(uri) is None

    def validator_of(self, uri: str) -> Validator | None:
        """Return what tells whether a read of this file would still give the same, if anything can."""
        served = self._catalog.files.get(uri)
        if served is None or self._stale_skill(uri) is not None:
            return None
        of_file = self._sources[served.entry.origin.source].validator(served.entry, served.file)
        return None if of_file is None else _CatalogValidator(self, of_file)

    async def _read_now(self, uri: str, served: ServedFile) -> Reading:
        content = await self._sources[served.entry.origin.source].read(served.entry, served.file)
        return Reading(served, served.file.verify(content, uri))

    async def _refresh(self, stale: SkillRecord) -> bool:
        """Look again at a skill that is not what it was; False if somebody else did so while we waited."""
        async with self._refresh_lock:
            if self._catalog.entries.get(stale.uri) != stale:
                return False
            await self._rescan_skill(stale)
            if stale.uri not in self._catalog.entries:
                self._lost |= {stale.uri_of(file.path): stale for file in stale.files}
            return True

    async def _refresh_if_stale(self, uri: str) -> None:
        """Look again at a skill that a refresh lost, or whose source failed: it may be whole by now."""
        if self._stale_skill(uri) is None:
            return
        async with self._refresh_lock:
            if (entry := self._stale_skill(uri)) is None:
                return
            await self._rescan_skill(entry)
            if entry.uri in self._catalog.entries:
                self._lost = {each: lost for each, lost in self._lost.items() if lost is not entry}

    def _mark_stale(self, source: Source, where: Locations, *, retry: bool = True) -> None:
        """Note that a source could not be looked at. One that is away says itself when it is back."""
        if source.label not in self._failures:
            self.revision += 1  # what was known of its skills has to be looked at again
        self._failures.note(source.label, where, retry=retry)

    def _stale_skill(self, uri: str) -> SkillRecord | None:
        served = self._catalog.files.get(uri)
        if served is None:
            return self._lost.get(uri)
        return served.entry if served.entry.origin.source in self._failures else None

    async def _rescan_skill(self, entry: SkillRecord) -> None:
        source, where = self._sources[entry.origin.source], frozenset({entry.origin.location})
        try:
            after = await self._rescan(source, where)
        except SourceError as error:  # what was listed stays listed: the source may be back in a moment
            after = add_source_problem(source, error, self._scans[source.label], gone=False)
            if isinstance(error, SourceMissingError):
                self._mark_stale(source, where)
        await self._swap(source, after)

    def _compose(self) -> Catalog:
        return replace(compose(self._labelled_scans(), movable=self._movable), visibility=self._visibility)

    def _labelled_scans(self) -> list[LabelledScan]:
        return [LabelledScan(label, scan) for label, scan in self._scans.items()]


def _by_label(sources: Sequence[Source]) -> dict[str, Source]:
    by_label = {source.label: source for source in sources}
    if len(by_label) < len(sources):
        raise ConflictError("two sources have the same label; give each its own")
    return by_label
