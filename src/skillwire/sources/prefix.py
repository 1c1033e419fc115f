"""`PrefixedSource`: the skills from another source, published below a prefix."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from skillwire.core.record import SkillRecord
from skillwire.core.sorted_items import SortedItems
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

_by_root = attrgetter("root")


class PrefixedSource(WrappedSource):
    """Wraps a source, and adds a prefix to the paths of its skills."""

    def __init__(self, source: Source, prefix: str) -> None:
        super().__init__(source)
        self._segments = prefix.split("/")
        self._moved: dict[str, tuple[SkillRecord, SkillRecord]] = {}
        """Each record of the source, and its copy below the prefix, by the URI in the source."""
        self._source_entries: Sequence[SkillRecord] = ()
        self._entries: Sequence[SkillRecord] = ()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return self._below(await self.source.scan(progress))

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return self._below(await self.source.rescan(where))

    async def instance(self, entry: SkillRecord, *, fresh: bool = False) -> SkillRecord | None:
        found = await self.source.instance(entry, fresh=fresh)
        return None if found is None else replace(found, uri=entry.uri)

    def _below(self, scan: Scan) -> Scan:
        if not self._follow(scan):
            known = self._moved
            self._moved = {entry.uri: self._move(entry, known.get(entry.uri)) for entry in scan.entries}
            entries = (moved for _, moved in self._moved.values())
            # The prefix does not change the order.
            is_sorted = isinstance(scan.entries, SortedItems)
            self._entries = SortedItems(entries, _by_root) if is_sorted else tuple(entries)
        self._source_entries = scan.entries
        templates = tuple(
            functools.reduce(SkillTemplate.below, reversed(self._segments), each) for each in scan.templates
        )
        return replace(scan, entries=self._entries, templates=templates)

    def _follow(self, scan: Scan) -> bool:
        """Move the skills that differ from those of the last scan. Return False if all must be moved."""
        before = self._entries
        if not isinstance(scan.entries, SortedItems) or not isinstance(before, SortedItems):
            return False
        delta = scan.delta_since(Scan(self._source_entries))
        gone = tuple(self._moved.pop(each.uri)[1] for each in delta.gone)
        self._moved |= {each.uri: self._move(each, None) for each in delta.new}
        new = tuple(self._moved[each.uri][1] for each in delta.new)
        roots = {each.root for each in new}
        self._entries = before.updated([each.root for each in gone if each.root not in roots], new)
        return True

    def _move(
        self, entry: SkillRecord, known: tuple[SkillRecord, SkillRecord] | None
    ) -> tuple[SkillRecord, SkillRecord]:
        """Return a skill and its copy below the prefix. An unchanged skill has the same copy as before."""
        if known is not None and known[0] is entry:
            return known
        return entry, functools.reduce(SkillRecord.below, reversed(self._segments), entry)
