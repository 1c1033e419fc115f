"""What hosts of early drafts look for: an index of all skills."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from skillwire.catalog.change import Change, Edit
from skillwire.catalog.snapshot import Catalog
from skillwire.model.entry import SkillRecord
from skillwire.model.mime import JSON
from skillwire.surfaces.documents import Document
from skillwire.wire.drafts import INDEX_URI, DraftArchive, draft_index

if TYPE_CHECKING:
    from skillwire.surfaces.archives import SkillArchives


class DraftIndex(Document):
    """All skills in one document, as early drafts had it. Made once for each catalogue."""

    uri = INDEX_URI
    name = "index.json"
    description = (
        "The skills of this server, for hosts that were built before skills had a method of their own"
    )
    mime_type = JSON

    def __init__(self, archives: "SkillArchives | None" = None, *, list_nonconforming: bool = False) -> None:
        self._archives = archives
        self._list_nonconforming = list_nonconforming
        self._last: tuple[Catalog, bytes] | None = None

    def listed(self, catalog: Catalog) -> bool:  # noqa: ARG002 - also an empty index is one
        return True

    def differs(self, change: Change) -> bool:
        before, after = change.before.nonconforming, change.after.nonconforming
        if change.templates_differ or before.keys() != after.keys():
            return True
        return any(self._indexed_differently(edit) for edit in change.edits)

    async def render(self, catalog: Catalog) -> bytes:
        if self._last is None or self._last[0] is not catalog:
            left_out = frozenset[str]() if self._list_nonconforming else catalog.nonconforming.keys()
            entries = [entry for uri, entry in catalog.entries.items() if uri not in left_out]
            skills = [(entry, await self._archived(entry)) for entry in entries]
            index = await anyio.to_thread.run_sync(draft_index, skills, catalog.templates)
            self._last = catalog, index
            return index
        return self._last[1]

    async def _archived(self, entry: SkillRecord) -> Sequence[DraftArchive]:
        return () if self._archives is None else await self._archives.of(entry)

    def _indexed_differently(self, edit: Edit) -> bool:
        if edit.before is None or edit.after is None or self._archives is not None:
            return True
        before, after = edit.before, edit.after
        return (before.frontmatter, before.shown_as) != (after.frontmatter, after.shown_as) or (
            before.files[0] != after.files[0]
        )
