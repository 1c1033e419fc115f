"""A source that is made when somebody looks at it: who only wants to know that it is there pays nothing."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import cached_property

from skillwire.model.entry import LiveFile, SkillFile, SkillRecord
from skillwire.sources.base import EVERYWHERE, Attention, Locations, Progress, Scan, Source, unwatched


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

    async def scan(self, progress: Progress = unwatched) -> Scan:
        return await self.source.scan(progress)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return await self.source.rescan(where)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self.source.read(entry, file)

    async def changes(self, only: Attention | None = None) -> AsyncGenerator[Locations]:
        async with aclosing(self.source.changes(only)) as changes:
            async for where in changes:
                yield where
