"""Sources that do not keep their word, one for every rule of trust."""

from collections.abc import Awaitable, Callable

from skillwire import SkillRecord, Source
from skillwire.errors import SourceError
from skillwire.sources import LiveFile, Progress, Scan, SkillFile, ignore_progress


class Liar(Source):
    """Passes everything on to an honest source, except the bytes."""

    def __init__(self, honest: Source, lie: Callable[[bytes], Awaitable[bytes]]) -> None:
        self.label = honest.label
        self._honest = honest
        self._lie = lie
        self.scans = 0

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        self.scans += 1
        return await self._honest.scan(progress)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self._lie(await self._honest.read(entry, file))


class Failing(Source):
    """Cannot be reached."""

    def __init__(self, label: str = "failing") -> None:
        self.label = label

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        raise SourceError("the disk is on fire")

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        raise SourceError("the disk is on fire")
