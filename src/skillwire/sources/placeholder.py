"""Sources that stand in for another: one that is made on first use, one that cannot be opened."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import cached_property

from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.errors import SourceError
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, Source, WatchFilter, ignore_progress


class DeferredSource(Source):
    """Passes everything on to the source that it stands for."""

    def __init__(self, label: str, place: str, make: Callable[[], Source]) -> None:
        """`make` returns the source, under the same label."""
        self.label = label
        self._place, self._make = place, make

    @property
    def place(self) -> str:
        return self._place

    @cached_property
    def source(self) -> Source:
        """The source itself."""
        return self._make()

    async def prepare(self) -> None:
        await self.source.prepare()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return await self.source.scan(progress)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return await self.source.rescan(where)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self.source.read(entry, file)

    async def changes(self, only: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        async with aclosing(self.source.changes(only)) as changes:
            async for where in changes:
                yield where


class UnavailableSource(Source):
    """Says why there is nothing, whenever it is asked."""

    def __init__(self, label: str, place: str, reason: str, *, tell: bool = True) -> None:
        """With `tell`, scans say why. Where clients would read it, only the operator does."""
        self.label = label
        self.reason = reason
        self._place = place
        self._told = reason if tell else "it cannot be opened; `skillwire check` says why"

    @property
    def place(self) -> str:
        return self._place

    async def scan(self, progress: Progress = ignore_progress) -> Scan:  # noqa: ARG002 - there is nothing to see
        raise SourceError(self._told)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:  # noqa: ARG002 - as above
        raise SourceError(self._told)
