"""What may come out of an archive, of whatever form: which names, and how much."""

import stat
from collections.abc import Callable
from dataclasses import dataclass

from skillwire.core.names import fold_path, parent_paths, portable_fault
from skillwire.errors import SkillwireError
from skillwire.safe_text import quoted

# What is said of both forms in the same words.
DAMAGED = "is damaged"
TRUNCATED = "is cut short"
TRAILING_DATA = "goes on after its end"
SYMLINK = "is a symbolic link"
NOT_FILE_OR_FOLDER = "is neither a file nor a folder"
FILE_AND_FOLDER = "is both a file and a folder"


class ArchiveError(SkillwireError):
    """An archive that is refused, all of it. The message reads after the name of the archive."""

    def __init__(self, fault: str, entry: str | None = None) -> None:
        super().__init__(fault if entry is None else f"holds {quoted(entry)}, which {fault}")


@dataclass(frozen=True, slots=True)
class ArchiveBounds:
    """How much may come out of an archive."""

    bytes: int = 16 * 1024 * 1024
    """Bytes of all its files together."""
    entries: int = 512
    """Files and folders that it names."""

    @property
    def packed(self) -> int:
        """Bytes of the archive itself: its files, and what it takes to tell of them."""
        return self.bytes + self.entries * 4096 + 65_536


class UnpackedFiles:
    """What came out of an archive so far, and how much more may."""

    def __init__(self, bounds: ArchiveBounds) -> None:
        self.bounds = bounds
        self.files: dict[str, bytes] = {}
        self.executable: set[str] = set()
        """The paths of the files that their owner may run."""
        self._left = bounds.bytes
        self._entries = 0
        self._known: dict[str, tuple[str, bool]] = {}
        """How each path is spelled and whether it is a folder, by what another file system makes of it."""

    def count(self) -> None:
        self._entries += 1
        if self._entries > self.bounds.entries:
            raise ArchiveError(f"holds more than {self.bounds.entries:,} files and folders")

    def add_folder(self, name: str, size: int) -> None:
        if size:
            raise ArchiveError("is a folder with content", name)
        if name not in {".", "./"}:  # the root, as tar writes it
            self._claim(_path_of(name.removesuffix("/")), folder=True)

    def add_file(self, name: str, read: Callable[[int], bytes], mode: int = 0) -> None:
        """Add what `read` returns. It is told how many bytes are left, and stops soon after."""
        path = _path_of(name)
        self._claim(path, folder=False)
        content = read(self._left)
        if len(content) > self._left:
            raise ArchiveError(f"holds files of more than {self.bounds.bytes:,} bytes together")
        self._left -= len(content)
        self.files[path] = content
        if mode & stat.S_IXUSR:
            self.executable.add(path)

    def _claim(self, path: str, *, folder: bool) -> None:
        """Note what stands at `path`, and the folders on the way; raise if something else stands there."""
        for each, is_folder in (*((above, True) for above in parent_paths(path)), (path, folder)):
            known = self._known.setdefault(fold_path(each), (each, is_folder))
            if known[0] != each:
                raise ArchiveError(f"some machines cannot tell from {quoted(known[0])}", each)
            if known[1] != is_folder:
                raise ArchiveError(FILE_AND_FOLDER, each)
        if path in self.files:
            raise ArchiveError("is there twice", path)


def utf8_name(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")  # what cannot be decoded is told, and refused, by its name


def _path_of(name: str) -> str:
    """Return where an entry of this name stands below the root, or raise if it may stand nowhere."""
    path = name.removeprefix("./")
    if fault := portable_fault(path):
        raise ArchiveError(fault, name)
    return path
