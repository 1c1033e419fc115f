"""URIs from before the Skills extension: `skill://name` and `skill://name/`."""

from collections.abc import Collection

from anyio.lowlevel import checkpoint

from skillwire.core.concurrency import MAX_CONCURRENT_READS, process_in_order
from skillwire.core.names import SCHEME
from skillwire.core.record import Json, LiveFile, SkillFile, SkillRecord
from skillwire.errors import NotServedError, RequestError
from skillwire.features.content import with_meta
from skillwire.features.resources import UnlistedResources
from skillwire.library.change import Change
from skillwire.library.library import Library, Reading
from skillwire.library.memo import CatalogMemo
from skillwire.library.names import Names
from skillwire.protocol.translate import contents


class LegacyAddresses(UnlistedResources):
    """Serves a skill's `SKILL.md` at `skill://name`, and all its files together at `skill://name/`.

    Ambiguous names are not served.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._names = CatalogMemo(Names)

    def serves(self, uri: str) -> bool:
        return self._named(uri) is not None

    def find_owner(self, uri: str) -> SkillRecord | None:
        return self._named(uri)

    async def read(self, uri: str) -> list[Json]:
        if (entry := self._named(uri)) is None:
            raise NotServedError(uri)
        files = entry.files if uri.endswith("/") else entry.files[:1]
        readings: list[Reading] = []

        async def read_file(file: SkillFile | LiveFile) -> Reading:
            await checkpoint()  # a skill can have hundreds of files: let other tasks run
            return await self._library.read(entry.uri_of(file.path))

        await process_in_order(
            files, read_file, readings.append, MAX_CONCURRENT_READS if entry.origin.foreign else 1
        )
        return [
            with_meta(
                contents(
                    uri if len(files) == 1 else entry.uri_of(reading.served.file.path),
                    reading.served.file.mime_type,
                    reading.content,
                ),
                entry,
            )
            for reading in readings
        ]

    def updated_uris(self, change: Change) -> Collection[str]:
        named = {f"{SCHEME}{entry.name}" for edit in change.edits for entry in edit.entries}
        return named | {f"{uri}/" for uri in named}

    def _named(self, uri: str) -> SkillRecord | None:
        name = uri.removeprefix(SCHEME).removesuffix("/")
        if not uri.startswith(SCHEME) or not name:
            return None
        try:
            return self._names.of(self._library.catalog).find(name, offered=())
        except RequestError:
            return None
