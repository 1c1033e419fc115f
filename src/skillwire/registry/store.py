"""`Store`: the operations on a registry, for every kind of database."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field

from skillwire.core.record import Digest
from skillwire.registry.database import Database, RegistryError, Row, as_bytes
from skillwire.registry.publication import (
    NothingToCommitError,
    Publication,
    Published,
    Publisher,
    ReadBlob,
)
from skillwire.registry.release import Release

_PAGE = 1000
"""Number of skills that are read at once."""
MAX_CHANGES = 1000
"""Maximum number of changed skills that are read one by one. If there are more, all skills are read."""
_BRIEF_BYTES = 1024 * 1024
"""Maximum size of a file that is read without a thread."""
_HEAD = "SELECT instance, revision FROM catalogue WHERE id = 1"
_BLOB = "SELECT content FROM blob WHERE digest = $1 AND size = $2"
_POINTERS = """
SELECT s.path, v.version, v.digest, v.manifest FROM skill s
JOIN pointer p ON p.channel = $1 AND p.skill = s.id
JOIN version v ON v.skill = p.skill AND v.version = p.version
WHERE s.catalogue = 1 AND """
_PAGE_OF_POINTERS = f"{_POINTERS} s.path > $2 ORDER BY s.path LIMIT $3"
_ONE_POINTER = f"{_POINTERS} s.path = $2"
_CHANGES = """
SELECT DISTINCT s.path FROM change c JOIN skill s ON s.id = c.skill
WHERE c.catalogue = 1 AND c.revision > $1 AND c.channel = $2 LIMIT $3"""
_LOG = """
SELECT c.revision, a.at, a.sub, c.channel, s.path, c.before, c.after FROM change c
JOIN skill s ON s.id = c.skill JOIN audit a ON a.revision = c.revision
WHERE c.catalogue = 1 AND c.revision <= $1 AND c.revision > $2
ORDER BY c.revision DESC, s.path"""


@dataclass(frozen=True, slots=True)
class Head:
    """Which registry it is, and its revision, which grows by one with each push."""

    instance: str
    """A random text, different for each registry that was ever created."""
    revision: int


@dataclass(frozen=True, slots=True)
class Pointer:
    """A skill in the version that a channel has."""

    path: str
    version: str
    digest: bytes
    """The digest of the content. It may be wrong in a damaged registry."""
    manifest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A change of one channel: the version of a skill before and after it."""

    revision: int
    at: str
    by: str
    channel: str
    path: str
    before: str | None
    after: str | None


class Store:
    """The skills and the history in one registry. All methods raise `RegistryError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def place(self) -> str:
        """The address of the registry."""
        return self._database.place

    async def create(self) -> bool:
        """Create the registry. Return False if it is there already."""
        return await self._database.create()

    async def head(self) -> Head:
        """Return the current revision."""
        return self._head(await self._database.fetch(_HEAD, brief=True))

    async def channels(self) -> tuple[str, ...]:
        """Return the channels that have a skill."""
        rows = await self._database.fetch("SELECT DISTINCT channel FROM pointer ORDER BY channel")
        return tuple(channel for (channel,) in rows)

    async def pointers(self, channel: str) -> AsyncGenerator[tuple[Head, Sequence[Pointer]]]:
        """Yield all skills of a channel by path, in pages, each with the revision of all pages."""
        async with self._database.reading() as transaction:
            head = self._head(await transaction.fetch(_HEAD))
            last = ""
            while True:
                page = list(map(_pointer, await transaction.fetch(_PAGE_OF_POINTERS, channel, last, _PAGE)))
                yield head, page
                if len(page) < _PAGE:
                    return
                last = page[-1].path

    async def pointers_at(self, channel: str, paths: Iterable[str]) -> Sequence[Pointer]:
        """Return the skills of a channel at these paths, all at the same revision."""
        values = [(channel, path) for path in paths]
        async with self._database.reading() as transaction:
            found = await transaction.fetch_each(_ONE_POINTER, values)
        return [_pointer(row) for rows in found for row in rows]

    async def changed_since(self, revision: int, channel: str) -> frozenset[str] | None:
        """Return the paths of the skills that changed in a channel; None if there are many."""
        rows = await self._database.fetch(_CHANGES, revision, channel, MAX_CHANGES + 1)
        return None if len(rows) > MAX_CHANGES else frozenset(path for (path,) in rows)

    async def blob(self, digest: Digest, size: int) -> bytes | None:
        """Return the bytes with this digest and size, unchecked; None if there are none."""
        rows = await self._database.fetch(_BLOB, digest.raw, size, brief=size <= _BRIEF_BYTES)
        return as_bytes(rows[0][0]) if rows else None

    async def log(self, limit: int) -> Sequence[LogEntry]:
        """Return the changes of the last `limit` revisions, newest first."""
        head = await self.head()
        rows = await self._database.fetch(_LOG, head.revision, head.revision - limit)
        return [LogEntry(*row) for row in rows]

    async def publish(
        self, releases: Sequence[Release], *, channel: str, publisher: Publisher, read: ReadBlob
    ) -> Published:
        """Publish all releases and point the channel to them, in one transaction and one revision.

        If a version is published already with other content, or a path differs from a known one only in case,
        that release is refused, and nothing is published. If the channel has all these versions already,
        nothing happens. If `read` raises, nothing is published.
        """
        ordered = sorted(releases, key=lambda each: each.path)  # so that two pushes never wait for each other
        try:
            async with self._database.writing() as transaction:
                return await Publication(transaction, ordered, channel, publisher).run(read)
        except NothingToCommitError as nothing:
            return nothing.result

    def _head(self, rows: Sequence[Row]) -> Head:
        if not rows:
            raise RegistryError(self.place, "is damaged: it has no catalogue")
        return Head(*rows[0])


def _pointer(row: Row) -> Pointer:
    path, version, digest, manifest = row
    return Pointer(str(path), str(version), as_bytes(digest), as_bytes(manifest))
