"""A source that provides the skills of another library."""

from collections.abc import AsyncGenerator, Collection
from dataclasses import replace
from urllib.parse import unquote

import anyio

from skillwire.core.names import SKILL_FILE, file_uri, root_uri
from skillwire.core.problem import Rule
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, Source, WatchFilter, ignore_progress


class LibrarySource(Source):
    """A source with the skills of a library. Another task must run `Library.follow`."""

    def __init__(self, library: Library, label: str, hidden: Collection[str] = ()) -> None:
        """Wrap a library. `hidden` contains the URIs of skills to leave out."""
        self.label = label
        self._hidden = hidden
        self._library = library
        self._scanned: Catalog | None = None
        self._moved: dict[str, tuple[SkillRecord, SkillRecord]] = {}

    @property
    def is_stale(self) -> bool:
        """Whether the library's catalog differs from the catalog that this source scanned last."""
        return self._scanned is not self._library.catalog

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        await self._library.ensure_loaded()
        self._scanned = catalog = self._library.catalog
        progress(len(catalog.entries))
        known = self._moved
        shown = ((uri, entry) for uri, entry in catalog.entries.items() if uri not in self._hidden)
        self._moved = {uri: self._own(entry, known.get(uri)) for uri, entry in shown}
        entries = tuple(own for _, own in self._moved.values())
        own_problems = {problem for entry in entries for problem in entry.problems}
        # The outer library determines anew which names are shared.
        others = (each for each in catalog.problems if each.rule is not Rule.NAME_SHARED)
        problems = tuple(each for each in others if each not in own_problems)
        templates = tuple(
            replace(template, label=self.label, location=template.path) for template in catalog.templates
        )
        return Scan(entries, problems, templates)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        root = root_uri(entry.origin.location.split("/"))
        return (await self._library.read(file_uri(root, file.path))).content

    async def instance(self, entry: SkillRecord, *, fresh: bool = False) -> SkillRecord | None:
        uri = file_uri(root_uri(entry.origin.location.split("/")), SKILL_FILE)
        described = self._library.catalog.instance(uri)
        if described is None or (found := await self._library.confirmed(described, fresh=fresh)) is described:
            return None
        return replace(
            found,
            uri=entry.uri,
            origin=replace(found.origin, source=self.label, location=entry.origin.location),
        )

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        changed = anyio.Event()

        def set_changed(_change: Change) -> None:
            changed.set()

        stop_listening = self._library.listen(set_changed)
        try:
            while True:
                if self.is_stale:
                    yield EVERYWHERE
                await changed.wait()
                changed = anyio.Event()
        finally:
            stop_listening()

    def _own(
        self, entry: SkillRecord, known: tuple[SkillRecord, SkillRecord] | None
    ) -> tuple[SkillRecord, SkillRecord]:
        """Return a record from the library, and the same skill as a record of this source."""
        if known is not None and known[0] is entry:
            return known
        catalog, label = self._library.catalog, entry.origin.source
        problems = tuple(catalog.shown(problem, label) for problem in entry.problems)
        origin = replace(entry.origin, source=self.label, location=unquote(entry.path))
        return entry, replace(entry, origin=origin, problems=problems)
