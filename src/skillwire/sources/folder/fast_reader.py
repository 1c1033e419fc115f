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

from skillwire.core.mime import is_text, known_type, mime_type
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Digest, SkillFile
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.sources.folder.files import OPEN_FLAGS, OutOfRangeError, packed, packed_if_settled
from skillwire.sources.folder.ignore import TOOL_FOLDERS
from skillwire.sources.folder.last_good import LastGood, SpillFile
from skillwire.sources.folder.listing import Folder, identity_of, is_executable
from skillwire.sources.folder.scan_cache import CachedSkill
from skillwire.sources.folder.skill_folder import NOTHING, SkillDraft
from skillwire.sources.folder.walk import FolderWalk, Inside

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*").fullmatch
_FILE_FLAGS = OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = _FILE_FLAGS | getattr(os, "O_DIRECTORY", 0)
_BY_DESCRIPTOR = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
_MARKER = SKILL_FILE.upper()
_MOST_FOLDERS = 64
"""In one skill: each is a descriptor while the skill is read."""
_known_type = lru_cache(maxsize=4096)(known_type)
"""Many skills have files of the same names."""
_Place: TypeAlias = tuple[str, os.DirEntry[str], int]
"""The path of a file, its entry, and the descriptor of the folder that it stands in."""


class _NotPlainError(Exception):
    """Something that only those can judge who know every rule."""


def read_plain_skill(
    look: FolderWalk, inside: Inside, before: CachedSkill | None, spool: SpillFile | None
) -> CachedSkill | None:
    """Read the skill in a folder that was entered; None if it is not as plain as it should be.

    Files that have the stamps that they had `before` are not read again. With a spool, the content of the
    `SKILL.md` is kept there.
    """
    folder = inside.folder
    if not _BY_DESCRIPTOR or look.has_patterns or folder.target != folder.location:
        return None
    if SKILL_FILE not in [entry.name for entry in inside.entries]:
        return None
    already = look.seen
    listing = _Listing(look, folder)
    try:
        listing.add(inside.descriptor, inside.status, inside.entries, "", folder.trail)
        return _Reader(look, folder, before, spool).read(listing, look.seen - already + len(inside.entries))
    except (_NotPlainError, OSError, OutOfRangeError):
        look.seen = already
        return None
    finally:
        listing.close()


@lru_cache(maxsize=4096)
def _is_plain(name: str) -> bool:
    """Whether a name says nothing of what has it. Many skills have files of the same names."""
    return _PLAIN_NAME(name) is not None and name not in TOOL_FOLDERS and name.upper() != _MARKER


class _Listing:
    """Every folder of a skill, open, and every file. Nothing is read before all is known to be plain."""

    def __init__(self, look: FolderWalk, folder: Folder) -> None:
        self._look, self._folder = look, folder
        self.folders: list[str] = []
        self.statuses: list[os.stat_result] = []
        """Of the skill's own folder, then of each folder in it."""
        self.main: _Place | None = None
        """Of the `SKILL.md`."""
        self.files: list[_Place] = []
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
            trail |= {identity_of(status)}
        for name in inner:
            self._enter(name, descriptor, above, trail)

    def _enter(self, name: str, around: int, above: str, trail: frozenset[tuple[int, int]]) -> None:
        """Open a folder in the one around it that was judged, and never through a link."""
        path = intern(above + name)
        descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=around)
        self._descriptors.append(descriptor)
        status = os.fstat(descriptor)
        too_deep = self._folder.depth + 1 + path.count("/") > self._look.limits.depth
        elsewhere = status.st_dev != self._folder.identity[0]  # another file system is in there
        if too_deep or elsewhere or identity_of(status) in trail or len(self._descriptors) > _MOST_FOLDERS:
            raise _NotPlainError
        with os.scandir(descriptor) as found:
            entries = self._look.counted(found)
        if self._look.exhausted:
            raise _NotPlainError
        self.folders.append(path)
        self.add(descriptor, status, entries, f"{path}/", trail)

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)


class _Reader:
    """Reads the files of one skill."""

    def __init__(
        self, look: FolderWalk, folder: Folder, before: CachedSkill | None, spool: SpillFile | None
    ) -> None:
        if before is not None and before.draft.location != folder.location:
            before = None  # it moved: what its document says may be judged by another name
        self._folder, self._before, self._spool, self._limits = folder, before, spool, look.limits
        self._known = {} if before is None else before.known_files()
        self._now = time.time_ns()
        self._left = look.limits.bytes
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
            stored=NOTHING,
            kept=kept,
        )
        folders, stamps = (packed_if_settled(each, self._now) for each in (listing.statuses, self._statuses))
        return CachedSkill.of(draft, seen, folders, stamps)

    def _take(self, path: str, entry: os.DirEntry[str], around: int) -> bytes | None:
        """Take a file; return its bytes if they had to be read: in its folder, and through no link."""
        if (known := self._known.get(path)) is not None:
            status = entry.stat(follow_symlinks=False)
            if packed(status) == known[0]:
                self._add(known[1], status)
                return None
        descriptor = os.open(entry.name, _FILE_FLAGS, dir_fd=around)
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
        if not document.servable:
            raise _NotPlainError
        return document, None if self._spool is None else LastGood(content, self._spool)
