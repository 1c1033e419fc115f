"""Index files in the cache folder.

A file is written once, under a name that contains the digest of its content, and never changed. So processes
share it without locks, and a damaged file is recognized before it is used.
"""

import hashlib
import re
import stat
import unicodedata
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Error

from skillwire import __version__
from skillwire.core.atomic_write import remove_abandoned, staging_folder
from skillwire.core.file_lock import FileLock
from skillwire.search.segments import FORMAT, Segments
from skillwire.sources.base import Source

_NAME = re.compile(r"[0-9a-f]{32}-[0-9a-f]{64}\.db")
WAIT_SECONDS = 60.0
"""Seconds to wait for another process that builds the same index."""
_MAX_FILES = 64
"""Maximum number of index files in the cache folder. The least recently used are removed first."""


class IndexStore:
    """The index files of one set of sources."""

    def __init__(self, folder: Path, sources: Iterable[Source]) -> None:
        """Create a store in `folder`, which is created when it is needed."""
        self._folder = folder
        named = [f"{type(each).__name__}\0{each.label}\0{each.place}" for each in sources]
        # Words depend on the version of Unicode.
        versions = [str(FORMAT), __version__, unicodedata.unidata_version]
        self._key = hashlib.sha256("\n".join([*versions, *named]).encode()).hexdigest()[:32]

    def load(self) -> Segments | None:
        """Return the newest stored index, or None if there is none that can be used."""
        with suppress(OSError):
            for path in sorted(self._files(f"{self._key}-*.db"), key=_modified, reverse=True):
                if (segments := _load(path)) is not None:
                    return segments
        return None

    @contextmanager
    def staged(self) -> Generator["StagedIndex"]:
        """Yield a new index file, which is removed unless it is kept. Raises `OSError`."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with staging_folder(self._folder) as staging:
            path = staging / "index.db"
            path.touch(mode=0o600)
            staged = StagedIndex(self, path)
            try:
                yield staged
            finally:
                staged.segments.close()

    def keep(self, path: Path) -> Segments:
        """Store a finished index file, and return it."""
        final = self._folder / f"{self._key}-{_digest(path)}.db"
        path.replace(final)
        loaded = Segments.load(final)
        self._remove_others(final)
        return loaded

    def lock(self) -> FileLock | None:
        """Return a lock on building this index, which is not held yet; None if the folder has no locks."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return FileLock(self._folder / f"{self._key}.lock", create=True)
        except OSError:
            return None

    def remove(self) -> None:
        """Remove the stored indexes of these sources."""
        with suppress(OSError):
            for path in self._files(f"{self._key}-*.db"):
                path.unlink(missing_ok=True)

    def _remove_others(self, newest: Path) -> None:
        """Remove older indexes of the same sources, and of sources that were not used for a long time."""
        with suppress(OSError):
            remove_abandoned(self._folder)
            for path in self._files(f"{self._key}-*.db"):
                if path != newest:
                    path.unlink(missing_ok=True)
            for path in sorted(self._files("*.db"), key=_modified, reverse=True)[_MAX_FILES:]:
                path.unlink(missing_ok=True)

    def _files(self, pattern: str) -> list[Path]:
        return [path for path in self._folder.glob(pattern) if _NAME.fullmatch(path.name)]


class StagedIndex:
    """An index file that is being written."""

    def __init__(self, store: IndexStore, path: Path) -> None:
        self._store, self._path = store, path
        self.segments = Segments(path)

    def keep(self) -> Segments:
        """Close and store the file, and return it for reading. Raises `OSError` or `sqlite3.Error`."""
        self.segments.close()
        return self._store.keep(self._path)


def _load(path: Path) -> Segments | None:
    """Return a stored index. Remove the file and return None if it is damaged or cannot be read."""
    try:
        # Anything else, such as a pipe or a link, may never end.
        if stat.S_ISREG(path.lstat().st_mode) and path.stem.partition("-")[2] == _digest(path):
            segments = Segments.load(path)
            with suppress(OSError):
                path.touch()  # the least recently used files are removed first
            return segments
    except (OSError, Error):
        pass
    with suppress(OSError):
        path.unlink(missing_ok=True)
    return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process removed it
        return 0.0
