"""List folders on disk without being led astray: links, special files, limits."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

from skillwire.core.names import SKILL_FILE, name_fault
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Limits
from skillwire.errors import SourceError, SourceMissingError
from skillwire.sources.base import Progress, ignore_progress
from skillwire.sources.folder.files import Stamp, raise_if_exhausted
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
"""Kept by this machine itself, and known to move the times."""
_PROGRESS_STEP = 256
_BY_PATH = os.scandir not in os.supports_fd  # Windows
Found = TypeVar("Found")


def devices_with_reliable_mtimes() -> frozenset[int]:
    """Return the devices of such file systems. None of them, where the system does not say what they are."""
    try:
        return frozenset(_reliable_devices(_MOUNTS.read_text(errors="replace")))
    except (OSError, ValueError, IndexError):
        return frozenset()


def _reliable_devices(mounts: str) -> Iterator[int]:
    """Yield the devices in lines as of proc(5): `36 35 98:0 /mnt1 /mnt2 rw shared:1 - ext3 /dev/root rw`."""
    for line in mounts.splitlines():
        before, _, behind = line.partition(" - ")
        major, _, minor = before.split(" ")[2].partition(":")
        if behind.split(" ")[0] in _RELIABLE_FILE_SYSTEMS:
            yield os.makedev(int(major), int(minor))


_by_name = attrgetter("name")


class OpenFolder(NamedTuple):
    """A folder that was entered, for as long as its descriptor is open."""

    folder: Folder
    descriptor: int
    status: os.stat_result
    entries: list[os.DirEntry[str]]
    """All that stands in it, sorted by name."""


class FolderWalk:
    """One walk over a root: its rules, and how much of its budget is left."""

    def __init__(
        self,
        root: str,
        *,
        limits: Limits,
        ignored: IgnoreRules,
        follow_links: bool,
        progress: Progress = ignore_progress,
        seen: int = 0,
    ) -> None:
        self.root = os.path.realpath(root)
        self.limits = limits
        self._ignored = ignored
        self._follow_links = follow_links
        self._progress = progress
        self.seen = seen
        """Files and folders seen so far, and those known from before."""
        self._reliable_devices: frozenset[int] | None = None
        self._around: Folder | None = None
        self._trail: frozenset[tuple[int, int]] = frozenset()
        """The trail of all folders in the one that was listed last."""

    @property
    def exhausted(self) -> bool:
        """Whether the bound on files and folders was passed: there is nothing more to see."""
        return self.seen > self.limits.entries

    def has_reliable_mtime(self, folder: Folder) -> bool:
        """Whether a folder whose times have not moved holds what it held."""
        if self._reliable_devices is None:
            self._reliable_devices = devices_with_reliable_mtimes()
        return folder.identity[0] in self._reliable_devices

    def start(self) -> Folder:
        """Return the root. Raises `SourceError` if it went away since it was seen."""
        try:
            status = os.stat(self.root)  # noqa: PTH116
        except OSError as error:
            raise_if_exhausted(error)
            raise _unreadable_error(error) from error
        return Folder("", self.root, folder_identity(status), "", self.root)

    def list_folder(self, folder: Folder, *, inside_skill: bool = False) -> FolderListing:
        """Return what stands in `folder`, sorted by name. Files are looked at only in a skill."""
        found = self.take(folder, _no_shortcut, inside_skill=inside_skill)
        assert isinstance(found, FolderListing), "nobody took a shortcut"
        return found

    def take(
        self, folder: Folder, shortcut: Callable[[OpenFolder], Found | None], *, inside_skill: bool = False
    ) -> Found | FolderListing:
        """Enter `folder` and return what `shortcut` makes of what is inside; where it makes nothing, that."""
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
        except FileNotFoundError:  # it went away while we walked: then it holds nothing
            return FolderListing()
        except OSError as error:
            raise_if_exhausted(error)
            listed = FolderListing()
            listed.problems.append(unreadable_problem(folder.path, Rule.FOLDER_UNREADABLE, error))
            listed.closed, listed.entered_all = True, False
            return listed

    def list_entries(self, entries: Iterator[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
        """Return the entries of a folder by their names: as many as there may be, and one more."""
        found = list(islice(entries, self.limits.entries - self.seen + 1))
        found.sort(key=_by_name)
        self.count(len(found))
        return found

    def count(self, number: int) -> None:
        """Note that so many files and folders were seen."""
        before = self.seen
        self.seen += number
        if self.seen // _PROGRESS_STEP > before // _PROGRESS_STEP:
            self._progress(self.seen)

    @property
    def has_patterns(self) -> bool:
        """Whether something is left out that has no name by which it could be told."""
        return self._ignored.has_patterns

    def _classify_entries(self, open_folder: OpenFolder, *, inside_skill: bool) -> FolderListing:
        folder, found, listed = open_folder.folder, open_folder.entries, FolderListing()
        if self.exhausted:
            listed.stop(exhausted(folder.path, self.limits))
            found.pop()
        listed.marker = self._marker(folder, {entry.name for entry in found})
        files = inside_skill or listed.marker is not None
        if listed.marker is None:
            almost = (entry.name for entry in found if entry.name.upper() == SKILL_FILE.upper())
            listed.problems.extend(misspelled_problem(folder.path_of(name)) for name in almost)
        for entry in found:
            if not self._ignored.by_name(entry.name):
                self._classify_entry(entry, folder, listed, files=files)
                continue
            # A `.git` folder is small and holds no links: whoever watches may well see it, too.
            if entry.name != ".git" and _is_folder(entry):
                listed.entered_all = False
            if not files and entry.name in HIDDEN_CONTAINERS:
                self._add_hidden_container(entry.name, folder, listed)
        return listed

    def _classify_entry(
        self, entry: os.DirEntry[str], folder: Folder, listed: FolderListing, *, files: bool
    ) -> None:
        """Put one entry where it belongs: among the files, the folders, the problems, or nowhere."""
        if not files and not entry.is_symlink() and not entry.is_dir(follow_symlinks=False):
            return  # told without asking the disk: most files of a large repository end here
        name = entry.name
        seen = self._resolve_entry(entry, folder)
        if isinstance(seen, Problem):
            listed.entered_all = False
            listed.outposts.extend(self._find_blocking_folder(folder.location_of(name)))
            if files or seen.rule is Rule.LINK_OUTSIDE:
                listed.problems.append(seen)
            return
        is_folder = stat.S_ISDIR(seen.status.st_mode)
        ignored = self._ignored.has_patterns and self._is_ignored(name, folder, is_folder=is_folder)
        if seen.target is not None or (is_folder and ignored):
            listed.entered_all = False
        if not (files or is_folder) or ignored:
            return
        if fault := name_fault(name):
            listed.entered_all = False
            listed.problems.append(bad_name_problem(folder.path_of(name), fault))
        elif is_folder:
            self.add_folder(name, seen, folder, listed)
        elif stat.S_ISREG(seen.status.st_mode):
            path, location = folder.path_of(name), folder.location_of(name)
            executable = is_executable(seen.status)
            listed.files.append(File(name, path, location, folder.name, Stamp.of(seen.status), executable))
            if seen.target is not None:
                listed.outposts.append(os.path.dirname(seen.target))  # noqa: PTH120 - a hot loop
        else:  # never opened: opening a pipe would wait for a writer
            listed.problems.append(special_file_problem(folder.path_of(name)))

    def _resolve_entry(self, entry: os.DirEntry[str], folder: Folder) -> ResolvedEntry | Problem:
        """Return what the entry is or leads to, or why it is left out.

        Asks what it is now: between the listing and this moment a file may have become a link.
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
        """Follow a link once: what is judged and what is served are the same file."""
        target = os.path.realpath(location, strict=True)
        status = os.lstat(target)
        is_folder = stat.S_ISDIR(status.st_mode)
        if self._is_inside_root(target):
            below = "" if target == self.root else os.path.relpath(target, self.root).replace(os.sep, "/")
            if below and self._ignored.matches_any_part(below, folder=is_folder):
                return hidden_target_problem(path)
            return ResolvedEntry(status, below, target)
        if self._follow_links and not self._ignored.by_name(os.path.basename(target)):  # noqa: PTH119
            return ResolvedEntry(status, path, target)
        return outside_link_problem(path)

    def _find_blocking_folder(self, location: str) -> Iterator[str]:
        """Yield the folder of ours in which something has to happen before a refused link can be followed."""
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
        for name in (SKILL_FILE, SKILL_FILE.lower()):
            if name in names and not self._ignored.by_pattern(folder.path_of(name), folder=False):
                return name
        return None

    def _add_hidden_container(self, hidden: str, folder: Folder, listed: FolderListing) -> None:
        """Enter `.claude/skills` and nothing else of `.claude`."""
        if os.path.isdir(parent := folder.location_of(hidden)):  # noqa: PTH112 - a link may lead nowhere
            listed.outposts.append(parent)
        name = "/".join((hidden, *HIDDEN_CONTAINERS[hidden]))
        path = folder.path_of(name)
        try:
            found = self._follow(path, folder.location_of(name))
        except OSError:  # there is no such container here
            return
        if isinstance(found, Problem):
            listed.problems.append(found)
            return
        if stat.S_ISDIR(found.status.st_mode) and not self._ignored.by_pattern(path, folder=True):
            self.add_folder(name, found, folder, listed)

    def add_folder(self, name: str, seen: ResolvedEntry, parent: Folder, listed: FolderListing) -> None:
        """List a folder that stands in another, unless it leads in a circle or too deep."""
        if self._around is not parent:
            self._around, self._trail = parent, parent.child_trail()
        folder = parent.inner(name, seen, self._trail)
        if folder.identity in folder.trail:
            listed.entered_all = False
            message = "the link leads back to a folder that it stands in, so it is left out"
            listed.problems.append(link_loop_problem(folder.path, message))
        elif folder.depth > self.limits.depth:
            listed.entered_all = False
            listed.stop(too_deep_problem(folder.path, self.limits))
        else:
            listed.folders.append(folder)


def check_readable(root: str) -> None:
    """Raise `SourceError` if nothing can be seen of `root`."""
    try:
        os.scandir(root).close()
    except OSError as error:
        raise_if_exhausted(error)
        raise _unreadable_error(error) from error


def _unreadable_error(error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceMissingError("there is no such folder")
    return SourceError(f"its folder cannot be read: {(error.strerror or 'no access').lower()}")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder or leads to one; a link that leads nowhere does not."""
    try:
        return entry.is_dir()
    except OSError as error:
        raise_if_exhausted(error)
        return False


def _open_folder(folder: Folder) -> tuple[int, os.stat_result]:
    """Return a descriptor of the very folder that was judged, and its status: its path may lead elsewhere.

    The descriptor is -1 where the system cannot list a folder by one.
    """
    if _BY_PATH:
        return -1, os.stat(folder.location)  # noqa: PTH116
    descriptor = os.open(folder.location, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if folder_identity(status) != folder.identity:
        os.close(descriptor)
        raise FileNotFoundError(folder.location)
    return descriptor, status


def _no_shortcut(_inside: OpenFolder) -> None:
    return None
