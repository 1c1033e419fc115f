"""`ArchiveSource`: a zip or tar.gz file, which is unpacked into the cache and served from there."""

import hashlib
import os
import re
import time
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from skillwire.core.atomic_write import remove_folder, replace_file, staging_folder
from skillwire.core.file_lock import is_in_use
from skillwire.core.names import SKILL_FILE, is_skill_name, suggest_name
from skillwire.core.record import Limits
from skillwire.errors import SourceBusyError, SourceError, SourceMissingError
from skillwire.frontmatter.document import read_document
from skillwire.protocol.archive_rules import ArchiveBounds, ArchiveError
from skillwire.protocol.delivery import detect_archive_format
from skillwire.protocol.unpacking import unpack_with_modes
from skillwire.safe_text import quoted
from skillwire.sources.cache_folder import cache_folder_from
from skillwire.sources.fetched import FetchedSource, Fetcher, Snapshot
from skillwire.sources.folder.files import Stamp, make_executable, raise_if_exhausted, read_file
from skillwire.sources.folder.ignore import IgnoreRules

LOCAL_ARCHIVE_BOUNDS = ArchiveBounds(bytes=256 * 1024 * 1024, entries=10_000)
"""Limits for an archive.

They exceed the limits of one skill, because an archive may contain many skills, which are checked later.
"""

_POLL_SECONDS = 1.0
_RETENTION_SECONDS = 7 * 24 * 3600
"""Seconds for which an outdated snapshot is kept, because a server that does not watch for changes may still
use it.
"""
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_MACOS_FOLDER = "__MACOSX/"
"""The start of the paths of metadata that macOS adds to archives."""


class ArchiveSource(FetchedSource):
    """The skills in a zip or tar.gz file. The file is unpacked again whenever it changes."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        label: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
        live: bool = False,
    ) -> None:
        """Serve the archive at `path`.

        It is unpacked into `cache`, which defaults to the platform's cache folder. With `live`, the last good
        snapshot is served at once, and the newest snapshot when it is unpacked. Raises `PlatformError` on
        Windows.
        """
        folder = cache_folder_from(os.environ) if cache is None else Path(cache)
        name = label or Path(path).name.removesuffix(".gz").rpartition(".")[0] or "skills"
        super().__init__(ArchiveFetcher(path, folder), label=name, limits=limits, live=live)


class ArchiveFetcher(Fetcher):
    """Unpacks one archive, and unpacks it again whenever the file changes."""

    def __init__(
        self, path: str | os.PathLike[str], cache: Path, bounds: ArchiveBounds = LOCAL_ARCHIVE_BOUNDS
    ) -> None:
        self.place = os.fspath(path)
        self._path = Path(path).absolute()
        self._bounds = bounds
        self._snapshots = _SnapshotStore(cache / "archives", self._path)
        self._last_stamp: Stamp | None = None
        """The stamp of the file when it was last checked; None if there was no file."""

    async def fetch(self) -> Snapshot:
        return await anyio.to_thread.run_sync(self._fetch)

    def last(self) -> Snapshot | None:
        return self._snapshots.last()

    async def changes(self, every: float) -> AsyncGenerator[None]:
        """Yield when the file changes. It is checked after `every` seconds, but at least once a second."""
        while True:
            await anyio.sleep(min(every, _POLL_SECONDS))
            now = await anyio.to_thread.run_sync(_read_stamp, self._path)
            if now != self._last_stamp:
                self._last_stamp = now
                yield

    def _fetch(self) -> Snapshot:
        name = self._path.name
        self._last_stamp = _read_stamp(
            self._path
        )  # taken before reading, so that a write during the read counts as a change
        if (form := detect_archive_format(name)) is None:
            raise SourceError(f"{quoted(name)} is neither a `.zip` nor a `.tar.gz` file")
        if self._last_stamp is None:
            raise SourceMissingError(f"{quoted(name)} does not exist, or cannot be read")
        try:
            content, _ = read_file(os.fspath(self._path), self._bounds.packed)
            digest = hashlib.sha256(content).hexdigest()
            root = self._snapshots.find(digest)
            if root is None:
                unpacked = unpack_with_modes(content, form, self._bounds)
                paths = _strip_common_folder(unpacked.files)
                files = {path: unpacked.files[inside] for path, inside in paths.items()}
                executable = {path for path, inside in paths.items() if inside in unpacked.executable}
                root = self._snapshots.add(digest, _folder_name(files, name), files, executable)
            self._snapshots.remember(digest)
        except SourceBusyError:
            raise
        except (SourceError, ArchiveError) as error:
            raise SourceError(f"{quoted(name)} {error}") from error
        except OSError as error:
            raise_if_exhausted(error)
            reason = (error.strerror or type(error).__name__).lower()
            raise SourceError(f"{quoted(name)} cannot be unpacked into the cache: {reason}") from error
        return Snapshot(root, digest, folder=root.parent)


def _read_stamp(path: Path) -> Stamp | None:
    try:
        return Stamp.of(path.stat())
    except OSError:
        return None


def _strip_common_folder(paths: Iterable[str]) -> dict[str, str]:
    """Map the paths of the files to unpack to their paths in the archive.

    If all files are in one top folder, as in archives from GitHub, the folder is removed from their paths.
    Metadata of macOS is left out.
    """
    found = {path: path for path in paths if not path.startswith(_MACOS_FOLDER)}
    tops = {path.partition("/")[0] for path in found if "/" in path}
    if len(tops) != 1 or not all("/" in path for path in found):
        return found
    (top,) = tops
    if IgnoreRules().by_name(top):  # keep the name, so that the content of the folder is still left out
        return found
    return {path.removeprefix(f"{top}/"): path for path in found}


def _folder_name(files: Mapping[str, bytes], archive: str) -> str:
    """Return the name of the folder for unpacking: `skills`, unless a skill is at the root of the archive.

    In that case, it is the skill's name (S4) or, if that is invalid, a name derived from the archive's name.
    """
    content = files.get(SKILL_FILE, files.get(SKILL_FILE.lower()))
    if content is None:
        return "skills"
    name = (read_document(content, SKILL_FILE, None).frontmatter or {}).get("name")
    if isinstance(name, str) and is_skill_name(name):
        return name
    return suggest_name(archive.partition(".")[0]) or "skill"


class _SnapshotStore:
    """Unpacked archives in the cache, each in a folder named by digest, and a note about one archive.

    A folder with such a name is always complete. The note contains the digests of the archive's newest and
    previous snapshots. Other processes that serve the same archive write the same note.
    """

    def __init__(self, folder: Path, archive: Path) -> None:
        self._folder = folder
        self._note = folder / f"{hashlib.sha256(os.fsencode(archive)).hexdigest()[:32]}.note"

    def find(self, digest: str) -> Path | None:
        """Return the root of the snapshot with this digest, or None if it is not in the cache."""
        try:
            return next((root for root in sorted((self._folder / digest).iterdir()) if root.is_dir()), None)
        except OSError:
            return None

    def last(self) -> Snapshot | None:
        found = ((self.find(digest), digest) for digest in _read_note(self._note))
        snapshots = (Snapshot(root, digest, folder=root.parent) for root, digest in found if root is not None)
        return next(snapshots, None)

    def add(
        self, digest: str, name: str, files: Mapping[str, bytes], executable: Collection[str] = ()
    ) -> Path:
        """Write a snapshot and rename it when it is complete. Return its root. Raises `OSError`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            with staging_folder(self._folder) as staged:
                _write(staged / name, files, executable)
                staged.rename(self._folder / digest)
        except OSError:
            if self.find(digest) is None:
                raise
        # If another process was faster, its snapshot has the same content.
        return self.find(digest) or self._folder / digest / name

    def remember(self, digest: str) -> None:
        """Record the digest of the newest snapshot and, if it is new, clean up. Raises `OSError`."""
        digests = _read_note(self._note)
        if digests[:1] == [digest]:
            return
        newest, *before = dict.fromkeys([digest, *digests])
        note = "\n".join([newest, *before[:1], ""]).encode()
        replace_file(self._note, note, private=True, durable=False)
        for outdated in before[1:]:
            with suppress(OSError):
                os.utime(self._folder / outdated)  # the retention time starts now
        with suppress(OSError):  # another process may be cleaning up as well
            self._clean_up()

    def _clean_up(self) -> None:
        """Remove snapshots that no note has named for a long time, and leftovers of a crash."""
        notes = list(self._folder.glob("*.note"))
        current = {note.name for note in notes} | {digest for note in notes for digest in _read_note(note)}
        for path in self._folder.iterdir():
            if (
                path.name in current
                or is_in_use(path)
                or time.time() - path.stat().st_mtime < _RETENTION_SECONDS
            ):
                continue
            if path.is_dir():
                remove_folder(path)
            else:
                path.unlink()


def _read_note(note: Path) -> list[str]:
    try:
        return _DIGEST.findall(note.read_text(encoding="ascii", errors="replace"))
    except OSError:
        return []


def _write(root: Path, files: Mapping[str, bytes], executable: Collection[str]) -> None:
    root.mkdir()
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(content)
            file.flush()
            if path in executable:
                make_executable(file.fileno())
            os.fsync(file.fileno())  # makes sure that a renamed snapshot is complete even after a crash
