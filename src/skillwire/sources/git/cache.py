"""What is kept of one repository between runs: a clone, the folders that are served, which was the last."""

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
"""A private repository is nobody else's to read."""
_RECORD = "last-"
_COMMIT = re.compile(r"[0-9a-f]{40,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LastServed:
    """What was served last of one folder at one ref, and what before that."""

    ref: str
    path: str
    commit: str
    previous: str = ""
    submodules: tuple[str, ...] = ()
    """Folders that are empty here, because they are repositories of their own."""

    @classmethod
    def from_json(cls, content: bytes) -> Self | None:
        """Return what was written, or None if it is not what `to_json` writes."""
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
        """Return which commit was served before `commit`."""
        return self.previous if commit == self.commit else self.commit


class GitCache:
    """The folder of one repository, whatever path and ref of it are served."""

    def __init__(self, cache: Path, url: str) -> None:
        self.folder = cache / "git" / hashlib.sha256(url.encode()).hexdigest()[:32]
        self.clone = self.folder / "clone.git"

    def make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_DIR_MODE)

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[tuple[int, ...]]:
        """Keep every other writer waiting, in this process and in others; yield the lock.

        A program that inherits the lock keeps it for as long as it runs, even if this process is killed.
        """
        with FileLock(self.folder / "lock", create=True) as lock:
            await lock.acquire()
            yield lock.descriptors

    def checkout(self, commit: str, path: str) -> Path:
        """Return where `path` of a commit is checked out, once it is."""
        part = f"-{_short_hash(path)}" if path else ""
        return self.folder / f"commit-{commit}{part}"

    def record(self, ref: str, path: str) -> LastServed | None:
        try:
            record = LastServed.from_json(self._record_file(ref, path).read_bytes())
        except OSError:
            return None
        return record if record and (record.ref, record.path) == (ref, path) else None

    def write(self, record: LastServed) -> None:
        """Remember what is served, in one step. Raises `OSError`."""
        replace_file(self._record_file(record.ref, record.path), record.to_json(), private=True)

    def stage(self) -> Path:
        """Return a new folder for what is not complete yet. If it is left behind, `sweep` removes it."""
        return temporary_folder(self.folder)

    def sweep(self) -> None:
        """Remove what a killed process left behind. Only under the lock: nobody else is at work then."""
        remove_abandoned(self.folder, seconds=0)
        for lock in self.clone.rglob("*.lock"):
            lock.unlink(missing_ok=True)
        for half in (self.clone / "objects" / "pack").glob("tmp_*"):
            half.unlink(missing_ok=True)

    def prune(self) -> None:
        """Remove every checkout but those in use, and the last two of each folder and ref."""
        kept = {
            self.checkout(commit, record.path)
            for record in self._records()
            for commit in (record.commit, record.previous)
        }
        for folder in self.folder.glob("commit-*"):
            if folder not in kept and not is_in_use(folder):
                remove_folder(folder)

    def clone_size(self) -> int:
        """Return how many bytes of packed content there are, those that are arriving included."""
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
    except FileNotFoundError:  # it got its final name meanwhile
        return 0


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
