"""A source whose scans share what did not change, like those of a folder."""

from collections.abc import Callable
from dataclasses import replace

from skillwire.core.record import SkillRecord
from skillwire.core.sorted_items import SortedItems
from skillwire.sources import Source
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, WrappedSource, ignore_progress


class SortedSource(WrappedSource):
    """Sorts the skills of another source. Each scan shares all unchanged parts with the scan before."""

    def __init__(
        self, source: Source, change: Callable[[SkillRecord], SkillRecord] = lambda entry: entry
    ) -> None:
        """`change` is applied to each record, once."""
        super().__init__(source)
        self._change = change
        self._changed: dict[int, tuple[SkillRecord, SkillRecord]] = {}
        self._entries = SortedItems[SkillRecord]((), _root)

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        scan = await self.source.scan(progress)
        for entry in scan.entries:
            self._changed.setdefault(id(entry), (entry, self._change(entry)))
        entries = [self._changed[id(entry)][1] for entry in scan.entries]
        known, now = set(map(id, self._entries)), set(map(id, entries))
        gone = [entry for entry in self._entries if id(entry) not in now]
        self._entries = self._entries.replaced(gone, [entry for entry in entries if id(entry) not in known])
        return replace(scan, entries=self._entries)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return await self.scan()


def _root(entry: SkillRecord) -> str:
    return entry.root
