"""Limits and path rules for unpacking archives of any format."""

import stat
from collections.abc import Callable
from dataclasses import dataclass

from skillwire.core.names import collision_key, parent_paths, portable_fault
from skillwire.errors import SkillwireError
from skillwire.safe_text import quoted

# Messages that both formats use.
DAMAGED = "is damaged"
TRUNCATED = "is cut short"
TRAILING_DATA = "contains data after its end"
SYMLINK = "is a symbolic link"
NOT_FILE_OR_FOLDER = "is neither a file nor a folder"
FILE_AND_FOLDER = "is both a file and a folder"


class ArchiveError(SkillwireError):
    """An archive is refused as a whole. The message completes a sentence whose subject is the archive."""

    def __init__(self, fault: str, entry: str | None = None) -> None:
        super().__init__(fault if entry is None else f"contains {quoted(entry)}, which {fault}")


@dataclass(frozen=True, slots=True)
class ArchiveBounds:
    """Limits for an archive and the files in it."""

    bytes: int = 16 * 1024 * 1024
    """Maximum total size of the files, in bytes."""
    entries: int = 512
    """Maximum number of files and folders."""

    @property
    def packed(self) -> int:
        """Maximum size of the archive itself, in bytes. An archive contains headers besides the files."""
        return self.bytes + self.entries * 4096 + 65_536


class UnpackedFiles:
    """The files that were unpacked from an archive so far. Each new file is checked against the limits."""

    def __init__(self, bounds: ArchiveBounds) -> None:
        self.bounds = bounds
        self.files: dict[str, bytes] = {}
        self.executable: set[str] = set()
        """The paths of executable files."""
        self._left = bounds.bytes
        self._entries = 0
        self._known: dict[str, tuple[str, bool]] = {}
        """Each path, and whether it is a folder. The keys are the results of `collision_key`."""

    def count(self) -> None:
        self._entries += 1
        if self._entries > self.bounds.entries:
            raise ArchiveError(f"contains more than {self.bounds.entries:,} files and folders")

    def add_folder(self, name: str, size: int) -> None:
        if size:
            raise ArchiveError("is a folder with content", name)
        if name not in {".", "./"}:  # the root, as tar writes it
            self._claim(_path_of(name.removesuffix("/")), folder=True)

    def add_file(self, name: str, read: Callable[[int], bytes], mode: int = 0) -> None:
        """Add a file, whose content `read` returns. Raises `ArchiveError`.

        `read` is called with the number of bytes that the limit still allows. If `read` returns more bytes,
        the limit is exceeded.
        """
        path = _path_of(name)
        self._claim(path, folder=False)
        content = read(self._left)
        if len(content) > self._left:
            raise ArchiveError(f"contains files of more than {self.bounds.bytes:,} bytes together")
        self._left -= len(content)
        self.files[path] = content
        if mode & stat.S_IXUSR:
            self.executable.add(path)

    def _claim(self, path: str, *, folder: bool) -> None:
        """Record `path` and the folders above it. Raises `ArchiveError` if an earlier path conflicts."""
        for each, is_folder in (*((above, True) for above in parent_paths(path)), (path, folder)):
            known = self._known.setdefault(collision_key(each), (each, is_folder))
            if known[0] != each:
                raise ArchiveError(f"some systems cannot distinguish from {quoted(known[0])}", each)
            if known[1] != is_folder:
                raise ArchiveError(FILE_AND_FOLDER, each)
        if path in self.files:
            raise ArchiveError("is there twice", path)


def utf8_name(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")  # undecodable names are reported and refused later


def _path_of(name: str) -> str:
    """Return the path of an entry below the root. Raises `ArchiveError` if the path is not allowed."""
    path = name.removeprefix("./")
    if fault := portable_fault(path):
        raise ArchiveError(fault, name)
    return path
