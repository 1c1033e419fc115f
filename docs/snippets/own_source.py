from collections.abc import Mapping

import anyio

from skillwire import Library, MemorySource, SkillRecord, Source
from skillwire.sources import LiveFile, MemorySkill, Progress, Scan, SkillFile, ignore_progress


class TableSource(Source):
    """Skills from rows of a table: a path and the text of its `SKILL.md`."""

    def __init__(self, rows: Mapping[str, str], *, label: str = "table") -> None:
        self.label = label
        self._rows = rows
        self._held = MemorySource(label=label)

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        skills = [MemorySkill(path, {"SKILL.md": text.encode()}) for path, text in self._rows.items()]
        self._held = MemorySource(skills, label=self.label)
        return await self._held.scan(progress)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self._held.read(entry, file)


async def main() -> None:
    rows = {
        "greeting": "---\nname: greeting\ndescription: Greets people.\n---\n",
        "broken": "no frontmatter\n",
    }
    catalog = await Library([TableSource(rows)]).load()
    assert list(catalog.entries) == ["skill://greeting/SKILL.md"]
    assert [problem.rule for problem in catalog.problems] == ["frontmatter-missing"]


anyio.run(main)
