"""`Library`: sources and their current catalog, which is replaced when a source changes."""

import logging
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TypeAlias

import anyio
import anyio.to_thread

from skillwire.core.names import SKILL_FILE, parents
from skillwire.core.patterns import Selection
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.errors import (
    ConflictError,
    ContentError,
    NotServedError,
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
    for_one_scan,
    keep_same_skills,
    prepare_all,
)
from skillwire.library.search import DEFAULT_LIMIT, Audience, SearchIndex, SearchResults, open_index
from skillwire.library.selected_scans import SelectedScans
from skillwire.library.validators import CatalogValidator, LookUp, PartValidator
from skillwire.library.visibility import VisibilityPolicy
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, Source, Validator, ignore_progress

_log = logging.getLogger(__name__)

_PAUSE = 5.0
"""Seconds before a source is followed again after a failure."""

_MAX_ATTEMPTS = 3
"""Maximum number of attempts to read a file that keeps changing.

If another task has rescanned the skill, the file is read again, because that scan may be outdated as well.
"""

Listener: TypeAlias = Callable[[Change], None]
"""A function that is called after every change of the catalog, in the event loop."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes of a file, with the file's record and its skill."""

    served: ServedFile
    content: bytes


class Library:
    """Combines sources. Scans them, provides the current catalog, and reads files that match it."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        frozen: bool = False,
        movable: bool = True,
        visibility: VisibilityPolicy | None = None,
        selection: Selection | None = None,
        once: bool = False,
    ) -> None:
        """Create a library without scanning its sources.

        With `frozen`, the set of skills does not change after `load`; only the contents of the skills follow
        the sources. With `movable=False`, a skill whose path is taken is left out instead of published at
        another path. `selection` decides which skills and templates are served. With `once`, the sources are
        scanned once, so no problem promises that they are tried again. Raises `ConflictError` if two sources
        have the same label.
        """
        self.frozen = frozen
        self._once = once
        self.selection = selection or Selection()
        self._selected = SelectedScans(self.selection)
        self._movable = movable
        self._visibility = visibility or VisibilityPolicy()
        self._reported: dict[str, tuple[Problem, ...]] = {}
        """Problems of the library itself by reporter. They come before those of its sources."""
        self._index: SearchIndex | None = None
        self.shared: dict[type, object] = {}
        """Objects that several features share for this library, by type."""
        self._sources = _by_label(sources)
        self._subscriptions = Subscriptions(self._sources)
        self._listeners: list[Listener] = []
        self._observers: list[Callable[[], None]] = []
        self._scans: dict[str, Scan] = {}
        self._catalog = self.loaded = self._compose()
        self.revision = 0
        """Changes whenever a response made from the catalog may change."""
        self._refresh_lock = anyio.Lock()
        self._load_lock = anyio.Lock()
        self._follower = SourceFollower()
        self._lost: dict[str, SkillRecord] = {}
        """Skills that a refresh found broken or gone, by the URI of each of their files."""
        self._failures = FailedSources()

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the skills. If paths conflict, earlier sources take precedence."""
        return tuple(self._sources.values())

    @property
    def scans(self) -> Mapping[str, Scan]:
        """The last scan of each source, by label."""
        return self._scans

    @property
    def left_out(self) -> int:
        """The number of skills and templates that `selection` leaves out."""
        return self._selected.left_out

    @property
    def catalog(self) -> Catalog:
        """The current catalog.

        The catalog may be replaced at any time, so use one value for a whole response.
        """
        return self._catalog

    @property
    def pending_sources(self) -> tuple[Source, ...]:
        """The sources that did not exist at their last scan."""
        waiting = {
            label
            for label, scan in self._scans.items()
            if any(problem.rule is Rule.SOURCE_WAITING for problem in scan.problems)
        }
        return tuple(source for source in self.sources if source.label in waiting)

    async def load(self, progress: Progress = ignore_progress) -> Catalog:
        """Scan every source, and return the new catalog.

        If a source fails, the catalog contains a problem, and the skills from all other sources are served.
        """
        async with self._refresh_lock:
            await prepare_all(self._sources.values())
            for source in self._sources.values():
                self._scans[source.label] = await self._first_scan(source, progress)
            self._catalog = self.loaded = await anyio.to_thread.run_sync(self._compose)
            self.revision += 1
            self._lost.clear()
            self._notify_observers()
            return self._catalog

    async def ensure_loaded(self) -> None:
        """Load the library unless it is already loaded."""
        async with self._load_lock:
            if not self.is_loaded:
                await self.load()

    @property
    def is_loaded(self) -> bool:
        """Whether every source was scanned at least once, successfully or not."""
        return len(self._scans) >= len(self._sources)

    async def serve(self, sources: Sequence[Source], *, visibility: VisibilityPolicy | None = None) -> None:
        """Serve these sources from now on, in this order. Replace the visibility too, unless it is None.

        Sources that are already served are not scanned again. If the library is frozen, its set of skills
        becomes the set that is found now. Clients see both changes at once. Raises `ConflictError` if two
        sources have the same label.
        """
        by_label = _by_label(sources)
        new = [source for label, source in by_label.items() if self._sources.get(label) is not source]
        await prepare_all(new)  # outside the lock, because fetching may take long
        async with self._refresh_lock:
            found = {source.label: await first_scan(source) for source in new}
            for source in self.sources:
                if by_label.get(source.label) is not source:
                    self._follower.end(source)
                    self._forget(source.label)
            self._scans |= {label: self._selected.select(label, scan) for label, (scan, _) in found.items()}
            self._sources = by_label
            self._visibility = visibility or self._visibility
            self.revision += 1  # the same skills may now be read from another source
            self._scans = {label: self._scans[label] for label in by_label if label in self._scans}
            self._subscriptions.keep_sources(by_label)
            self._publish(Change.between(self._catalog, await anyio.to_thread.run_sync(self._compose)))
            self._settle()
            for source in new:
                if found[source.label][1]:
                    self._mark_stale(source, EVERYWHERE)
                self._follower.begin(source)

    async def freeze(self, *, frozen: bool) -> None:
        """Freeze the set of skills as it is now. With `frozen=False`, rescan and follow all sources again."""
        async with self._refresh_lock:  # so that no update is in progress
            if self.frozen is frozen:
                return
            self.frozen = frozen
            self.revision += 1  # responses now come from another catalog
            self._settle()
            for source in self.sources:
                self._follower.end(source)
                self._follower.begin(source)
        if not frozen:
            for source in self.sources:
                await self.rescan_source(source)

    async def set_visibility(self, visibility: VisibilityPolicy) -> None:
        """Replace the policy on who may start a skill."""
        async with self._refresh_lock:
            self._visibility = visibility
            self.loaded = replace(self.loaded, visibility=visibility)
            self._publish(Change.between(self._catalog, replace(self._catalog, visibility=visibility)))

    async def report(self, problems: Sequence[Problem], *, reporter: str) -> None:
        """Replace the problems of the library itself that `reporter` has reported."""
        async with self._refresh_lock:
            self._reported[reporter] = tuple(problems)
            after = replace(self._catalog, reported=self._own_problems)
            self._publish(Change.between(self._catalog, after))

    @property
    def _own_problems(self) -> tuple[Problem, ...]:
        return tuple(chain.from_iterable(self._reported.values()))

    def _settle(self) -> None:
        """Store the current catalog as `loaded`. If the library is frozen, follow its subscribed skills."""
        self.loaded = self._catalog
        self._subscriptions.settle(self._catalog if self.frozen else None)

    def _forget(self, label: str) -> None:
        """Drop all state of a source."""
        self._scans.pop(label, None)
        self._selected.forget(label)
        self._subscriptions.drop_source(label)
        self._failures.clear(label)
        self._lost = {uri: entry for uri, entry in self._lost.items() if entry.origin.source != label}

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every change from now on. Return a function that removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def observe(self, observer: Callable[[], None]) -> None:
        """Call `observer` whenever sources were loaded or scanned again, even if the catalog is the same."""
        self._observers.append(observer)

    def _notify_observers(self) -> None:
        for observer in self._observers:
            observer()

    async def follow(self) -> None:
        """Keep the catalog up to date with the sources, until cancelled.

        Concurrent calls wait for each other.
        """
        others = () if self._index is None else (self._index.follow,)
        await self._follower.run(self._follow, lambda: self.sources, others)

    @property
    def index(self) -> SearchIndex:
        """The search index. The first use creates one in memory, unless `use_index` set another one."""
        if self._index is None:
            self._index = open_index(self)
        return self._index

    def use_index(self, index: SearchIndex) -> None:
        """Use this search index. `follow` keeps it up to date in the background."""
        self._index = index

    async def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        audience: Audience = Audience.EVERYONE,
    ) -> SearchResults:
        """Return the skills that match a query, the best first. Loads the library if it is not loaded yet.

        `limit` is the number of results, at most 50. `cursor` continues after an earlier answer. Only skills
        that the `audience` may start are found. The first search builds the index. Raises `BadParamsError`
        for an empty query or a wrong cursor or limit.
        """
        return await self.index.search(query, limit=limit, cursor=cursor, audience=audience)

    @property
    def subscribed_uris(self) -> KeysView[str]:
        """The URIs with at least one subscription."""
        return self._subscriptions.uris

    def subscribe(self, uris: Iterable[str]) -> None:
        """Add a subscription to each of these URIs.

        While frozen, only skills with subscriptions are followed.
        """
        self._subscriptions.add(uris, self._catalog if self.frozen else None)

    def unsubscribe(self, uris: Iterable[str]) -> None:
        """Remove a subscription from each of these URIs."""
        self._subscriptions.remove(uris)

    async def _follow(self, source: Source) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._failures.retry, source.label, partial(self._update, source))
            await self._watch_changes(source)

    async def _watch_changes(self, source: Source) -> None:
        watch_filter = self._subscriptions.watch_filter_of(source.label) if self.frozen else None
        while True:
            try:
                await follow_changes(source, watch_filter, self._update)
            except Exception:  # noqa: BLE001 - the failure of a custom source must not end the service
                _log.exception(
                    "following the source `%s` failed; it is followed again in a few seconds", source.label
                )
                await self._report_failure(source)
                await anyio.sleep(_PAUSE)
            else:
                return

    async def _report_failure(self, source: Source) -> None:
        """Add a problem that the source is not followed. The next scan of the source removes the problem."""
        async with self._refresh_lock:
            known = self._scans.get(source.label, Scan())
            await self._swap(source, add_source_problem(source, SourceError("following it failed"), known))

    async def rescan_source(self, source: Source) -> None:
        """Scan a source now, without waiting until it reports a change."""
        await self._update(source, EVERYWHERE)

    async def _update(self, source: Source, where: Locations) -> None:
        """Rescan the locations where a source reports a change, and where earlier scans failed."""
        async with self._refresh_lock:
            if self._sources.get(source.label) is not source:
                return  # the source was removed in the meantime
            before = self._scans.get(source.label, Scan())
            try:
                after = await self._rescan(source, where)
            except SourceMissingError as error:
                self._failures.clear(source.label)
                after = add_source_problem(source, error, Scan())
            except SourceError as error:
                after = add_source_problem(source, error, before)
                if after == before:  # already reported
                    return
            await self._swap(source, after)

    async def _rescan(self, source: Source, where: Locations) -> Scan:
        """Rescan the locations `where` of a source, and locations that earlier scans missed.

        Raises `SourceError`. Unless the source is missing, records the locations to scan again first.
        """
        where = self._failures.add_missed(source.label, where)
        try:
            scan = await source.rescan(where)
        except SourceMissingError:
            raise
        except SourceError as error:
            self._mark_stale(source, where, retry=not isinstance(error, SourceUnavailableError))
            raise
        self._failures.clear(source.label)
        return self._selected.select(source.label, scan)

    async def _first_scan(self, source: Source, progress: Progress) -> Scan:
        scan, failed = await first_scan(source, progress)
        if failed:
            self._mark_stale(source, EVERYWHERE)
        else:
            self._failures.clear(source.label)
        return self._selected.select(source.label, for_one_scan(scan) if self._once else scan)

    async def _swap(self, source: Source, after: Scan) -> None:
        """Publish a catalog with `after` as the scan of `source`. If frozen, keep the same set of skills."""
        before = self._scans.get(source.label, Scan())
        if self.frozen:
            after = keep_same_skills(before, after)
        is_new = source.label not in self._scans
        self._scans[source.label] = after
        change = await anyio.to_thread.run_sync(self._change, before, after)
        if change.is_empty and not is_new:
            self._scans[source.label] = before  # the catalog, which stays, has the records of this scan
        self._publish(change)

    def _publish(self, change: Change) -> None:
        if not change.is_empty:
            self._catalog = change.after
            self.revision += 1
            for listener in self._listeners:
                listener(change)
        self._notify_observers()

    def _change(self, before: Scan, after: Scan) -> Change:
        scans = self._labelled_scans()
        catalog = update_catalog(self._catalog, before, after, scans)
        return Change.between(self._catalog, self._compose() if catalog is None else catalog)

    async def skill(self, uri: str) -> SkillRecord:
        """Return the skill whose `SKILL.md` has this URI. Raises `NotServedError`, or the source's error."""
        await self._refresh_if_stale(uri)
        return await self.confirmed(self._catalog.skill(uri))

    async def confirmed(self, entry: SkillRecord, *, fresh: bool = False) -> SkillRecord:
        """Return the source's record of a skill that a template describes. Return any other record unchanged.

        Only the source knows whether there is a skill with these parameter values, and which files the skill
        has. Raises the source's error if there is no such skill.
        """
        source = self._sources.get(entry.origin.source)
        if source is None or entry.uri in self._catalog.entries:
            return entry
        return await source.instance(entry, fresh=fresh) or entry

    async def read(self, uri: str) -> Reading:
        """Read a file. Its bytes match the listed digest (S19). A live file has no digest and is not checked.

        If the bytes have changed since the scan, the skill is scanned again, and the result comes from the
        new catalog. Raises `NotServedError`, `UnsettledError` if the file keeps changing, or an error from
        the source.
        """
        await self._refresh_if_stale(uri)
        if (instance := self._foreign_instance(uri)) is not None:
            return await self._read_instance(uri, instance)
        has_rescanned = False
        for _ in range(_MAX_ATTEMPTS):
            served = self._catalog.file(uri)
            try:
                return await self._read_now(uri, served)
            except (ContentError, SourceError) as error:
                if isinstance(served.file, LiveFile):  # a live file has no digest, so a rescan cannot help
                    raise
                if isinstance(error, SourceUnavailableError):  # a rescan would also fail
                    raise
                if has_rescanned and isinstance(
                    error, UntrustedContentError
                ):  # the source reports what is wrong
                    raise
                if has_rescanned or isinstance(error, SourceBusyError):
                    raise UnsettledError(uri) from error
            has_rescanned = await self._refresh(served.entry)
        raise UnsettledError(uri)

    def _foreign_instance(self, uri: str) -> SkillRecord | None:
        """Return the skill that contains this URI if it is from a template of a foreign server, else None."""
        catalog = self._catalog
        if not any(each.foreign for each in catalog.templates) or uri in catalog.files:
            return None
        found = (catalog.instance(f"{folder}/{SKILL_FILE}") for folder in parents(uri))
        return next((each for each in found if each is not None and each.origin.foreign), None)

    async def _read_instance(self, uri: str, described: SkillRecord) -> Reading:
        """Read a file of a skill that a template describes. If that fails, retry once with a fresh record."""
        for fresh in (False, True):
            entry = await self.confirmed(described, fresh=fresh)
            if (file := entry.file_at(uri)) is None:
                break
            try:
                return await self._read_now(uri, ServedFile(entry, file))
            except SourceUnavailableError:
                raise
            except (ContentError, SourceError):
                if fresh or isinstance(file, LiveFile):
                    raise
        raise NotServedError(uri, "file")

    def validator(self) -> Validator | None:
        """Return a validator for the current catalog, or None until it is loaded."""
        return CatalogValidator(self) if self.is_loaded else None

    def validator_for(self, look_up: LookUp) -> Validator | None:
        """Return a validator for a response that is made from some objects of the catalog.

        It is current while `look_up` returns the same objects. Return None until the library is loaded.
        """
        return PartValidator(self, look_up) if self.is_loaded else None

    def has_fresh(self, uri: object) -> bool:
        """Return whether a skill is listed at `uri` and needs no rescan."""
        return self._fresh(uri) is not None

    def _fresh(self, uri: object) -> SkillRecord | None:
        entry = self._catalog.entries.get(uri) if isinstance(uri, str) else None
        is_fresh = entry is not None and entry.listed and entry.origin.source not in self._failures
        return entry if is_fresh else None

    def validator_of_skill(self, uri: object) -> Validator | None:
        """Return a validator for the record of a listed skill; None if it needs a rescan."""

        def look_up() -> tuple[object, ...]:
            entry = self._fresh(uri)
            return () if entry is None else (entry,)

        return PartValidator(self, look_up) if self.has_fresh(uri) else None

    def validator_of(self, uri: str, *, of_catalog: bool = False) -> Validator | None:
        """Return a validator for a file; None if the file is stale or not served, or its source has none.

        It is current while this file and its skill are unchanged, or with `of_catalog`, all skills.
        """
        if not (parts := self._file_parts(uri)):
            return None
        entry, file, source = parts
        if (of_file := source.validator(entry, file)) is None:
            return None
        if of_catalog:
            return CatalogValidator(self, of_file)

        def look_up() -> tuple[object, ...]:
            catalog, label = self._catalog, entry.origin.source
            # Without skills inside this skill, the URI cannot belong to another one.
            if catalog.entries.get(entry.uri) is entry and entry.root not in catalog.above:
                return () if label in self._failures else (entry, file, self._sources.get(label))
            return self._file_parts(uri)

        return PartValidator(self, look_up, of_file)

    def _file_parts(self, uri: str) -> tuple[SkillRecord, SkillFile | LiveFile, Source] | tuple[()]:
        """Return what a response with a file is made from; nothing if the file is stale or not served."""
        served = self._catalog.files.get(uri)
        if served is None or (label := served.entry.origin.source) in self._failures:
            return ()
        source = self._sources.get(label)  # None if it is just being removed
        return () if source is None else (served.entry, served.file, source)

    async def read_listed(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        """Read a file as it is listed. Unlike `read`, never scans again.

        Raises `ContentError` if the file is not as listed, or an error from the source.
        """
        if (source := self._sources.get(entry.origin.source)) is None:
            raise NotServedError(entry.uri, "skill")
        return file.verify(await source.read(entry, file), entry.uri_of(file.path))

    async def _read_now(self, uri: str, served: ServedFile) -> Reading:
        content = await self._sources[served.entry.origin.source].read(served.entry, served.file)
        return Reading(served, served.file.verify(content, uri))

    async def _refresh(self, stale: SkillRecord) -> bool:
        """Rescan a skill whose files changed. Return False if its record was replaced in the meantime."""
        async with self._refresh_lock:
            if self._catalog.entries.get(stale.uri) != stale:
                return False
            await self._rescan_skill(stale)
            if stale.uri not in self._catalog.entries:
                self._lost |= {stale.uri_of(file.path): stale for file in stale.files}
            return True

    async def _refresh_if_stale(self, uri: str) -> None:
        """Rescan the skill with the file `uri` if a refresh lost it or its source failed. It may be back."""
        if self._stale_skill(uri) is None:
            return
        async with self._refresh_lock:
            if (entry := self._stale_skill(uri)) is None:
                return
            await self._rescan_skill(entry)
            if entry.uri in self._catalog.entries:
                self._lost = {each: lost for each, lost in self._lost.items() if lost is not entry}

    def _mark_stale(self, source: Source, where: Locations, *, retry: bool = True) -> None:
        """Record that a source could not be scanned.

        With `retry=False`, the source itself reports when it is back.
        """
        if source.label not in self._failures:
            self.revision += 1  # the source's skills need a rescan before they are served
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
        except SourceError as error:  # the skills stay listed, because the source may be back soon
            after = add_source_problem(source, error, self._scans[source.label], gone=False)
            if isinstance(error, SourceMissingError):
                self._mark_stale(source, where)
        await self._swap(source, after)

    def _compose(self) -> Catalog:
        composed = compose(self._labelled_scans(), movable=self._movable)
        return replace(composed, reported=self._own_problems, visibility=self._visibility)

    def _labelled_scans(self) -> list[LabelledScan]:
        return [LabelledScan(label, scan) for label, scan in self._scans.items()]


def _by_label(sources: Sequence[Source]) -> dict[str, Source]:
    by_label = {source.label: source for source in sources}
    if len(by_label) < len(sources):
        raise ConflictError("two sources have the same label; give each its own")
    return by_label
