"""The skills of another source, published below a prefix of the operator's choice."""

import functools
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime

from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.sources.base import (
    EVERYWHERE,
    Locations,
    Progress,
    Scan,
    Source,
    Validator,
    WatchFilter,
    ignore_progress,
)


class PrefixedSource(Source):
    """Another source, with a prefix before the paths of its skills."""

    def __init__(self, source: Source, prefix: str) -> None:
        self.source = source
        self.label = source.label
        self._segments = prefix.split("/")
        self._moved: dict[str, tuple[SkillRecord, SkillRecord]] = {}

    @property
    def place(self) -> str:
        return self.source.place

    @property
    def fetched(self) -> datetime | None:
        return self.source.fetched

    async def fetch(self) -> None:
        await self.source.fetch()

    async def prepare(self) -> None:
        await self.source.prepare()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return self._below(await self.source.scan(progress))

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return self._below(await self.source.rescan(where))

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self.source.read(entry, file)

    def seal(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        return self.source.seal(entry, file)

    async def changes(self, only: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        async with aclosing(self.source.changes(only)) as changes:
            async for where in changes:
                yield where

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
        """Return a skill and the same below the prefix: the same value as before, if it is the same skill."""
        if known is not None and known[0] is entry:
            return known
        return entry, functools.reduce(SkillRecord.below, reversed(self._segments), entry)
