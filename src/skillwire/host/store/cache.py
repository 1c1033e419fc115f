"""Files fetched from servers, cached on disk. The size and digest are checked again on every use."""

import hashlib
import os
import re
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from skillwire.core.atomic_write import staged_file, temporary_folder
from skillwire.core.names import portable_fault
from skillwire.core.record import Digest
from skillwire.errors import StateError, VerificationError
from skillwire.host.store.database import Database, decode_uri, encode_uri
from skillwire.host.store.labels import Labels
from skillwire.protocol.claims import FileClaim
from skillwire.protocol.verify import file_faults
from skillwire.safe_text import quoted

_PLAIN_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_READABLE = 64
_HASH = 32
"""Number of hex digits of the hash in a file name.

If two URIs had the same hash, the digest of the content would still distinguish them.
"""
CACHE_BYTES = 512 * 1024 * 1024
"""Default maximum size of the cache for all servers together, in bytes."""
_STAGING = ".staging"
"""The folder for files that are being added or removed. No label has this name."""
_PRIVATE_DIR_MODE = 0o700
KEPT_BYTES = 64 * 1024 * 1024
"""Maximum size of all copies of approved text together, in bytes."""
KEPT_FILE_BYTES = 256 * 1024
"""Maximum size of one copy of approved text, in bytes."""
_KEPT = "kept~"
"""Prefix of the file names of copies of approved text. Their digests follow."""


def _read_exactly(path: Path, digest: Digest) -> bytes | None:
    """Return the bytes of a copy if they have this digest, else None."""
    try:
        with path.open("rb") as opened:
            content = opened.read(KEPT_FILE_BYTES + 1)
        os.utime(path)
    except OSError:
        return None
    return content if Digest.of(content) == digest else None


def label_folder(label: str) -> str:
    """Return the folder name for a label. This is the label itself if it is valid on every file system."""
    if _PLAIN_LABEL.fullmatch(label) and portable_fault(label) is None:
        return label
    return _unique(label, label)


def file_name(uri: str) -> str:
    """Return the file name for a URI. It is never `SKILL.md`."""
    return _unique(uri.partition("://")[2] or uri, uri)


def cache_path(folder: Path, label: str, uri: str) -> Path:
    """Return the path of a server's file in the cache folder (H24)."""
    return folder / label_folder(label) / file_name(uri)


def _unique(readable: str, whole: str) -> str:
    """Return a file name for `whole`: a readable part, `~` and a hash. It is unique even if case is ignored.

    Labels contain no `~`, so the file name never equals a label. The file name never begins with a dot, and
    is never a device name.
    """
    shown = _UNSAFE.sub("-", readable[-_READABLE:]).strip(".-")
    hashed = hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    name = f"{shown}~{hashed}"
    return f"_{name}" if portable_fault(name) else name


@dataclass(frozen=True, slots=True)
class CachedFile:
    """A cached file of a server's skill. It is not one of the user's own files."""

    label: str
    uri: str
    digest: Digest
    size: int
    used: datetime
    """When the file was last fetched or read."""
    path: Path


class Cache:
    """Cached files by label and URI.

    Each file has a row in the database. A crash may leave a row without a file, which is ignored, or a file
    without a row, which is verified like any other file.
    """

    def __init__(self, database: Database, labels: Labels, folder: Path, limit: int = CACHE_BYTES) -> None:
        self._database = database
        self._labels = labels
        self.folder = folder
        self._staging = folder / _STAGING
        self._limit = limit
        self._kept_total: int | None = None
        """Size of all copies of approved text; None until it is needed. Other processes may add copies."""

    def get(self, label: str, file: FileClaim) -> bytes | None:
        """Return the cached bytes of a file if they match the claim, else None (H15, H24).

        Bytes that do not match are removed from the cache. Raises `StateError`.
        """
        with self._database.reading() as connection:
            if not self._labels.is_still_bound(connection, label):
                return None
        path = cache_path(self.folder, label, file.uri)
        try:
            with path.open("rb") as opened:
                content = opened.read((self._limit if file.size is None else file.size) + 1)
        except OSError:
            return None
        if any(file_faults(file, content)):
            self._drop(label, file.uri, path)
            return None
        with suppress(OSError):  # the file was removed, or the disk is full; the bytes are verified
            os.utime(path)
        return content

    def put(self, label: str, file: FileClaim, content: bytes) -> bool:
        """Cache the bytes of a file. Return whether they fit and could be written.

        Raises `VerificationError` if the bytes do not match the claim, and `StateError`.
        """
        for fault in file_faults(file, content):
            raise VerificationError("", fault)
        if len(content) > self._limit:
            return False
        try:
            self._make_staging()
            with (
                staged_file(self._staging / file_name(file.uri), content, private=True) as staged,
                # Rename the file within the transaction, so that no purge runs in between.
                self._database.writing() as connection,
            ):
                self._labels.require_bound(connection, label)
                self._place(connection, label, file, staged, len(content))
        except OSError:
            return False
        return True

    def keep(self, label: str, content: bytes) -> bool:
        """Keep a copy of approved bytes, for later comparison. Return whether it was written.

        The copy is found by its digest only. The least recently used copies are removed above a limit. A
        purge removes copies as well. Raises `StateError`.
        """
        path = self._kept_path(label, Digest.of(content))
        if len(content) > KEPT_FILE_BYTES:
            return False
        try:
            self._make_staging()
            with (
                staged_file(self._staging / path.name, content, private=True) as staged,
                self._database.writing() as connection,
            ):
                self._labels.require_bound(connection, label)
                path.parent.mkdir(exist_ok=True, mode=_PRIVATE_DIR_MODE)
                staged.replace(path)
                self._limit_kept(path)
        except OSError:
            return False
        return True

    def kept(self, label: str, file: FileClaim) -> bytes | None:
        """Return the approved bytes that `file` names, or None if there is no copy. Raises `StateError`.

        Bytes that are only in the cached file are copied, because a newer version can replace that file.
        """
        with self._database.reading() as connection:
            if not self._labels.is_still_bound(connection, label):
                return None
        if (content := _read_exactly(self._kept_path(label, file.digest), file.digest)) is not None:
            return content
        content = _read_exactly(cache_path(self.folder, label, file.uri), file.digest)
        if content is not None:
            self.keep(label, content)
        return content

    def _kept_path(self, label: str, digest: Digest) -> Path:
        return self.folder / label_folder(label) / f"{_KEPT}{digest.raw.hex()}"

    def _limit_kept(self, newest: Path) -> None:
        """Remove the least recently used copies if all of them together are larger than the limit."""
        if self._kept_total is not None:
            self._kept_total += newest.stat().st_size
            if self._kept_total <= KEPT_BYTES:
                return
        copies = [each for folder in self._label_folders() for each in folder.glob(f"{_KEPT}*")]
        sizes = {each: each.stat().st_size for each in copies}
        self._kept_total = sum(sizes.values())
        if self._kept_total <= KEPT_BYTES:
            return
        for path in sorted(sizes.keys() - {newest}, key=_used):
            if self._kept_total <= KEPT_BYTES * 9 // 10:
                break
            _remove(path)
            self._kept_total -= sizes[path]

    def list_files(self) -> list[CachedFile]:
        """Return all cached files that exist on disk, sorted by label and URI."""
        query = "SELECT label, uri, digest, size FROM cached ORDER BY label, uri"
        with self._database.reading() as connection:
            rows = connection.execute(query).fetchall()
        found: list[CachedFile] = []
        for label, key, digest, size in rows:
            uri = decode_uri(key)
            path = cache_path(self.folder, label, uri)
            with suppress(OSError):
                used = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                found.append(CachedFile(label, uri, Digest(digest), size, used, path))
        return found

    def purge(self, label: str | None = None) -> int:
        """Remove the files of one server or of all servers. Return how many there were.

        Raises `StateError`.
        """
        with self._database.writing() as connection:
            if label is None:
                known = connection.execute("DELETE FROM cached").rowcount
            else:
                known = connection.execute("DELETE FROM cached WHERE label = ?", (label,)).rowcount
            leaving = self.move_aside(label)
        self.delete_moved(leaving)
        return known

    def move_aside(self, label: str | None) -> Path | None:
        """Move the files of a label, or of all labels, out of the cache.

        Return the folder that contains them now, or None if there were no files. Raises `StateError`.
        """
        folders = self._label_folders() if label is None else [self.folder / label_folder(label)]
        aside = None
        for folder in filter(Path.exists, folders):
            try:
                self._make_staging()
                aside = aside or temporary_folder(self._staging)
                folder.rename(aside / folder.name)
            except OSError as error:
                message = f"the folder {quoted(str(folder))} cannot be removed: {error.strerror or error}"
                raise StateError(message, hint="remove it yourself") from error
        return aside

    def delete_moved(self, aside: Path | None) -> None:
        """Delete the folder from `move_aside`. If that fails, the next `sweep` deletes it."""
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)

    def sweep(self) -> None:
        """Delete temporary files that crashes left behind.

        Call it only while no other process uses the cache.
        """
        shutil.rmtree(self._staging, ignore_errors=True)

    def _place(
        self, connection: sqlite3.Connection, label: str, file: FileClaim, staged: Path, size: int
    ) -> None:
        path = cache_path(self.folder, label, file.uri)
        row = (label, encode_uri(file.uri), file.digest.text, size)
        connection.execute(
            "INSERT OR REPLACE INTO cached (label, uri, digest, size) VALUES (?, ?, ?, ?)", row
        )
        self._make_room(connection, keep=path)
        path.parent.mkdir(exist_ok=True, mode=_PRIVATE_DIR_MODE)
        staged.replace(path)

    def _make_room(self, connection: sqlite3.Connection, keep: Path) -> None:
        """If the cache is too large, remove the least recently used files until a tenth is free.

        Files without a row are removed first. The file `keep` stays.
        """
        (total,) = connection.execute("SELECT TOTAL(size) FROM cached").fetchone()
        if total <= self._limit:
            return
        rows = connection.execute("SELECT label, uri, size FROM cached").fetchall()
        known = {
            cache_path(self.folder, label, decode_uri(key)): (label, key, size) for label, key, size in rows
        }
        for path in self._files() - known.keys():  # a file without a row
            _remove(path)
        for path in sorted(known.keys() - {keep}, key=_used):
            if total <= self._limit * 9 // 10:
                break
            label, key, size = known[path]
            connection.execute("DELETE FROM cached WHERE label = ? AND uri = ?", (label, key))
            _remove(path)
            total -= size

    def _drop(self, label: str, uri: str, path: Path) -> None:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM cached WHERE label = ? AND uri = ?", (label, encode_uri(uri)))
            _remove(path)

    def _make_staging(self) -> None:
        for folder in (self.folder, self._staging):
            folder.mkdir(exist_ok=True, mode=_PRIVATE_DIR_MODE)

    def _label_folders(self) -> list[Path]:
        return [folder for folder in self.folder.glob("*") if folder != self._staging]

    def _files(self) -> set[Path]:
        return {file for folder in self._label_folders() for file in folder.glob("*")}


def _remove(path: Path) -> None:
    with suppress(OSError):  # the row is deleted in any case
        path.unlink()


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # rows without a file are removed first
        return 0.0
