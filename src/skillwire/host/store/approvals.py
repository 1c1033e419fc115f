"""Stored approvals and tool grants, bound to a label and to the digests of every file."""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from skillwire.core.record import Digest
from skillwire.errors import StateError
from skillwire.host.store.database import Database, decode_uri, encode_uri
from skillwire.host.store.labels import Labels
from skillwire.protocol.remote import Dialect, FileClaim, ListedSkill, SkillClaim
from skillwire.safe_text import quoted


def content_key(skill: ListedSkill) -> str | None:
    """Return a hash of the set of (URI, digest) of all files, in any order (H17).

    None for a skill without listed files: no approval can be bound to it.
    """
    if skill.files is None or skill.main is None:
        return None
    pairs = sorted({(file.uri, file.digest.text) for file in skill.files})
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


def entry_to_json(skill: SkillClaim) -> str:
    """Return a claim as JSON, to be stored."""
    files = [[file.uri, file.digest.text, file.size] for file in skill.files or ()]
    entry = {"uri": skill.uri, "frontmatter": skill.frontmatter, "files": files, "dialect": skill.dialect}
    return json.dumps(entry)


def entry_from_json(text: str) -> SkillClaim | None:
    """Return the claim that `entry_to_json` wrote; None if it is damaged."""
    try:
        value: Any = json.loads(text)
        files = tuple(FileClaim(uri, Digest(digest), size) for uri, digest, size in value["files"])
        return SkillClaim(value["uri"], dict(value["frontmatter"]), files, Dialect(value["dialect"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


class ApprovalStatus(StrEnum):
    """Whether the user approved a skill."""

    UNKNOWN = "unknown"
    """It was never approved."""
    APPROVED = "approved"
    CHANGED = "changed"
    """Other files were approved. Going back to those files does not restore the approval (H15)."""
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Approval:
    """A stored approval. It may have ended since."""

    label: str
    uri: str
    approval_status: ApprovalStatus
    when: datetime
    """When it was approved."""
    tools: tuple[str, ...]
    """The tools that the user granted (H21)."""


class CannotStoreError(StateError):
    """An approval or a grant cannot be stored. It may still hold for a session."""


class Approvals:
    """Stored approvals by label and URI, each bound to the set of (URI, digest)."""

    def __init__(self, database: Database, labels: Labels) -> None:
        self._database = database
        self._labels = labels

    def approval_status(self, label: str, skill: SkillClaim) -> ApprovalStatus:
        """Return the approval status of a skill as its server lists it now.

        If other files were approved, the approval is marked as changed: a new one is needed (H15, H17).
        """
        content = content_key(skill)
        with self._database.reading() as connection:
            if not self._labels.is_still_bound(connection, label):
                return ApprovalStatus.UNKNOWN
            found = _stored_status(connection, label, skill.uri, content)
        if found is not ApprovalStatus.CHANGED:
            return found
        with self._database.writing() as connection:
            if not self._labels.is_still_bound(connection, label):
                return ApprovalStatus.UNKNOWN
            found = _stored_status(
                connection, label, skill.uri, content
            )  # it may have been approved meanwhile
            if found is ApprovalStatus.CHANGED:
                _mark_revoked(connection, label, skill.uri, ApprovalStatus.CHANGED)
            return found

    def approve(self, label: str, skill: SkillClaim) -> None:
        """Store an approval of exactly these files. When this returns, it survives a crash.

        Raises `CannotStoreError` for a skill without listed files (H17), and `StateError`.
        """
        content = content_key(skill)
        if content is None:
            message = f"the approval of {quoted(skill.uri)} from {quoted(label)} cannot be stored"
            raise CannotStoreError(
                f"{message}: not all its files have digests", hint="approve it each time you use it"
            )
        key = label, encode_uri(skill.uri)
        with self._database.writing() as connection:
            self._labels.require_bound(connection, label)
            if _stored_status(connection, label, skill.uri, content) is ApprovalStatus.APPROVED:
                return
            revocations = _revocations(connection, label, skill.uri)
            # Grants for other files are deleted with their approval (H21).
            connection.execute("DELETE FROM approvals WHERE label = ? AND uri = ?", key)
            connection.execute(
                "INSERT INTO approvals (label, uri, content, entry, standing, approved_at, revocations)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    *key,
                    content,
                    entry_to_json(skill),
                    ApprovalStatus.APPROVED.value,
                    time.time(),
                    revocations,
                ),
            )

    def revoke(self, label: str, uri: str) -> bool:
        """Revoke an approval; return whether there was one. No connection to the server is needed.

        The revocation is counted even if there was none, because it also ends approvals of sessions.
        """
        count = "UPDATE approvals SET revocations = revocations + 1 WHERE label = ? AND uri = ?"
        with self._database.writing() as connection:
            connection.execute(count, (label, encode_uri(uri)))
            return _mark_revoked(connection, label, uri, ApprovalStatus.REVOKED)

    def revocations(self, label: str, uri: str) -> int:
        """Return how often an approval of a skill was revoked."""
        with self._database.reading() as connection:
            return _revocations(connection, label, uri)

    def approved(self, label: str, uri: str) -> SkillClaim | None:
        """Return the claim that was approved last, for a comparison. The approval may have ended."""
        query = "SELECT content, entry FROM approvals WHERE label = ? AND uri = ?"
        with self._database.reading() as connection:
            if self._labels.was_rebound(connection, label):
                return None  # it belongs to another server (H28)
            row = connection.execute(query, (label, encode_uri(uri))).fetchone()
        skill = entry_from_json(row[1]) if row else None
        # A damaged entry must not be shown as the approved version.
        return skill if skill and content_key(skill) == row[0] else None

    def all(self) -> list[Approval]:
        """Return all stored approvals, also ended ones, sorted by label and URI."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT label, uri, standing, approved_at FROM approvals ORDER BY label, uri"
            ).fetchall()
            granted = connection.execute("SELECT label, uri, tool FROM grants ORDER BY tool").fetchall()
        tools: dict[tuple[str, bytes], list[str]] = {}
        for label, uri, tool in granted:
            tools.setdefault((label, uri), []).append(tool)
        return [
            Approval(
                label,
                decode_uri(uri),
                ApprovalStatus(approval_status),
                datetime.fromtimestamp(when, UTC),
                tuple(tools.get((label, uri), ())),
            )
            for label, uri, approval_status, when in rows
        ]


def is_approved(connection: sqlite3.Connection, label: str, skill: SkillClaim) -> bool:
    """Whether exactly these files are approved."""
    content = content_key(skill)
    return _stored_status(connection, label, skill.uri, content) is ApprovalStatus.APPROVED


def _stored_status(
    connection: sqlite3.Connection, label: str, uri: str, content: str | None
) -> ApprovalStatus:
    query = "SELECT standing, content FROM approvals WHERE label = ? AND uri = ?"
    row = connection.execute(query, (label, encode_uri(uri))).fetchone()
    if row is None:
        return ApprovalStatus.UNKNOWN
    found = ApprovalStatus(row[0])
    return ApprovalStatus.CHANGED if found is ApprovalStatus.APPROVED and row[1] != content else found


def _revocations(connection: sqlite3.Connection, label: str, uri: str) -> int:
    query = "SELECT revocations FROM approvals WHERE label = ? AND uri = ?"
    row = connection.execute(query, (label, encode_uri(uri))).fetchone()
    return 0 if row is None else row[0]


def _mark_revoked(
    connection: sqlite3.Connection, label: str, uri: str, approval_status: ApprovalStatus
) -> bool:
    """Store why an approval has ended, and delete its grants (H21). Return whether the status changed."""
    key = label, encode_uri(uri)
    connection.execute("DELETE FROM grants WHERE label = ? AND uri = ?", key)
    update = "UPDATE approvals SET standing = ? WHERE label = ? AND uri = ? AND standing != ?"
    return connection.execute(update, (approval_status.value, *key, approval_status.value)).rowcount > 0


class Grants:
    """Granted tools by label and URI. They depend on an approval, and end with it."""

    def __init__(self, database: Database, labels: Labels) -> None:
        self._database = database
        self._labels = labels

    def grant(self, label: str, skill: SkillClaim, tools: Iterable[str]) -> None:
        """Store these tools in place of earlier ones.

        Raises `CannotStoreError` if these files are not approved, and `StateError`.
        """
        key = label, encode_uri(skill.uri)
        with self._database.writing() as connection:
            self._labels.require_bound(connection, label)
            if not is_approved(connection, label, skill):
                raise CannotStoreError(
                    f"cannot grant tools to {quoted(skill.uri)} from {quoted(label)}: it is not approved",
                    hint="approve it first",
                )
            connection.execute("DELETE FROM grants WHERE label = ? AND uri = ?", key)
            connection.executemany(
                "INSERT INTO grants VALUES (?, ?, ?)", [(*key, tool) for tool in set(tools)]
            )

    def granted(self, label: str, skill: SkillClaim) -> frozenset[str]:
        """Return the tools granted to exactly these files; none if they are not approved."""
        query = "SELECT tool FROM grants WHERE label = ? AND uri = ?"
        with self._database.reading() as connection:
            if not self._labels.is_still_bound(connection, label) or not is_approved(
                connection, label, skill
            ):
                return frozenset()
            return frozenset(tool for (tool,) in connection.execute(query, (label, encode_uri(skill.uri))))

    def withdraw(self, label: str, uri: str) -> bool:
        """Remove all grants of a skill; return whether there were any. Its approval stays."""
        with self._database.writing() as connection:
            delete = "DELETE FROM grants WHERE label = ? AND uri = ?"
            return connection.execute(delete, (label, encode_uri(uri))).rowcount > 0
