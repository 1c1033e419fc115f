"""`Publication`: the steps of one push within its transaction."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from skillwire import __version__
from skillwire.core.record import Digest
from skillwire.registry.database import Transaction, as_bytes
from skillwire.registry.release import Release
from skillwire.safe_text import quoted

ReadBlob: TypeAlias = Callable[[Release, Digest], Awaitable[bytes]]
"""A function that returns the bytes of a file of a release. It is called only for bytes that are missing."""

_BATCH_BYTES = 8 * 1024 * 1024
"""Bytes of files that are written at once."""


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
class Publisher:
    """Who publishes, and from where, for the history."""

    name: str
    provenance: Mapping[str, str] = field(default_factory=dict[str, str])


class NothingToCommitError(Exception):
    """Rolls back a transaction that has refused something or changed nothing."""

    def __init__(self, result: Published) -> None:
        self.result = result
        super().__init__()


class Publication:
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
        """Do all steps. Raises `NothingToCommitError` if there is nothing to commit."""
        refused = self._twice() or await self._add_skills()
        if not refused:
            refused = await self._add_versions(read)
        if refused:
            raise NothingToCommitError(Published(await self._revision(), refused=tuple(refused)))
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
            if as_bytes(rows[0][0]) != each.digest.raw
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
            raise NothingToCommitError(Published(revision - 1, unchanged=tuple(self._releases)))
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
