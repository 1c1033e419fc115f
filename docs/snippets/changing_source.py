from collections.abc import AsyncGenerator

import anyio

from skillwire import Library, MemorySource, SkillRecord, Source
from skillwire.sources import (
    EVERYWHERE,
    LiveFile,
    Locations,
    MemorySkill,
    Progress,
    Scan,
    SkillFile,
    WatchFilter,
    ignore_progress,
)


class VersionedTable:
    """Stands for a database: rows, and a number that grows with every change."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.version = 0

    def write(self, path: str, text: str) -> None:
        self.rows[path] = text
        self.version += 1


class TableSource(Source):
    """Skills from a table that others write to."""

    def __init__(self, table: VersionedTable, *, label: str = "table", every: float = 5.0) -> None:
        self.label = label
        self._table = table
        self._every = every
        self._held = MemorySource(label=label)

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        skills = [MemorySkill(path, {"SKILL.md": text.encode()}) for path, text in self._table.rows.items()]
        self._held = MemorySource(skills, label=self.label)
        return await self._held.scan(progress)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self._held.read(entry, file)

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        seen = -1  # so that the first look finds what was written before anybody followed
        while True:
            if (now := self._table.version) != seen:
                seen = now
                yield EVERYWHERE
            await anyio.sleep(self._every)


async def main() -> None:
    table = VersionedTable()
    library = Library([TableSource(table, every=0.01)])
    await library.load()
    changed = anyio.Event()
    library.listen(lambda _change: changed.set())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        table.write("greeting", "---\nname: greeting\ndescription: Greets people.\n---\n")
        with anyio.fail_after(5):
            await changed.wait()
        tasks.cancel_scope.cancel()

    assert list(library.catalog.entries) == ["skill://greeting/SKILL.md"]


anyio.run(main)
