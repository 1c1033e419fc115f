"""The library: sources and the catalogue made from them. The one part that moves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from skillwire.catalog.amend import amended
from skillwire.catalog.compose import Labelled, compose
from skillwire.catalog.snapshot import Catalog, Served
from skillwire.model.entry import Entry, LiveFile
from skillwire.model.errors import (
    CannotLookNowError,
    ConflictError,
    ContentError,
    SourceError,
    UnsettledError,
)
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.sources.base import Progress, Scan, Source, unwatched


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes of a file, as listed in the catalogue that it was read from."""

    served: Served
    content: bytes


class Library:
    """Holds the current catalogue, and reads from the sources what the catalogue promises."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = {source.label: source for source in sources}
        if len(self._sources) < len(sources):
            raise ConflictError("two sources have the same label; give each its own")
        self._scans: dict[str, Scan] = {}
        self._catalog = compose([])
        self._refreshing = anyio.Lock()
        self._lost: dict[str, Entry] = {}
        """Skills that a refresh found broken or gone, by the URI of each of their files."""
        self._failing: set[str] = set()
        """Labels of the sources that could not be looked at the last time."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the skills come from, in the order that decides who keeps a path."""
        return tuple(self._sources.values())

    @property
    def catalog(self) -> Catalog:
        """What is served now. Keep it for as long as one answer takes: the next one may be another."""
        return self._catalog

    async def load(self, progress: Progress = unwatched) -> Catalog:
        """Scan every source. One that fails is a problem in the catalogue; the others are served."""
        async with self._refreshing:
            for source in self._sources.values():
                try:
                    self._scans[source.label] = await source.scan(progress)
                except SourceError as error:
                    self._scans[source.label] = _failed(source, error, Scan())
            self._catalog = await anyio.to_thread.run_sync(compose, self._labelled())
            self._lost.clear()
            return self._catalog

    async def skill(self, uri: str) -> Entry:
        """Return the skill whose `SKILL.md` has this URI. Raises `NotServedError`."""
        await self._look_if_in_doubt(uri)
        return self._catalog.skill(uri)

    async def read(self, uri: str) -> Reading:
        """Return a file whose bytes have the digest that the current catalogue lists (S19).

        Bytes that moved since the scan: the skill is looked at again, once, and the answer comes from
        the new catalogue. Raises `NotServedError`, or `UnsettledError` if it will not stand still.
        """
        await self._look_if_in_doubt(uri)
        served = self._catalog.file(uri)
        try:
            return await self._read_now(uri, served)
        except (ContentError, SourceError) as error:
            if isinstance(served.file, LiveFile):  # there was no promise that could have been broken
                raise
            if isinstance(error, CannotLookNowError):
                raise UnsettledError(uri) from error
            await self._refresh(served.entry)
        served = self._catalog.file(uri)
        try:
            return await self._read_now(uri, served)
        except (ContentError, SourceError) as error:
            raise UnsettledError(uri) from error

    async def _read_now(self, uri: str, served: Served) -> Reading:
        content = await self._sources[served.entry.origin.source].read(served.entry, served.file)
        return Reading(served, served.file.verify(content, uri))

    async def _refresh(self, stale: Entry) -> None:
        """Look again at a skill that is not what it was."""
        async with self._refreshing:
            if self._catalog.entries.get(stale.uri) != stale:
                return  # somebody else looked again while we waited
            await self._look_again(stale)
            if stale.uri not in self._catalog.entries:
                self._lost |= {stale.uri_of(file.path): stale for file in stale.files}

    async def _look_if_in_doubt(self, uri: str) -> None:
        """Look again at a skill that a refresh lost, or whose source failed: it may be whole by now."""
        if self._doubted(uri) is None:
            return
        async with self._refreshing:
            if (entry := self._doubted(uri)) is None:
                return
            await self._look_again(entry)
            if entry.uri in self._catalog.entries:
                self._lost = {each: lost for each, lost in self._lost.items() if lost is not entry}

    def _doubted(self, uri: str) -> Entry | None:
        served = self._catalog.files.get(uri)
        if served is None:
            return self._lost.get(uri)
        return served.entry if served.entry.origin.source in self._failing else None

    async def _look_again(self, entry: Entry) -> None:
        source = self._sources[entry.origin.source]
        before = self._scans[source.label]
        try:
            after = await source.rescan(entry)
            self._failing.discard(source.label)
        except SourceError as error:  # what was listed stays listed: the source may be back in a moment
            after = _failed(source, error, before)
            self._failing.add(source.label)
        self._scans[source.label] = after
        scans = self._labelled()
        catalog = amended(self._catalog, before, after, scans)
        self._catalog = catalog or await anyio.to_thread.run_sync(compose, scans)

    def _labelled(self) -> list[Labelled]:
        return [Labelled(label, scan) for label, scan in self._scans.items()]


def _failed(source: Source, error: SourceError, known: Scan) -> Scan:
    """Return what is known of a source that cannot be scanned, with the problem that it has."""
    what = "shows as it was" if known.entries else "is not served"
    problem = Problem(
        ".",
        Rule.SOURCE_FAILED,
        Severity.ERROR,
        f"the source `{source.label}` {what}: {error}",
        hint="mend the source; it is looked at again when one of its skills is asked for",
    )
    others = (each for each in known.problems if each.rule is not Rule.SOURCE_FAILED)
    return replace(known, problems=(*others, problem))
