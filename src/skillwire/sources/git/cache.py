"""The cache of one repository: a clone, the checked out folders, and a record of the commits served last."""

import hashlib
import json
import os
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from skillwire.core.atomic_write import remove_abandoned, remove_folder, replace_file, temporary_folder
from skillwire.core.file_lock import FileLock, is_in_use

_PRIVATE_DIR_MODE = 0o700
"""Mode of the cache folder. The repository may be private, so other users must not read the cache."""
_RECORD = "last-"
_COMMIT = re.compile(r"[0-9a-f]{40,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LastServed:
    """The commit that was served last for one folder and ref, and the commit before it."""

    ref: str
    path: str
    commit: str
    previous: str = ""
    submodules: tuple[str, ...] = ()
    """Paths of submodules. These folders are empty in the checkout."""

    @classmethod
    def from_json(cls, content: bytes) -> Self | None:
        """Parse the JSON from `to_json`. Return None if it is invalid."""
        try:
            value: dict[str, str | list[str]] = json.loads(content)
        except (ValueError, RecursionError):
            return None
        match value:
            case {
                "ref": str(ref),
                "path": str(path),
                "commit": str(commit),
                "previous": str(previous),
                "submodules": [*submodules],
            } if _COMMIT.fullmatch(commit) and _COMMIT.fullmatch(previous or commit):
                return cls(ref, path, commit, previous, tuple(map(str, submodules)))
            case _:
                return None

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1).encode()

    def previous_commit(self, commit: str) -> str:
        """Return the commit that was served before `commit`; empty if there was none."""
        return self.previous if commit == self.commit else self.commit


class GitCache:
    """The cache folder of one repository, shared by all its paths and refs."""

    def __init__(self, cache: Path, url: str) -> None:
        self.folder = cache / "git" / hashlib.sha256(url.encode()).hexdigest()[:32]
        self.clone = self.folder / "clone.git"

    def make(self) -> None:
        """Create the folder if it does not exist."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_DIR_MODE)

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[tuple[int, ...]]:
        """Hold the lock against writers in this and other processes. Yields the lock's file descriptors.

        A child process that inherits the descriptors keeps the lock until it ends, even if this process is
        killed.
        """
        with FileLock(self.folder / "lock", create=True) as lock:
            await lock.acquire()
            yield lock.descriptors

    def checkout(self, commit: str, path: str) -> Path:
        """Return the folder for the checkout of `path` at a commit. It exists only if it is complete."""
        part = f"-{_short_hash(path)}" if path else ""
        return self.folder / f"commit-{commit}{part}"

    def record(self, ref: str, path: str) -> LastServed | None:
        """Return the record of a ref and path, or None if there is no valid one."""
        try:
            record = LastServed.from_json(self._record_file(ref, path).read_bytes())
        except OSError:
            return None
        return record if record and (record.ref, record.path) == (ref, path) else None

    def write(self, record: LastServed) -> None:
        """Write a record atomically. Raises `OSError`."""
        replace_file(self._record_file(record.ref, record.path), record.to_json(), private=True)

    def stage(self) -> Path:
        """Create a temporary folder. If it is left behind, `sweep` removes it."""
        return temporary_folder(self.folder)

    def sweep(self) -> None:
        """Remove leftovers of killed processes. Call it only while holding the lock."""
        remove_abandoned(self.folder, seconds=0)
        for lock in self.clone.rglob("*.lock"):
            lock.unlink(missing_ok=True)
        for partial in (self.clone / "objects" / "pack").glob("tmp_*"):
            partial.unlink(missing_ok=True)

    def prune(self) -> None:
        """Remove every checkout except checkouts in use and the last two checkouts of each folder and ref."""
        recorded = {
            self.checkout(commit, record.path)
            for record in self._records()
            for commit in (record.commit, record.previous)
        }
        for folder in self.folder.glob("commit-*"):
            if folder not in recorded and not is_in_use(folder):
                remove_folder(folder)

    def clone_size(self) -> int:
        """Return the size of all pack files in bytes, including files that are being downloaded."""
        with suppress(FileNotFoundError), os.scandir(self.clone / "objects" / "pack") as found:
            return sum(_size(each) for each in found)
        return 0

    def _records(self) -> Iterator[LastServed]:
        for file in self.folder.glob(f"{_RECORD}*.json"):
            if (record := LastServed.from_json(file.read_bytes())) is not None:
                yield record

    def _record_file(self, ref: str, path: str) -> Path:
        return self.folder / f"{_RECORD}{_short_hash(f'{ref}#{path}')}.json"


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except FileNotFoundError:  # renamed to its final name in the meantime
        return 0


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
