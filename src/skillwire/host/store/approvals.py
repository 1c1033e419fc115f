"""Stored approvals and tool grants, each bound to a label, and to the URI and digest of every file."""

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
from skillwire.protocol.claims import DeliveryClaim, Dialect, FileClaim, ListedSkill, SkillClaim
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.safe_text import quoted


def content_key(skill: ListedSkill) -> str | None:
    """Return a hash of the URI and digest of every file, whatever their order (H17).

    Returns None if a skill lists no files or no `SKILL.md`, because no approval can be bound to it.
    """
    if skill.files is None or skill.main is None:
        return None
    pairs = sorted({(file.uri, file.digest.text) for file in skill.files})
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


def entry_to_json(skill: SkillClaim) -> str:
    """Convert a claim to JSON for storage."""
    files = [[file.uri, file.digest.text, file.size] for file in skill.files or ()]
    entry: dict[str, Any] = {
        "uri": skill.uri,
        "frontmatter": skill.frontmatter,
        "files": files,
        "dialect": skill.dialect,
    }
    if (archive := skill.archive) is not None and archive.digest is not None and archive.form is not None:
        entry["archive"] = [archive.uri, archive.digest.text, archive.form.value]
        entry["executable"] = [file.uri for file in skill.files or () if file.executable]
    return json.dumps(entry)


def entry_from_json(text: str) -> SkillClaim | None:
    """Return the claim in JSON from `entry_to_json`, or None if it is damaged."""
    try:
        value: Any = json.loads(text)
        executable = set(value.get("executable", ()))
        files = tuple(
            FileClaim(uri, Digest(digest), size, uri in executable) for uri, digest, size in value["files"]
        )
        archive = _archive_from_json(value.get("archive"))
        uri, frontmatter, dialect = value["uri"], dict(value["frontmatter"]), Dialect(value["dialect"])
        return SkillClaim(uri, frontmatter, files, dialect, archive=archive)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _archive_from_json(value: Any) -> DeliveryClaim | None:
    """Return the archive that an approval names, if any. Approvals of older versions name none."""
    if value is None:
        return None
    uri, digest, form = value
    return DeliveryClaim(str(uri), Digest(digest), ArchiveFormat(form))


class ApprovalStatus(StrEnum):
    """Whether the user approved a skill, and whether the approval is still valid."""

    UNKNOWN = "unknown"
    """The skill was never approved, or its files are still in an archive and cannot be compared."""
    APPROVED = "approved"
    CHANGED = "changed"
    """Different files were approved. Changing back to those files does not restore the approval (H15)."""
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Approval:
    """A stored approval, which may have ended."""

    label: str
    uri: str
    approval_status: ApprovalStatus
    when: datetime
    """When the skill was approved."""
    tools: tuple[str, ...]
    """The tools that the user granted (H21)."""


class CannotStoreError(StateError):
    """An approval or grant cannot be stored. It may still apply to a session."""


class Approvals:
    """Stored approvals by label and URI, each bound to the URI and digest of every file."""

    def __init__(self, database: Database, labels: Labels) -> None:
        self._database = database
        self._labels = labels

    def approval_status(self, label: str, skill: SkillClaim) -> ApprovalStatus:
        """Return the approval status of a skill as its server lists it now.

        If the approval was for different files, it is marked as changed, and a new approval is needed (H15,
        H17). If another archive has exactly the approved files, the approval is updated to name that archive.
        If the skill's files are still in an archive, they cannot be compared yet. A valid approval then
        remains, but the status is unknown. Raises `StateError`.
        """
        content = content_key(skill)
        with self._database.reading() as connection:
            if not self._labels.is_still_bound(connection, label):
                return ApprovalStatus.UNKNOWN
            if skill.is_packed:
                standing = _standing(connection, label, skill.uri)
                return ApprovalStatus.UNKNOWN if standing is ApprovalStatus.APPROVED else standing
            found = _stored_status(connection, label, skill.uri, content)
        if found is ApprovalStatus.APPROVED and skill.archive is not None:
            self._update_archive(label, skill)
        if found is not ApprovalStatus.CHANGED:
            return found
        with self._database.writing() as connection:
            if not self._labels.is_still_bound(connection, label):
                return ApprovalStatus.UNKNOWN
            found = _stored_status(
                connection, label, skill.uri, content
            )  # another process may have approved it in the meantime
            if found is ApprovalStatus.CHANGED:
                _mark_revoked(connection, label, skill.uri, ApprovalStatus.CHANGED)
            return found

    def approve(self, label: str, skill: SkillClaim) -> None:
        """Store an approval of exactly these files.

        Grants for other files are deleted. Once this method returns, the approval survives a crash. Raises
        `CannotStoreError` if the skill lists no files or no `SKILL.md` (H17), and `StateError`.
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
            # Delete grants for other files together with their approval (H21).
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

    def has_approval(self, label: str, uri: str) -> bool:
        """Return whether some version of a skill has an approval that has not ended."""
        with self._database.reading() as connection:
            if not self._labels.is_still_bound(connection, label):
                return False
            return _standing(connection, label, uri) is ApprovalStatus.APPROVED

    def unpacked(self, label: str) -> dict[str, SkillClaim]:
        """Return the last approved versions of skills whose files came from archives, by URI (H17).

        Each version tells which files its archive contains. Its approval may have ended.
        """
        query = "SELECT uri, content, entry FROM approvals WHERE label = ?"
        with self._database.reading() as connection:
            if not self._labels.is_still_bound(connection, label):
                return {}
            rows = connection.execute(query, (label,)).fetchall()
        found = {decode_uri(uri): (content, entry_from_json(entry)) for uri, content, entry in rows}
        return {
            uri: skill
            for uri, (content, skill) in found.items()
            if skill is not None and skill.archive is not None and content_key(skill) == content
        }

    def _update_archive(self, label: str, skill: SkillClaim) -> None:
        """Update an approval to name another archive that has exactly the approved files."""
        before = self.approved(label, skill.uri)
        if before is not None and before.archive == skill.archive:
            return
        row = (entry_to_json(skill), label, encode_uri(skill.uri), content_key(skill))
        with self._database.writing() as connection:
            if self._labels.is_still_bound(connection, label):
                connection.execute(
                    "UPDATE approvals SET entry = ? WHERE label = ? AND uri = ? AND content = ?"
                    " AND standing = 'approved'",
                    row,
                )

    def revoke(self, label: str, uri: str) -> bool:
        """Revoke an approval, and delete its grants. No connection to the server is needed.

        Return False if there was no approval, or if it was revoked before. The revocation is counted even if
        the stored approval had ended, because it also ends approvals in sessions.
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
        """Return the claim that was approved last, for comparison. The approval may have ended.

        Return None if there is no approval, if it is damaged, or if it is for another server.
        """
        query = "SELECT content, entry FROM approvals WHERE label = ? AND uri = ?"
        with self._database.reading() as connection:
            if self._labels.was_rebound(connection, label):
                return None  # it belongs to another server (H28)
            row = connection.execute(query, (label, encode_uri(uri))).fetchone()
        skill = entry_from_json(row[1]) if row else None
        # A damaged entry must not be shown as the approved version.
        return skill if skill and content_key(skill) == row[0] else None

    def all(self) -> list[Approval]:
        """Return all stored approvals, including ended approvals, sorted by label and URI."""
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
    """Return whether exactly these files are approved."""
    content = content_key(skill)
    return _stored_status(connection, label, skill.uri, content) is ApprovalStatus.APPROVED


def _standing(connection: sqlite3.Connection, label: str, uri: str) -> ApprovalStatus:
    """Return the stored status of a skill, whatever its files are now."""
    query = "SELECT standing FROM approvals WHERE label = ? AND uri = ?"
    row = connection.execute(query, (label, encode_uri(uri))).fetchone()
    return ApprovalStatus.UNKNOWN if row is None else ApprovalStatus(row[0])


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
        """Store these tools, replacing earlier grants.

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
        """Return the tools granted to exactly these files. Return none if the files are not approved."""
        query = "SELECT tool FROM grants WHERE label = ? AND uri = ?"
        with self._database.reading() as connection:
            if not self._labels.is_still_bound(connection, label) or not is_approved(
                connection, label, skill
            ):
                return frozenset()
            return frozenset(tool for (tool,) in connection.execute(query, (label, encode_uri(skill.uri))))

    def withdraw(self, label: str, uri: str) -> bool:
        """Remove all grants for a skill. Return whether there were any. The approval stays."""
        with self._database.writing() as connection:
            delete = "DELETE FROM grants WHERE label = ? AND uri = ?"
            return connection.execute(delete, (label, encode_uri(uri))).rowcount > 0
