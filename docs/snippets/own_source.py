from collections.abc import Mapping

import anyio

from skillwire import Library, MemorySource, SkillRecord, Source
from skillwire.sources import LiveFile, MemorySkill, Progress, Scan, SkillFile, ignore_progress


class TableSource(Source):
    """Skills from a table: a path, and the text of its `SKILL.md`."""

    def __init__(self, rows: Mapping[str, str], *, label: str = "table") -> None:
        self.label = label
        self._rows = rows
        self._skills = MemorySource(label=label)

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        skills = [MemorySkill(path, {"SKILL.md": text.encode()}) for path, text in self._rows.items()]
        self._skills = MemorySource(skills, label=self.label)
        return await self._skills.scan(progress)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self._skills.read(entry, file)


async def main() -> None:
    rows = {"hello": "---\nname: hello\ndescription: Greets people.\n---\n", "broken": "no frontmatter\n"}
    catalog = await Library([TableSource(rows)]).load()
    print(*catalog.entries)
    print(*catalog.problems)


anyio.run(main)
