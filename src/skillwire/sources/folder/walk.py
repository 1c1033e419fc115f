"""List folders on disk safely: never open special files, and follow links out of the root only on request."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

from skillwire.core.names import SKILL_FILE, name_fault
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Limits
from skillwire.errors import SourceError, SourceMissingError
from skillwire.sources.base import Progress, ignore_progress
from skillwire.sources.folder.file_names import misspelled_names
from skillwire.sources.folder.files import OutOfRangeError, Stamp, packed, raise_if_exhausted
from skillwire.sources.folder.ignore import HIDDEN_CONTAINERS, IgnoreRules
from skillwire.sources.folder.listing import (
    File,
    Folder,
    FolderListing,
    ResolvedEntry,
    bad_name_problem,
    dangling_link_problem,
    exhausted,
    folder_identity,
    hidden_target_problem,
    is_executable,
    link_loop_problem,
    misspelled_problem,
    outside_link_problem,
    special_file_problem,
    too_deep_problem,
    unreadable_problem,
)

_MOUNTS = Path("/proc/self/mountinfo")
_RELIABLE_FILE_SYSTEMS = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "overlay"}
)
"""Local file systems that are known to update a folder's times whenever its entries change."""
_PROGRESS_STEP = 256
_MARKERS = (SKILL_FILE, SKILL_FILE.lower())
"""The names of the file that makes a folder a skill."""
_BY_PATH = os.scandir not in os.supports_fd  # Windows
Found = TypeVar("Found")


def devices_with_reliable_mtimes() -> frozenset[int]:
    """Return the devices whose file systems update folder times reliably. Empty if `/proc` is unusable."""
    try:
        return frozenset(_reliable_devices(_MOUNTS.read_text(errors="replace")))
    except (OSError, ValueError, IndexError):
        return frozenset()


def _reliable_devices(mounts: str) -> Iterator[int]:
    """Yield the reliable devices in lines of `/proc/self/mountinfo`, whose format is described in proc(5)."""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        major, _, minor = before.split(" ")[2].partition(":")
        if after.split(" ")[0] in _RELIABLE_FILE_SYSTEMS:
            yield os.makedev(int(major), int(minor))


_by_name = attrgetter("name")


class OpenFolder(NamedTuple):
    """A folder whose descriptor is open (-1 if that is unsupported), with its entries."""

    folder: Folder
    descriptor: int
    status: os.stat_result
    entries: list[os.DirEntry[str]]
    """All entries of the folder, sorted by name."""


class FolderWalk:
    """One walk of a root: the rules that apply, and the number of entries counted towards the limit."""

    def __init__(
        self,
        root: str,
        *,
        limits: Limits,
        ignored: IgnoreRules,
        follow_links: bool,
        progress: Progress = ignore_progress,
        entry_count: int = 0,
    ) -> None:
        self.root = os.path.realpath(root)
        self.limits = limits
        self._ignored = ignored
        self._follow_links = follow_links
        self._progress = progress
        self.entry_count = entry_count
        """Number of files and folders found so far, including entries known from earlier scans."""
        self.stamps: dict[str, bytes] | None = None
        """The packed stamps of subfolders that were found but not visited yet, by location.

        None if they are not needed.
        """
        self._reliable_devices: frozenset[int] | None = None
        self._parent: Folder | None = None
        self._trail: frozenset[tuple[int, int]] = frozenset()
        """The trail of all folders in `_parent`, the folder that was listed last."""

    @property
    def exhausted(self) -> bool:
        """Whether the limit on files and folders was exceeded. If so, nothing more is listed."""
        return self.entry_count > self.limits.entries

    def has_reliable_mtime(self, folder: Folder) -> bool:
        """Return whether unchanged times of a folder prove that its entries are unchanged."""
        if self._reliable_devices is None:
            self._reliable_devices = devices_with_reliable_mtimes()
        return folder.identity[0] in self._reliable_devices

    def start(self) -> Folder:
        """Return the root folder. Raises `SourceError` if it no longer exists or cannot be read."""
        try:
            status = os.stat(self.root)  # noqa: PTH116
        except OSError as error:
            raise_if_exhausted(error)
            raise _unreadable_error(error) from error
        return Folder("", self.root, folder_identity(status), "", self.root)

    def list_folder(self, folder: Folder, *, inside_skill: bool = False) -> FolderListing:
        """Return the content of `folder`, sorted by name. Outside skills, files are left out."""
        found = self.take(folder, _no_shortcut, inside_skill=inside_skill)
        assert isinstance(found, FolderListing), "there is no shortcut"
        return found

    def take(
        self, folder: Folder, shortcut: Callable[[OpenFolder], Found | None], *, inside_skill: bool = False
    ) -> Found | FolderListing:
        """Open `folder` and return the result of `shortcut`, or the listing if `shortcut` returns None.

        If a limit was exceeded or the folder cannot be read, the listing is incomplete and contains
        the problem. A folder that was removed has an empty listing.
        """
        if self.exhausted:
            listed = FolderListing()
            listed.cut = exhausted(folder.path, self.limits)
            return listed
        try:
            descriptor, status = _open_folder(folder)
            try:
                with os.scandir(folder.location if descriptor < 0 else descriptor) as entries:
                    found = self.list_entries(entries)
                open_folder = OpenFolder(folder, descriptor, status, found)
                if not self.exhausted and (made := shortcut(open_folder)) is not None:
                    return made
                return self._classify_entries(open_folder, inside_skill=inside_skill)
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
        except FileNotFoundError:  # the folder was removed during the walk, so it is empty
            return FolderListing()
        except OSError as error:
            raise_if_exhausted(error)
            listed = FolderListing()
            listed.problems.append(unreadable_problem(folder.path, Rule.FOLDER_UNREADABLE, error))
            listed.unreadable, listed.entered_all = True, False
            return listed

    def list_entries(self, entries: Iterator[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
        """Count and return the entries of a folder, sorted by name.

        At most one entry more than the limit is returned.
        """
        found = list(islice(entries, self.limits.entries - self.entry_count + 1))
        found.sort(key=_by_name)
        self.count(len(found))
        return found

    def count(self, number: int) -> None:
        """Add to the entry count, and report progress from time to time."""
        before = self.entry_count
        self.entry_count += number
        if self.entry_count // _PROGRESS_STEP > before // _PROGRESS_STEP:
            self._progress(self.entry_count)

    @property
    def has_patterns(self) -> bool:
        """Whether the ignore file of the root has patterns."""
        return self._ignored.has_patterns

    def _classify_entries(self, open_folder: OpenFolder, *, inside_skill: bool) -> FolderListing:
        folder, found, listed = open_folder.folder, open_folder.entries, FolderListing()
        if self.exhausted:
            listed.record_limit(exhausted(folder.path, self.limits))
            found.pop()
        listed.marker = self._marker(folder, {entry.name for entry in found})
        files = inside_skill or listed.marker is not None
        if listed.marker is None:
            listed.problems.extend(
                misspelled_problem(folder.path_of(name))
                for name in misspelled_names(found, inside_skill=inside_skill)
                if not (
                    self._ignored.by_name(name)
                    or self._ignored.by_pattern(folder.path_of(name), folder=False)
                )
            )
        for entry in found:
            if listed.marker is not None and self._ignored.is_evals(entry.name) and _is_folder(entry):
                listed.entered_all = False
                continue
            if not self._ignored.by_name(entry.name):
                self._classify_entry(entry, folder, listed, files=files)
                continue
            # A `.git` folder is small and has no links, so a recursive watch may include it.
            if entry.name != ".git" and _is_folder(entry):
                listed.entered_all = False
            if not files and entry.name in HIDDEN_CONTAINERS:
                self._add_hidden_container(entry.name, folder, listed)
        return listed

    def _classify_entry(
        self, entry: os.DirEntry[str], folder: Folder, listed: FolderListing, *, files: bool
    ) -> None:
        """Add one entry to the files, folders or problems of `listed`, or ignore it."""
        name, is_real_folder = entry.name, entry.is_dir(follow_symlinks=False)
        if not files and not is_real_folder and not entry.is_symlink():
            return  # decided without a system call, which applies to most files in a large repository
        resolved = self._resolve_entry(entry, folder)
        if isinstance(resolved, Problem):
            listed.entered_all = False
            listed.extra_folders.extend(self._find_blocking_folder(folder.location_of(name)))
            if files or resolved.rule is Rule.LINK_OUTSIDE:
                listed.problems.append(resolved)
            return
        is_folder = stat.S_ISDIR(resolved.status.st_mode)
        ignored = self._ignored.has_patterns and self._is_ignored(name, folder, is_folder=is_folder)
        if resolved.target is not None or (is_folder and ignored):
            listed.entered_all = False
        if not (files or is_folder) or ignored:
            return
        if fault := name_fault(name):
            listed.entered_all = False
            listed.problems.append(bad_name_problem(folder.path_of(name), fault))
        elif is_folder:
            self.add_folder(name, resolved, folder, listed)
        elif stat.S_ISREG(resolved.status.st_mode):
            self._add_file(name, resolved, folder, listed)
        else:  # never opened, because opening a pipe would wait for a writer
            listed.problems.append(special_file_problem(folder.path_of(name)))

    def _add_file(self, name: str, resolved: ResolvedEntry, folder: Folder, listed: FolderListing) -> None:
        """Add a file to the listing, or only count it if no skill can have so many files."""
        if len(listed.files) > self.limits.files and name != listed.marker:
            listed.left_out += 1
            return
        path, location = folder.path_of(name), folder.location_of(name)
        executable = is_executable(resolved.status)
        stamp = Stamp.of(resolved.status)
        listed.files.append(File(name, path, location, folder.name, stamp, executable))
        if resolved.target is not None:
            listed.extra_folders.append(os.path.dirname(resolved.target))  # noqa: PTH120 - a hot loop

    def _resolve_entry(self, entry: os.DirEntry[str], folder: Folder) -> ResolvedEntry | Problem:
        """Return the file or folder of an entry, following links, or the problem for which it is left out.

        Checks the entry again, because it may have become a link since the folder was listed.
        """
        try:
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISLNK(status.st_mode):
                return ResolvedEntry(status)
            return self._follow(folder.path_of(entry.name), folder.location_of(entry.name))
        except FileNotFoundError:
            return dangling_link_problem(folder.path_of(entry.name))
        except OSError as error:
            path = folder.path_of(entry.name)
            raise_if_exhausted(error)
            if error.errno == errno.ELOOP:
                return link_loop_problem(path, "the link leads to itself, so it is left out")
            return unreadable_problem(path, Rule.FILE_UNREADABLE, error)

    def _follow(self, path: str, location: str) -> ResolvedEntry | Problem:
        """Return the target of a link, or a problem if it is not followed. Raises `OSError`.

        The link is resolved only once, so that the checked file and the served file are the same.
        """
        target = os.path.realpath(location, strict=True)
        status = os.lstat(target)
        is_folder = stat.S_ISDIR(status.st_mode)
        if self._is_inside_root(target):
            below = "" if target == self.root else os.path.relpath(target, self.root).replace(os.sep, "/")
            if below and (
                self._ignored.matches_any_part(below, folder=is_folder) or self._is_in_evals(below)
            ):
                return hidden_target_problem(path)
            return ResolvedEntry(status, below, target)
        if self._follow_links and not self._ignored.by_name(os.path.basename(target)):  # noqa: PTH119
            return ResolvedEntry(status, path, target)
        return outside_link_problem(path)

    def _is_in_evals(self, below: str) -> bool:
        """Return whether a path below the root is in the evals of a skill, or is their folder."""
        parts = below.split("/")
        above = (
            "/".join((self.root, *parts[:at]))
            for at, name in enumerate(parts)
            if self._ignored.is_evals(name)
        )
        return any(os.path.lexists(f"{skill}/{name}") for skill in above for name in _MARKERS)

    def _find_blocking_folder(self, location: str) -> Iterator[str]:
        """Yield the folder in which a change can make a refused link valid, if it is inside the root."""
        folder = os.path.dirname(os.path.realpath(location))  # noqa: PTH120 - plain string operations
        while self._is_inside_root(folder):
            if os.path.isdir(folder):  # noqa: PTH112
                yield folder
                return
            folder = os.path.dirname(folder)  # noqa: PTH120

    def _is_inside_root(self, location: str) -> bool:
        return location == self.root or location.startswith(self.root.rstrip(os.sep) + os.sep)

    def _is_ignored(self, name: str, folder: Folder, *, is_folder: bool) -> bool:
        path, real_path = folder.path_of(name), folder.real_path_of(name)
        if self._ignored.by_pattern(path, folder=is_folder):
            return True
        return real_path != path and self._ignored.by_pattern(real_path, folder=is_folder)

    def _marker(self, folder: Folder, names: set[str]) -> str | None:
        for name in _MARKERS:
            if name in names and not self._ignored.by_pattern(folder.path_of(name), folder=False):
                return name
        return None

    def _add_hidden_container(self, hidden: str, folder: Folder, listed: FolderListing) -> None:
        """Add the folder `.claude/skills`, or a problem if it is a refused link, and nothing else."""
        if os.path.isdir(parent := folder.location_of(hidden)):  # noqa: PTH112 - a link may be broken
            listed.extra_folders.append(parent)
        name = "/".join((hidden, *HIDDEN_CONTAINERS[hidden]))
        path = folder.path_of(name)
        try:
            found = self._follow(path, folder.location_of(name))
        except OSError:  # this folder has no such container
            return
        if isinstance(found, Problem):
            listed.problems.append(found)
            return
        if stat.S_ISDIR(found.status.st_mode) and not self._ignored.by_pattern(path, folder=True):
            self.add_folder(name, found, folder, listed)

    def add_folder(self, name: str, resolved: ResolvedEntry, parent: Folder, listed: FolderListing) -> None:
        """Add a folder in `parent` to the listing, or a problem if it is a loop or too deep."""
        if self._parent is not parent:
            self._parent, self._trail = parent, parent.child_trail()
        folder = parent.inner(name, resolved, self._trail)
        if folder.identity in folder.trail:
            listed.entered_all = False
            message = "the link leads back to a folder that contains it, so it is left out"
            listed.problems.append(link_loop_problem(folder.path, message))
        elif folder.depth > self.limits.depth:
            listed.entered_all = False
            listed.record_limit(too_deep_problem(folder.path, self.limits))
        else:
            listed.folders.append(folder)
            if self.stamps is not None and resolved.target is None:
                with suppress(OutOfRangeError):
                    self.stamps[folder.location] = packed(resolved.status)


def check_readable(root: str) -> None:
    """Raise `SourceError` if the folder `root` cannot be listed."""
    try:
        os.scandir(root).close()
    except OSError as error:
        raise_if_exhausted(error)
        raise _unreadable_error(error) from error


def _unreadable_error(error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceMissingError("there is no such folder")
    return SourceError(f"the folder cannot be read: {(error.strerror or 'no access').lower()}")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to a folder. A broken link is neither."""
    try:
        return entry.is_dir()
    except OSError as error:
        raise_if_exhausted(error)
        return False


def _open_folder(folder: Folder) -> tuple[int, os.stat_result]:
    """Open a folder that was checked before. Return its file descriptor and status.

    Raises `FileNotFoundError` if the path now leads to a different folder. The descriptor is -1 if the system
    cannot list a folder by descriptor.
    """
    if _BY_PATH:
        return -1, os.stat(folder.location)  # noqa: PTH116
    descriptor = os.open(folder.location, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if folder_identity(status) != folder.identity:
        os.close(descriptor)
        raise FileNotFoundError(folder.location)
    return descriptor, status


def _no_shortcut(_open_folder: OpenFolder) -> None:
    return None
