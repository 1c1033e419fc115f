"""Read a plain skill folder in one pass.

A plain folder contains one skill, simple names, no links, and no problems except warnings about the text of
`SKILL.md`. Most skill folders are plain. The result is the same as from `reader.read_skill_folder`, which
applies every rule and is slower. That function reads all other folders.
"""

import os
import re
import stat
import time
from functools import lru_cache
from operator import itemgetter
from sys import intern
from typing import TypeAlias

from skillwire.core.mime import is_text, mime_type, mime_type_from_name
from skillwire.core.names import EVALS_FOLDER, SKILL_FILE
from skillwire.core.record import Digest, Origin, SkillFile
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.sources.folder.files import OPEN_FLAGS, OutOfRangeError, pack_settled_stamps, packed
from skillwire.sources.folder.ignore import TOOL_FOLDERS
from skillwire.sources.folder.listing import Folder, folder_identity, is_executable
from skillwire.sources.folder.plain_skill import PlainSkill, plain_record
from skillwire.sources.folder.skill_folder import without_containers
from skillwire.sources.folder.walk import FolderWalk, OpenFolder

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*").fullmatch
_FILE_FLAGS = OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = _FILE_FLAGS | getattr(os, "O_DIRECTORY", 0)
_BY_DESCRIPTOR = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
_MARKER = SKILL_FILE.upper()
_MAX_FOLDERS = 64
"""Maximum number of folders in one skill. Each keeps a file descriptor open while the skill is read."""
_known_type = lru_cache(maxsize=4096)(mime_type_from_name)
"""Returns a MIME type by file name. Cached, because many skills have files with the same names."""
_FileEntry: TypeAlias = tuple[str, os.DirEntry[str], int]
"""The path of a file, its directory entry, and the descriptor of the folder that contains it."""


_path_of = itemgetter(0)


class _NotPlainError(Exception):
    """The folder is not plain, so `read_skill_folder` must read it."""


def read_plain_skill(
    folder_walk: FolderWalk,
    open_folder: OpenFolder,
    before: PlainSkill | None,
    label: str,
    *,
    keep_good: bool,
) -> PlainSkill | None:
    """Read the skill in an open folder. Return None if the folder is not a plain skill folder.

    Files with the same stamps as in `before` are not read again. With `keep_good`, the content of the
    `SKILL.md` is retained as the last good version. `label` is the label of the source.
    """
    folder = open_folder.folder
    if not _BY_DESCRIPTOR or folder_walk.has_patterns or folder.target != folder.location:
        return None
    if SKILL_FILE not in [entry.name for entry in open_folder.entries]:
        return None
    count_before = folder_walk.entry_count
    listing = _Listing(folder_walk, folder)
    try:
        listing.add(open_folder.descriptor, open_folder.status, open_folder.entries, "", folder.trail)
        reader = _Reader(folder_walk, folder, before, keep_good=keep_good)
        entry_count = folder_walk.entry_count - count_before + len(open_folder.entries)
        return reader.read(listing, entry_count, label)
    except (_NotPlainError, OSError, OutOfRangeError):
        folder_walk.entry_count = count_before
        return None
    finally:
        listing.close()


@lru_cache(maxsize=4096)
def _is_plain(name: str) -> bool:
    """Return whether no rule depends on this name.

    Cached, because many skills have files with the same names.
    """
    special = name in TOOL_FOLDERS or name == EVALS_FOLDER or name.upper() == _MARKER
    return not special and _PLAIN_NAME(name) is not None


class _Listing:
    """All files of a skill, and all its folders, which are held open.

    No file is read before all are known to be plain.
    """

    def __init__(self, folder_walk: FolderWalk, folder: Folder) -> None:
        self._folder_walk, self._folder = folder_walk, folder
        self.folders: list[str] = []
        self.statuses: list[os.stat_result] = []
        """The status of the skill's folder, then of each subfolder."""
        self.main: _FileEntry | None = None
        """The `SKILL.md`, or None if none was found."""
        self.files: list[_FileEntry] = []
        """All other files."""
        self._descriptors: list[int] = []

    def add(
        self,
        descriptor: int,
        status: os.stat_result,
        entries: list[os.DirEntry[str]],
        above: str,
        trail: frozenset[tuple[int, int]],
    ) -> None:
        """Add the entries of a folder, then the entries of its subfolders.

        `above` is the prefix of their paths. Raises `_NotPlainError`.
        """
        self.statuses.append(status)
        inner: list[str] = []
        for entry in entries:
            name = entry.name
            is_file = entry.is_file(follow_symlinks=False)
            if _is_plain(name):
                if is_file:
                    if len(self.files) >= self._folder_walk.limits.files:
                        raise _NotPlainError
                    self.files.append((intern(above + name), entry, descriptor))
                elif entry.is_dir(follow_symlinks=False):
                    inner.append(name)
                else:
                    raise _NotPlainError
            elif is_file and name == SKILL_FILE and not above:
                self.main = name, entry, descriptor
            elif not is_file or not name.startswith("."):  # hidden files are never served
                raise _NotPlainError
        if inner:
            trail |= {folder_identity(status)}
        for name in inner:
            self._enter(name, descriptor, above, trail)

    def _enter(
        self, name: str, parent_descriptor: int, above: str, trail: frozenset[tuple[int, int]]
    ) -> None:
        """Open a subfolder relative to its parent's descriptor, never through a link, and add its entries."""
        path = intern(above + name)
        descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=parent_descriptor)
        self._descriptors.append(descriptor)
        status = os.fstat(descriptor)
        too_deep = self._folder.depth + 1 + path.count("/") > self._folder_walk.limits.depth
        mounted = status.st_dev != self._folder.identity[0]  # another file system is mounted there
        if too_deep or mounted or folder_identity(status) in trail or len(self._descriptors) > _MAX_FOLDERS:
            raise _NotPlainError
        with os.scandir(descriptor) as found:
            entries = self._folder_walk.list_entries(found)
        if self._folder_walk.exhausted:
            raise _NotPlainError
        self.folders.append(path)
        self.add(descriptor, status, entries, f"{path}/", trail)

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)


class _Reader:
    """Reads the files of one skill."""

    def __init__(
        self, folder_walk: FolderWalk, folder: Folder, before: PlainSkill | None, *, keep_good: bool
    ) -> None:
        if before is not None and before.location != folder.location:
            before = None  # the folder was renamed, and rules for the document depend on its name
        self._folder, self._before, self._keep_good = folder, before, keep_good
        self._limits = folder_walk.limits
        self._known = {} if before is None else before.known_files()
        self._now = time.time_ns()
        self._left = folder_walk.limits.bytes
        self._files: list[SkillFile] = []
        self._statuses: list[os.stat_result] = []
        """The status of each file, in the same order."""

    def read(self, listing: _Listing, entry_count: int, label: str) -> PlainSkill:
        """Read the files of `listing` and return the skill. Raises `_NotPlainError`."""
        folder, files, main = self._folder, listing.files, listing.main
        if main is None or len(files) >= self._limits.files:
            raise _NotPlainError
        if len({each[0].lower() for each in files}) < len(files):
            raise _NotPlainError
        content = self._read_file(*main)
        document = self._document(content)
        for each in sorted(files, key=_path_of):
            self._read_file(*each)
        own, *inner = listing.statuses
        if inner:
            pairs = sorted(zip(listing.folders, inner, strict=True), key=_path_of)
            listing.folders, inner = [path for path, _ in pairs], [status for _, status in pairs]
        path = folder.path
        where = f"{path}/{SKILL_FILE}" if path else SKILL_FILE
        record = plain_record(
            document,
            without_containers(path),
            tuple(self._files),
            tuple(listing.folders),
            Origin(label, folder.location, where),
        )
        stamps = pack_settled_stamps((own, *inner, *self._statuses), self._now)
        skill = PlainSkill(record, folder.trail, entry_count, stamps, content if self._keep_good else None)
        if content is None and self._before is not None:
            skill.kept = self._before.kept
        return skill

    def _read_file(self, path: str, entry: os.DirEntry[str], parent_descriptor: int) -> bytes | None:
        """Add a file. Return its bytes, or None if it is unchanged and was not read.

        The file is opened relative to its folder's descriptor, never through a link.
        """
        if (known := self._known.get(path)) is not None:
            status = entry.stat(follow_symlinks=False)
            if packed(status) == known[0]:
                self._add(known[1], status)
                return None
        descriptor = os.open(entry.name, _FILE_FLAGS, dir_fd=parent_descriptor)
        try:
            status = os.fstat(descriptor)
            size = status.st_size
            if not stat.S_ISREG(status.st_mode) or size > self._left:
                raise _NotPlainError
            content = os.read(descriptor, size + 1)
        finally:
            os.close(descriptor)
        if len(content) != size:
            raise _NotPlainError
        kind = _known_type(path) or mime_type(path, text=is_text(content))
        self._add(SkillFile(path, kind, Digest.of(content), size, is_executable(status)), status)
        return content

    def _add(self, file: SkillFile, status: os.stat_result) -> None:
        self._left -= file.size
        if self._left < 0:
            raise _NotPlainError
        self._files.append(file)
        self._statuses.append(status)

    def _document(self, content: bytes | None) -> SkillDocument:
        """Return the parsed `SKILL.md`. If `content` is None, the file is unchanged since the last scan."""
        if content is None:
            assert self._before is not None, "only a cached file is not read"
            return self._before.document
        document = read_document(content, self._folder.path_of(SKILL_FILE), self._folder.name)
        if not document.is_servable:
            raise _NotPlainError
        return document
