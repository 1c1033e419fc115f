"""A zip or tar.gz file on this machine: unpacked into the cache, and served as a folder from there."""

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
"""Wider than for one skill: it may hold many, and each is held to its own limits later."""

_POLL_SECONDS = 1.0
_RETENTION_SECONDS = 7 * 24 * 3600
"""How long a copy stays that nobody wants any more: a server that was told not to look again may use it."""
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_MACOS_FOLDER = "__MACOSX/"
"""Where macOS puts what only it understands, beside what was packed."""


class ArchiveSource(FetchedSource):
    """The skills of a zip or tar.gz file, unpacked again whenever the file changes."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        label: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
        live: bool = False,
    ) -> None:
        """Unpack into `cache`, or the platform's cache folder. With `live`, the file may appear later."""
        folder = cache_folder_from(os.environ) if cache is None else Path(cache)
        name = label or Path(path).name.removesuffix(".gz").rpartition(".")[0] or "skills"
        super().__init__(ArchiveFetcher(path, folder), label=name, limits=limits, live=live)


class ArchiveFetcher(Fetcher):
    """Unpacks one archive, and again whenever the file is another."""

    def __init__(
        self, path: str | os.PathLike[str], cache: Path, bounds: ArchiveBounds = LOCAL_ARCHIVE_BOUNDS
    ) -> None:
        self.place = os.fspath(path)
        self._path = Path(path).absolute()
        self._bounds = bounds
        self._copies = _SnapshotStore(cache / "archives", self._path)
        self._seen: Stamp | None = None
        """The file at the last look; None while there is none."""

    async def fetch(self) -> Snapshot:
        return await anyio.to_thread.run_sync(self._fetch)

    def last(self) -> Snapshot | None:
        return self._copies.last()

    async def changes(self, every: float) -> AsyncGenerator[None]:
        """Yield whenever the file is another: asking for that costs nothing, so it is done every second."""
        while True:
            await anyio.sleep(min(every, _POLL_SECONDS))
            now = await anyio.to_thread.run_sync(_read_stamp, self._path)
            if now != self._seen:
                self._seen = now
                yield

    def _fetch(self) -> Snapshot:
        name = self._path.name
        self._seen = _read_stamp(self._path)  # before it is read: what is written meanwhile is a change
        if (form := detect_archive_format(name)) is None:
            raise SourceError(f"{quoted(name)} is neither a `.zip` nor a `.tar.gz` file")
        if self._seen is None:
            raise SourceMissingError(f"{quoted(name)} is not there, or cannot be reached")
        try:
            content, _ = read_file(os.fspath(self._path), self._bounds.packed)
            digest = hashlib.sha256(content).hexdigest()
            root = self._copies.find(digest)
            if root is None:
                unpacked = unpack_with_modes(content, form, self._bounds)
                paths = _strip_common_folder(unpacked.files)
                files = {path: unpacked.files[inside] for path, inside in paths.items()}
                executable = {path for path, inside in paths.items() if inside in unpacked.executable}
                root = self._copies.add(digest, _folder_name(files, name), files, executable)
            self._copies.remember(digest)
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
    """Return the paths of an archive, by those without the one folder around all, as in what GitHub packs."""
    found = {path: path for path in paths if not path.startswith(_MACOS_FOLDER)}
    tops = {path.partition("/")[0] for path in found if "/" in path}
    if len(tops) != 1 or not all("/" in path for path in found):
        return found
    (top,) = tops
    if IgnoreRules().by_name(top):  # what would be left out stays left out
        return found
    return {path.removeprefix(f"{top}/"): path for path in found}


def _folder_name(files: Mapping[str, bytes], archive: str) -> str:
    """Return the name of the folder to unpack into: for a skill at the root, its own (S4)."""
    content = files.get(SKILL_FILE, files.get(SKILL_FILE.lower()))
    if content is None:
        return "skills"
    name = (read_document(content, SKILL_FILE, None).frontmatter or {}).get("name")
    if isinstance(name, str) and is_skill_name(name):
        return name
    return suggest_name(archive.partition(".")[0]) or "skill"


class _SnapshotStore:
    """Unpacked archives in the cache, each in a folder named by its digest, and a note of ours among them.

    A folder that has such a name is complete. The note says which copy of our archive is the newest, and
    which was before it. Other processes that serve the same archive write the same note.
    """

    def __init__(self, folder: Path, archive: Path) -> None:
        self._folder = folder
        self._note = folder / f"{hashlib.sha256(os.fsencode(archive)).hexdigest()[:32]}.note"

    def find(self, digest: str) -> Path | None:
        """Return the root of a complete copy."""
        try:
            return next((root for root in sorted((self._folder / digest).iterdir()) if root.is_dir()), None)
        except OSError:
            return None

    def last(self) -> Snapshot | None:
        found = ((self.find(digest), digest) for digest in _read_note(self._note))
        copies = (Snapshot(root, digest, folder=root.parent) for root, digest in found if root is not None)
        return next(copies, None)

    def add(
        self, digest: str, name: str, files: Mapping[str, bytes], executable: Collection[str] = ()
    ) -> Path:
        """Write a copy, and give it its name when it is complete. Raises `OSError`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            with staging_folder(self._folder) as staged:
                _write(staged / name, files, executable)
                staged.rename(self._folder / digest)
        except OSError:
            if self.find(digest) is None:
                raise
        # Where another process was faster, its copy is as good as ours.
        return self.find(digest) or self._folder / digest / name

    def remember(self, digest: str) -> None:
        """Note that a copy is the newest, and clean up. Raises `OSError`."""
        noted = _read_note(self._note)
        if noted[:1] == [digest]:
            return
        newest, *before = dict.fromkeys([digest, *noted])
        note = "\n".join([newest, *before[:1], ""]).encode()
        replace_file(self._note, note, private=True, durable=False)
        for unwanted in before[1:]:
            with suppress(OSError):
                os.utime(self._folder / unwanted)  # its time runs from now on
        with suppress(OSError):  # another process may be cleaning up as well
            self._clean_up()

    def _clean_up(self) -> None:
        """Remove the copies that no note has named for long, and what a crash left behind."""
        notes = list(self._folder.glob("*.note"))
        kept = {note.name for note in notes} | {digest for note in notes for digest in _read_note(note)}
        for path in self._folder.iterdir():
            if (
                path.name in kept
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
            os.fsync(file.fileno())  # or the copy may have its name before its content after a crash
