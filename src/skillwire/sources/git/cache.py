"""What is kept of one repository between runs: a clone, the folders that are served, which was the last."""

import errno
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp
from typing import Self

import anyio

from skillwire.core.atomic_write import is_held

if sys.platform != "win32":
    import fcntl

_OURS_ALONE = 0o700
"""A private repository is nobody else's to read."""
_STAGING = "staging-"
_RECORD = "last-"
_LOCK_SECONDS = 0.02
_BUSY = frozenset({errno.EWOULDBLOCK, errno.EACCES})
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

    def followed_by(self, commit: str) -> str:
        """Return which commit was served before `commit`."""
        return self.previous if commit == self.commit else self.commit


class GitCache:
    """The folder of one repository, whatever path and ref of it are served."""

    def __init__(self, cache: Path, url: str) -> None:
        self.folder = cache / "git" / hashlib.sha256(url.encode()).hexdigest()[:32]
        self.clone = self.folder / "clone.git"

    def make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=_OURS_ALONE)

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[tuple[int, ...]]:
        """Keep every other writer waiting, in this process and in others; yield the lock.

        A program that inherits the lock keeps it for as long as it runs, even if this process is killed.
        """
        if sys.platform == "win32":  # without locks: there, one process serves one repository
            yield ()
            return
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _try_lock(descriptor):  # noqa: ASYNC110 - another process sets no event of ours
                await anyio.sleep(_LOCK_SECONDS)
            yield (descriptor,)
        finally:
            with suppress(OSError):
                fcntl.flock(
                    descriptor, fcntl.LOCK_UN
                )  # also where a program that was left behind has it open
            os.close(descriptor)

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
        with NamedTemporaryFile(dir=self.folder, prefix=_STAGING, delete=False) as file:
            file.write(record.to_json())
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._record_file(record.ref, record.path))

    def stage(self) -> Path:
        """Return a new folder for what is not complete yet."""
        return Path(mkdtemp(prefix=_STAGING, dir=self.folder))

    def remove(self, folder: Path) -> None:
        """Remove a folder. Even if this is cut short, nobody takes what is left of it for the whole."""
        aside = self.stage() / "removed"
        with suppress(FileNotFoundError):
            folder.rename(aside)
        shutil.rmtree(aside.parent, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what a killed process left behind. Only under the lock: nobody else is at work then."""
        for left in self.folder.glob(f"{_STAGING}*"):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
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
            if folder not in kept and not is_held(folder):
                self.remove(folder)

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


def _try_lock(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _BUSY  # some network file systems have no locks: there, the last one wins
    return True


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except FileNotFoundError:  # it got its final name meanwhile
        return 0


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
