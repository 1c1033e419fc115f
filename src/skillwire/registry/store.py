"""`Store`: the operations on a registry, for every kind of database."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from skillwire import __version__
from skillwire.core.record import Digest
from skillwire.registry.database import Database, RegistryError, Row, Transaction
from skillwire.registry.release import Release
from skillwire.safe_text import quoted

ReadBlob: TypeAlias = Callable[[Release, Digest], Awaitable[bytes]]
"""A function that returns the bytes of a file of a release. It is called only for bytes that are missing."""

_PAGE = 1000
"""Number of skills that are read at once."""
MAX_CHANGES = 1000
"""Maximum number of changed skills that are read one by one. If there are more, all skills are read."""
_BATCH_BYTES = 8 * 1024 * 1024
"""Bytes of files that are written at once."""
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
class Refusal:
    """A release that was not published, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Published:
    """What a push did. If anything was refused, nothing was published."""

    revision: int
    """The revision after the push. It is the one before if nothing changed."""
    pushed: tuple[Release, ...] = ()
    unchanged: tuple[Release, ...] = ()
    refused: tuple[Refusal, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Publisher:
    """Who publishes, and from where, for the history."""

    name: str
    provenance: Mapping[str, str] = field(default_factory=dict[str, str])


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
        return _as_bytes(rows[0][0]) if rows else None

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
                return await _Publication(transaction, ordered, channel, publisher).run(read)
        except _NothingToCommitError as nothing:
            return nothing.result

    def _head(self, rows: Sequence[Row]) -> Head:
        if not rows:
            raise RegistryError(self.place, "is damaged: it has no catalogue")
        return Head(*rows[0])


class _NothingToCommitError(Exception):
    """Rolls back a transaction that has refused something or changed nothing."""

    def __init__(self, result: Published) -> None:
        self.result = result
        super().__init__()


class _Publication:
    """The steps of one push, in the order in which they wait for other pushes as late as possible."""

    def __init__(
        self, transaction: Transaction, releases: Sequence[Release], channel: str, publisher: Publisher
    ) -> None:
        self._transaction = transaction
        self._releases = releases
        self._channel = channel
        self._publisher = publisher
        self._now = datetime.now(UTC).isoformat(timespec="seconds")

    async def run(self, read: ReadBlob) -> Published:
        """Do all steps. Raises `_NothingToCommitError` if there is nothing to commit."""
        refused = self._twice() or await self._add_skills()
        if not refused:
            refused = await self._add_versions(read)
        if refused:
            raise _NothingToCommitError(Published(await self._revision(), refused=tuple(refused)))
        return await self._move_pointers()

    def _twice(self) -> list[Refusal]:
        """Return the releases whose paths differ from an earlier one only in case, or not at all."""
        first: dict[str, str] = {}
        return [
            Refusal(each.path, f"its path clashes with {quoted(other)} in the same push")
            for at, each in enumerate(self._releases)
            if (other := first.setdefault(each.path_key, each.path)) != each.path
            or (at and self._releases[at - 1].path == each.path)
        ]

    async def _add_skills(self) -> list[Refusal]:
        """Add the skills that are new, and find the ids of all. Return those with a path that clashes."""
        insert = "INSERT INTO skill (catalogue, path, path_key) VALUES (1, $1, $2) ON CONFLICT DO NOTHING"
        await self._transaction.execute(insert, [(each.path, each.path_key) for each in self._releases])
        found = await self._transaction.fetch_each(
            "SELECT id, path FROM skill WHERE catalogue = 1 AND path_key = $1",
            [(each.path_key,) for each in self._releases],
        )
        self._ids = {each.path: rows[0][0] for each, rows in zip(self._releases, found, strict=True)}
        return [
            Refusal(each.path, f"its path differs only in case from the published {quoted(rows[0][1])}")
            for each, rows in zip(self._releases, found, strict=True)
            if rows[0][1] != each.path
        ]

    async def _add_versions(self, read: ReadBlob) -> list[Refusal]:
        """Add the versions that are new, with their blobs. Return those that have other content already."""
        find = "SELECT digest FROM version WHERE skill = $1 AND version = $2"
        keys = [(self._ids[each.path], each.version) for each in self._releases]
        known = await self._transaction.fetch_each(find, keys)
        new = [each for each, rows in zip(self._releases, known, strict=True) if not rows]
        await self._add_blobs(new, read)
        provenance = json.dumps(dict(self._publisher.provenance))
        await self._transaction.execute(
            "INSERT INTO version (skill, version, digest, manifest, published_at, published_by, provenance) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
            [
                (
                    self._ids[each.path],
                    each.version,
                    each.digest.raw,
                    each.stored,
                    self._now,
                    self._publisher.name,
                    provenance,
                )
                for each in new
            ],
        )
        # Read again, because another push may have been faster.
        stored = await self._transaction.fetch_each(find, keys)
        refused = [
            Refusal(each.path, f"version {quoted(each.version)} is published already, with other content")
            for each, rows in zip(self._releases, stored, strict=True)
            if _as_bytes(rows[0][0]) != each.digest.raw
        ]
        if not refused:
            await self._transaction.execute(
                "INSERT INTO version_blob (skill, version, digest) VALUES ($1, $2, $3) "
                "ON CONFLICT DO NOTHING",
                [
                    (self._ids[each.path], each.version, digest)
                    for each in new
                    for digest in sorted({file.digest.raw for file in each.manifest.files})
                ],
            )
        return refused

    async def _add_blobs(self, new: Sequence[Release], read: ReadBlob) -> None:
        """Add the bytes that the registry does not have yet, a bounded number at once."""
        owners = {file.digest: each for each in new for file in each.manifest.files}
        digests = sorted(owners)
        found = await self._transaction.fetch_each(
            "SELECT size FROM blob WHERE digest = $1", [(digest.raw,) for digest in digests]
        )
        insert = "INSERT INTO blob (digest, size, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        batch: list[tuple[bytes, int, bytes]] = []
        pending = 0
        for digest, rows in zip(digests, found, strict=True):
            if rows:
                continue
            content = await read(owners[digest], digest)
            batch.append((digest.raw, len(content), content))
            pending += len(content)
            if pending >= _BATCH_BYTES:
                await self._transaction.execute(insert, batch)
                batch, pending = [], 0
        await self._transaction.execute(insert, batch)

    async def _move_pointers(self) -> Published:
        """Point the channel to the releases, in a new revision."""
        await self._transaction.execute("UPDATE catalogue SET revision = revision + 1 WHERE id = 1")
        revision = await self._revision()
        find = "SELECT version FROM pointer WHERE channel = $1 AND skill = $2"
        keys = [(self._channel, self._ids[each.path]) for each in self._releases]
        found = await self._transaction.fetch_each(find, keys)
        before = [rows[0][0] if rows else None for rows in found]
        moved = [(each, old) for each, old in zip(self._releases, before, strict=True) if old != each.version]
        if not moved:
            raise _NothingToCommitError(Published(revision - 1, unchanged=tuple(self._releases)))
        await self._transaction.execute(
            "INSERT INTO pointer (channel, skill, version, revision) VALUES ($1, $2, $3, $4) "
            "ON CONFLICT (channel, skill) DO UPDATE "
            "SET version = excluded.version, revision = excluded.revision",
            [(self._channel, self._ids[each.path], each.version, revision) for each, _ in moved],
        )
        await self._transaction.execute(
            "INSERT INTO change (catalogue, revision, skill, channel, before, after) "
            "VALUES (1, $1, $2, $3, $4, $5)",
            [(revision, self._ids[each.path], self._channel, old, each.version) for each, old in moved],
        )
        detail = json.dumps({"skills": len(moved), **self._publisher.provenance})
        await self._transaction.execute(
            "INSERT INTO audit (at, iss, sub, client, action, target, outcome, detail, revision) "
            "VALUES ($1, '', $2, $3, 'push', $4, 'done', $5, $6)",
            [(self._now, self._publisher.name, f"skillwire {__version__}", self._channel, detail, revision)],
        )
        pushed = tuple(each for each, _ in moved)
        unchanged = tuple(
            each for each, old in zip(self._releases, before, strict=True) if old == each.version
        )
        return Published(revision, pushed, unchanged)

    async def _revision(self) -> int:
        ((revision,),) = await self._transaction.fetch("SELECT revision FROM catalogue WHERE id = 1")
        return revision


def _pointer(row: Row) -> Pointer:
    path, version, digest, manifest = row
    return Pointer(str(path), str(version), _as_bytes(digest), _as_bytes(manifest))


def _as_bytes(value: object) -> bytes:
    """Return the bytes in a column; none if the database is damaged and has something else there."""
    return value if isinstance(value, bytes) else b""
