"""`PrefixedSource`: the skills from another source, published below a prefix."""

import functools
from dataclasses import replace

from skillwire.core.record import SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.sources.base import (
    EVERYWHERE,
    Locations,
    Progress,
    Scan,
    Source,
    WrappedSource,
    ignore_progress,
)


class PrefixedSource(WrappedSource):
    """Wraps a source, and adds a prefix to the paths of its skills."""

    def __init__(self, source: Source, prefix: str) -> None:
        super().__init__(source)
        self._segments = prefix.split("/")
        self._moved: dict[str, tuple[SkillRecord, SkillRecord]] = {}

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return self._below(await self.source.scan(progress))

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return self._below(await self.source.rescan(where))

    async def instance(self, entry: SkillRecord, *, fresh: bool = False) -> SkillRecord | None:
        found = await self.source.instance(entry, fresh=fresh)
        return None if found is None else replace(found, uri=entry.uri)

    def _below(self, scan: Scan) -> Scan:
        known = self._moved
        self._moved = {entry.uri: self._move(entry, known.get(entry.uri)) for entry in scan.entries}
        templates = tuple(
            functools.reduce(SkillTemplate.below, reversed(self._segments), each) for each in scan.templates
        )
        return replace(scan, entries=tuple(moved for _, moved in self._moved.values()), templates=templates)

    def _move(
        self, entry: SkillRecord, known: tuple[SkillRecord, SkillRecord] | None
    ) -> tuple[SkillRecord, SkillRecord]:
        """Return a skill and its copy below the prefix. An unchanged skill has the same copy as before."""
        if known is not None and known[0] is entry:
            return known
        return entry, functools.reduce(SkillRecord.below, reversed(self._segments), entry)
