"""Serve every skill except live skills as archives, for hosts that use early drafts of the extension."""

from collections.abc import Collection, Sequence

import anyio.to_thread
from anyio.lowlevel import checkpoint

from skillwire.core.concurrency import MAX_CONCURRENT_READS, process_in_order
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Digest, Json, LiveFile, SkillFile, SkillRecord
from skillwire.errors import NotServedError, SkillwireError
from skillwire.features.resources import UnlistedResources
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.drafts import DraftArchive, archive_uri
from skillwire.protocol.packing import pack_skill
from skillwire.protocol.translate import blob_contents


class SkillArchives(UnlistedResources):
    """Serves every skill except live skills as an archive of each format, which is packed when it is read.

    Packing the same files again produces the same bytes.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: dict[tuple[str, ArchiveFormat], tuple[SkillRecord, Digest]] = {}

    def serves(self, uri: str) -> bool:
        return self._named(uri) is not None

    def find_owner(self, uri: str) -> SkillRecord | None:
        named = self._named(uri)
        return None if named is None else named[0]

    async def read(self, uri: str) -> list[Json]:
        named = self._named(uri)
        if named is None:
            raise NotServedError(uri)
        entry, form = named
        return [blob_contents(uri, form.mime_type, await self._packed(entry, form))]

    def updated_uris(self, change: Change) -> Collection[str]:
        edited = {entry.root: entry for edit in change.edits for entry in edit.entries}
        return {archive_uri(entry, form) for entry in edited.values() for form in ArchiveFormat}

    async def of(self, entry: SkillRecord) -> Sequence[DraftArchive]:
        """Return a skill's archives with their digests. Empty for a live skill, or if packing fails."""
        if entry.dynamic:
            return ()
        try:
            return [DraftArchive(form, await self._digest(entry, form)) for form in ArchiveFormat]
        except SkillwireError:  # such as a skill that changed while it was read; the index omits its archives
            return ()

    async def _digest(self, entry: SkillRecord, form: ArchiveFormat) -> Digest:
        known = self._known.get((entry.uri, form))
        if known is None or known[0] is not entry:
            known = entry, Digest.of(await self._packed(entry, form))
            self._known[entry.uri, form] = known
        return known[1]

    async def _packed(self, entry: SkillRecord, form: ArchiveFormat) -> bytes:
        files: dict[str, bytes] = {}

        async def read(file: SkillFile | LiveFile) -> tuple[str, bytes]:
            await checkpoint()  # a skill can have hundreds of files: let other tasks run
            return file.path, (await self._library.read(entry.uri_of(file.path))).content

        at_once = MAX_CONCURRENT_READS if entry.origin.foreign else 1
        await process_in_order(entry.files, read, lambda item: files.update([item]), at_once)
        return await anyio.to_thread.run_sync(pack_skill, files, form, entry.executable)

    def _named(self, uri: str) -> tuple[SkillRecord, ArchiveFormat] | None:
        """Return the skill and archive format for a URI, or None if the URI does not name an archive."""
        for form in ArchiveFormat:
            root = uri.removesuffix(form.suffix)
            entry = self._library.catalog.entries.get(f"{root}/{SKILL_FILE}") if root != uri else None
            if entry is not None and not entry.dynamic:
                return entry, form
        return None
