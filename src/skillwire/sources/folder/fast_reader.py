"""A skill folder as most are, read in one pass: one skill, plain names, no links, nothing wrong with it.

What is found is what `skill_folder` finds, which knows every rule and takes its time. Whatever is not as
plain as that is left to it.
"""

import os
import re
import stat
import time
from functools import lru_cache
from sys import intern
from typing import TypeAlias

from skillwire.core.mime import is_text, mime_type, mime_type_from_name
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Digest, SkillFile
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.sources.folder.files import OPEN_FLAGS, OutOfRangeError, pack_settled_stamps, packed
from skillwire.sources.folder.ignore import TOOL_FOLDERS
from skillwire.sources.folder.last_good import LastGood, SpillFile
from skillwire.sources.folder.listing import Folder, folder_identity, is_executable
from skillwire.sources.folder.scan_cache import CachedSkill
from skillwire.sources.folder.skill_folder import EMPTY_MAPPING, SkillDraft
from skillwire.sources.folder.walk import FolderWalk, OpenFolder

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*").fullmatch
_FILE_FLAGS = OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = _FILE_FLAGS | getattr(os, "O_DIRECTORY", 0)
_BY_DESCRIPTOR = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
_MARKER = SKILL_FILE.upper()
_MAX_FOLDERS = 64
"""In one skill: each is a descriptor while the skill is read."""
_known_type = lru_cache(maxsize=4096)(mime_type_from_name)
"""Many skills have files of the same names."""
_FileEntry: TypeAlias = tuple[str, os.DirEntry[str], int]
"""The path of a file, its entry, and the descriptor of the folder that it stands in."""


class _NotPlainError(Exception):
    """Something that only those can judge who know every rule."""


def read_plain_skill(
    folder_walk: FolderWalk, open_folder: OpenFolder, before: CachedSkill | None, spill_file: SpillFile | None
) -> CachedSkill | None:
    """Read the skill in a folder that was entered; None if it is not as plain as it should be.

    Files that have the stamps that they had `before` are not read again. With a spool, the content of the
    `SKILL.md` is kept there.
    """
    folder = open_folder.folder
    if not _BY_DESCRIPTOR or folder_walk.has_patterns or folder.target != folder.location:
        return None
    if SKILL_FILE not in [entry.name for entry in open_folder.entries]:
        return None
    already = folder_walk.seen
    listing = _Listing(folder_walk, folder)
    try:
        listing.add(open_folder.descriptor, open_folder.status, open_folder.entries, "", folder.trail)
        return _Reader(folder_walk, folder, before, spill_file).read(
            listing, folder_walk.seen - already + len(open_folder.entries)
        )
    except (_NotPlainError, OSError, OutOfRangeError):
        folder_walk.seen = already
        return None
    finally:
        listing.close()


@lru_cache(maxsize=4096)
def _is_plain(name: str) -> bool:
    """Whether a name says nothing of what has it. Many skills have files of the same names."""
    return _PLAIN_NAME(name) is not None and name not in TOOL_FOLDERS and name.upper() != _MARKER


class _Listing:
    """Every folder of a skill, open, and every file. Nothing is read before all is known to be plain."""

    def __init__(self, folder_walk: FolderWalk, folder: Folder) -> None:
        self._folder_walk, self._folder = folder_walk, folder
        self.folders: list[str] = []
        self.statuses: list[os.stat_result] = []
        """Of the skill's own folder, then of each folder in it."""
        self.main: _FileEntry | None = None
        """Of the `SKILL.md`."""
        self.files: list[_FileEntry] = []
        """Of all others."""
        self._descriptors: list[int] = []

    def add(
        self,
        descriptor: int,
        status: os.stat_result,
        entries: list[os.DirEntry[str]],
        above: str,
        trail: frozenset[tuple[int, int]],
    ) -> None:
        """Add what stands in one folder, then in those inside it. `above` is what its paths begin with."""
        self.statuses.append(status)
        inner: list[str] = []
        for entry in entries:
            name = entry.name
            is_file = entry.is_file(follow_symlinks=False)
            if _is_plain(name):
                if is_file:
                    self.files.append((intern(above + name), entry, descriptor))
                elif entry.is_dir(follow_symlinks=False):
                    inner.append(name)
                else:
                    raise _NotPlainError
            elif is_file and name == SKILL_FILE and not above:
                self.main = name, entry, descriptor
            elif not is_file or not name.startswith("."):  # a hidden file is nothing to anybody
                raise _NotPlainError
        if inner:
            trail |= {folder_identity(status)}
        for name in inner:
            self._enter(name, descriptor, above, trail)

    def _enter(
        self, name: str, parent_descriptor: int, above: str, trail: frozenset[tuple[int, int]]
    ) -> None:
        """Open a folder in the one around it that was judged, and never through a link."""
        path = intern(above + name)
        descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=parent_descriptor)
        self._descriptors.append(descriptor)
        status = os.fstat(descriptor)
        too_deep = self._folder.depth + 1 + path.count("/") > self._folder_walk.limits.depth
        elsewhere = status.st_dev != self._folder.identity[0]  # another file system is in there
        if too_deep or elsewhere or folder_identity(status) in trail or len(self._descriptors) > _MAX_FOLDERS:
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
        self,
        folder_walk: FolderWalk,
        folder: Folder,
        before: CachedSkill | None,
        spill_file: SpillFile | None,
    ) -> None:
        if before is not None and before.draft.location != folder.location:
            before = None  # it moved: what its document says may be judged by another name
        self._folder, self._before, self._spill_file, self._limits = (
            folder,
            before,
            spill_file,
            folder_walk.limits,
        )
        self._known = {} if before is None else before.known_files()
        self._now = time.time_ns()
        self._left = folder_walk.limits.bytes
        self._files: list[SkillFile] = []
        self._statuses: list[os.stat_result] = []
        """Of each file, in the same order."""

    def read(self, listing: _Listing, seen: int) -> CachedSkill:
        """Return all there is to know. Raises `_NotPlainError`."""
        files, main = listing.files, listing.main
        if main is None or len(files) >= self._limits.files:
            raise _NotPlainError
        if len({each[0].lower() for each in files}) < len(files):
            raise _NotPlainError
        document, kept = self._document(self._take(*main))
        for each in files:
            self._take(*each)
        draft = SkillDraft(
            below="",
            location=self._folder.location,
            where=self._folder.path_of(SKILL_FILE),
            document=document,
            files=tuple(self._files),
            directories=tuple(listing.folders),
            warnings=(),
            stored=EMPTY_MAPPING,
            kept=kept,
        )
        folders, stamps = (
            pack_settled_stamps(each, self._now) for each in (listing.statuses, self._statuses)
        )
        return CachedSkill.of(draft, seen, folders, stamps)

    def _take(self, path: str, entry: os.DirEntry[str], parent_descriptor: int) -> bytes | None:
        """Take a file; return its bytes if they had to be read: in its folder, and through no link."""
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

    def _document(self, content: bytes | None) -> tuple[SkillDocument, LastGood | None]:
        """Return what the `SKILL.md` says, and its content if that is kept."""
        if content is None:
            assert self._before is not None, "it was known"
            return self._before.draft.document, self._before.draft.kept
        document = read_document(content, self._folder.path_of(SKILL_FILE), self._folder.name)
        if not document.is_servable:
            raise _NotPlainError
        return document, None if self._spill_file is None else LastGood(content, self._spill_file)
