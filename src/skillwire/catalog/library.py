"""The library: sources and the catalogue made from them. The one part that moves."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from skillwire.catalog.amend import amended
from skillwire.catalog.compose import Labelled, compose
from skillwire.catalog.snapshot import Catalog, Served
from skillwire.model.entry import Entry
from skillwire.model.errors import ConflictError, ContentError, SourceError, UnsettledError
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
                self._scans[source.label] = await _settled(source, source.scan(progress))
            self._catalog = await anyio.to_thread.run_sync(compose, self._labelled())
            return self._catalog

    async def read(self, uri: str) -> Reading:
        """Return a file whose bytes have the digest that the current catalogue lists (S19).

        Bytes that moved since the scan: the skill is looked at again, once, and the answer comes from
        the new catalogue. Raises `NotServedError`, or `UnsettledError` if it will not stand still.
        """
        served = self._catalog.file(uri)
        try:
            return await self._read_now(uri, served)
        except (ContentError, SourceError):
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
        async with self._refreshing:
            if self._catalog.entries.get(stale.uri) != stale:
                return  # somebody else looked again while we waited
            source = self._sources[stale.origin.source]
            before = self._scans[source.label]
            after = self._scans[source.label] = await _settled(source, source.rescan(stale))
            scans = self._labelled()
            catalog = amended(self._catalog, before, after, scans)
            self._catalog = catalog or await anyio.to_thread.run_sync(compose, scans)

    def _labelled(self) -> list[Labelled]:
        return [Labelled(label, scan) for label, scan in self._scans.items()]


async def _settled(source: Source, scan: Awaitable[Scan]) -> Scan:
    """Return the scan, or the one problem that a source has which cannot be scanned."""
    try:
        return await scan
    except SourceError as error:
        problem = Problem(
            ".",
            Rule.SOURCE_FAILED,
            Severity.ERROR,
            f"nothing of `{source.label}` is served: {error}",
            hint="mend the source, then start the server again",
        )
        return Scan(problems=(problem,))
