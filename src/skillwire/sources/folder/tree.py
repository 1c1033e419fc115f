"""The folders and skills found below a root, stored so that a rescan reads only changes."""

import os
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from skillwire.core.names import parent_paths
from skillwire.core.problem import Problem
from skillwire.sources.base import Locations
from skillwire.sources.folder.facts import FileFactsCache
from skillwire.sources.folder.fast_reader import read_plain_skill
from skillwire.sources.folder.listing import Folder, FolderListing, folder_identity, join_location
from skillwire.sources.folder.placement import AnySkillFolder, Changes
from skillwire.sources.folder.plain_skill import PlainSkill
from skillwire.sources.folder.reader import read_skill_folder
from skillwire.sources.folder.skill_folder import SkillFolder
from skillwire.sources.folder.walk import FolderWalk

_AFTER_SEP = chr(ord(os.sep) + 1)
"""Sorts directly after every string that begins with the separator."""

FindCached: TypeAlias = Callable[[str, frozenset[tuple[int, int]]], PlainSkill | None]
"""A function that returns the cached plain skill in the folder at a path with a trail, or None."""
_MAX_INSERTED = 256
"""Maximum number of locations that are added one by one to the sorted locations."""


@dataclass(frozen=True, slots=True)
class GroupFolder:
    """A folder that is not a skill itself, but may contain skills."""

    folder: Folder
    inner: tuple[str, ...]
    """The paths of the subfolders that were entered."""
    problems: tuple[Problem, ...]
    folders: frozenset[str]
    """The folder's location with links resolved, and further folders that affect its listing.

    Empty if it is unreadable.
    """
    entered_all: bool
    """Whether every subfolder was entered, and the folder contains no link."""
    entry_count: int
    """Number of files and folders directly in the folder."""


class Tree:
    """All group folders and skill folders, by their paths below the root."""

    def __init__(self, facts: FileFactsCache, label: str = "") -> None:
        """`label` is the label of the source, for the origins of the skills."""
        self.group_folders: dict[str, GroupFolder] = {}
        self.skill_folders: dict[str, AnySkillFolder] = {}
        self.cut = False
        """Whether a limit stopped the walk, so that the tree is incomplete."""
        self.entry_count = 0
        """Number of files and folders in the tree."""
        self.partial: set[str] = set()
        """The paths of the folders of which not every subfolder was entered, or that contain a link."""
        self.watch_revision = 0
        """Changes whenever the folders to watch may have changed."""
        self._facts = facts
        self._label = label
        self._at: dict[str, str | set[str]] = {}
        """The path, or set of paths, of each folder outside plain skills, by location."""
        self._changes: dict[str, AnySkillFolder | None] | None = None
        """The skill folders that changed since `take_changes`, as they were before, by path."""
        self._with_problems: set[str] = set()
        self._problems: tuple[Problem, ...] | None = ()
        """All problems, or None if they have changed."""
        self._sorted: list[str] | None = None
        """The locations in `_at` and of plain skills, and former ones; None until they are needed."""
        self._unsorted: list[str] = []
        """The locations to add to `_sorted`."""

    @property
    def plain(self) -> dict[str, PlainSkill]:
        """The skill folders that were read in one pass, by path."""
        return {path: each for path, each in self.skill_folders.items() if isinstance(each, PlainSkill)}

    def take_changes(self) -> Changes | None:
        """Return the skill folders that changed since the last call, as they were before, by path.

        Return None at the first call, for everything.
        """
        changes, self._changes = self._changes, {}
        return changes

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems of all folders, ordered by path."""
        if self._problems is None:
            parts = (self._part(path) for path in sorted(self._with_problems))
            self._problems = tuple(problem for part in parts if part is not None for problem in part.problems)
        return self._problems

    def walk(
        self,
        folder_walk: FolderWalk,
        start: Folder,
        before: "Tree | None" = None,
        find_cached: FindCached | None = None,
    ) -> None:
        """Walk `start` and everything below it, and add the folders to the tree.

        `before` is the previous tree. If a skill was good there and is broken now, its last good version is
        kept. `find_cached` looks up plain skills that were read earlier; by default, those in `before`. They
        are not read again if they are unchanged.
        """
        skill_folders = {} if before is None else before.skill_folders
        if skill_folders or find_cached is not None:
            folder_walk.stamps = {}
        pending = [start]
        while pending and not folder_walk.exhausted:
            folder = pending.pop()
            own_stamp = folder_walk.stamps.pop(folder.location, None) if folder_walk.stamps else None
            known = last = skill_folders.get(folder.path)
            if find_cached is not None:
                known = find_cached(folder.path, folder.trail)
            if not isinstance(known, PlainSkill):
                known = None
            elif self._is_unchanged(folder_walk, folder, known, own_stamp):
                folder_walk.count(known.entry_count)
                self._put_plain(folder, known, last)
                continue
            pending.extend(reversed(self._visit(folder_walk, folder, last, known)))
        self.cut = self.cut or folder_walk.exhausted

    def _is_unchanged(
        self, folder_walk: FolderWalk, folder: Folder, known: PlainSkill, own_stamp: bytes | None
    ) -> bool:
        if (
            folder_walk.has_patterns
            or folder_walk.entry_count + known.entry_count > folder_walk.limits.entries
        ):
            return False
        same_place = folder.target == folder.location == known.location
        return same_place and folder_walk.has_reliable_mtime(folder) and known.is_current(own_stamp)

    def _visit(
        self, folder_walk: FolderWalk, folder: Folder, last: AnySkillFolder | None, known: PlainSkill | None
    ) -> list[Folder]:
        """List or read a folder, and add it to the tree. Return the subfolders to visit."""
        count_before = folder_walk.entry_count
        found = self._list_or_read(folder_walk, folder, known)
        if isinstance(found, FolderListing) and found.marker is None:
            self._put_group_folder(folder, found, folder_walk.entry_count - count_before)
            return found.folders
        self._put_skill(folder_walk, folder, found, last, count_before)
        return []

    def _list_or_read(
        self, folder_walk: FolderWalk, folder: Folder, known: PlainSkill | None
    ) -> PlainSkill | FolderListing:
        return folder_walk.take(
            folder,
            lambda open_folder: read_plain_skill(
                folder_walk, open_folder, known, self._label, keep_good=self._facts.spill_file is not None
            ),
        )

    def rescan_locations(self, folder_walk: FolderWalk, where: Locations) -> None:
        """Rescan the folders at these locations. Afterwards, `take_changes` returns what changed."""
        for location in where:
            self._facts.forget(location)
        # Outer folders first, because folders that they drop need no rescan.
        for path in sorted(self._find_affected(where)):
            if (group_folder := self.group_folders.get(path)) is not None:
                self._revisit(folder_walk, group_folder)
            elif (skill_folder := self.skill_folders.get(path)) is not None:
                self._reread(folder_walk, skill_folder, where)

    def is_stale(self, where: Locations) -> bool:
        """Return whether a folder above one of these locations was removed or replaced with another one."""
        above = {folder for path in self._find_affected(where) for folder in ("", *parent_paths(path))}
        return any(self._is_replaced(path) for path in above)

    def _is_replaced(self, path: str) -> bool:
        if (folder := self._folder(path)) is None:
            return False
        try:
            return folder_identity(os.stat(folder.location)) != folder.identity  # noqa: PTH116
        except OSError:
            return True

    def _find_affected(self, where: Locations) -> set[str]:
        """Return the paths of all folders in the tree that a change at these locations can affect."""
        folders = {os.path.dirname(location) for location in where}  # noqa: PTH120
        for location in where:
            if location in self._at or self._plain_at(location) is not None:
                # If a folder no longer exists, the folders below it do not exist either, and links from
                # elsewhere may lead there.
                folders |= {location, *self._known_below(location)}
        return {path for folder in folders for path in self._paths_at(folder)}

    def _known_below(self, location: str) -> list[str]:
        """Return the locations of the folders in the tree that are below `location`."""
        if self._sorted is None:
            plain = (each.location for each in self.skill_folders.values() if isinstance(each, PlainSkill))
            self._sorted = sorted((*self._at, *plain))
        else:
            for each in self._unsorted:
                insort(self._sorted, each)
        self._unsorted.clear()
        begin = bisect_left(self._sorted, f"{location}{os.sep}")
        return self._sorted[begin : bisect_left(self._sorted, f"{location}{_AFTER_SEP}")]

    def skill_folder_around(self, location: str) -> AnySkillFolder | None:
        """Return the skill folder at this location, or that contains it. Links are not resolved."""
        path = self._path_below_root(location)
        paths = () if path is None else (path, *parent_paths(path), "")
        found = (self.skill_folders.get(each) for each in paths)
        return next((each for each in found if each is not None), None)

    def _plain_at(self, location: str) -> PlainSkill | None:
        """Return the plain skill in the folder at this location, or None."""
        path = self._path_below_root(location)
        found = None if path is None else self.skill_folders.get(path)
        return found if isinstance(found, PlainSkill) else None

    def _revisit(self, folder_walk: FolderWalk, group_folder: GroupFolder) -> None:
        """List a group folder again. Walk its new subfolders, and drop subfolders that no longer exist.

        If the folder has become a skill, read the skill instead.
        """
        folder = group_folder.folder
        folder_walk.entry_count -= group_folder.entry_count
        count_before = folder_walk.entry_count
        listed = self._list_or_read(folder_walk, folder, None)
        entry_count = folder_walk.entry_count - count_before
        if isinstance(listed, PlainSkill) or listed.marker is not None:
            folder_walk.entry_count -= self._drop(folder.path) - group_folder.entry_count
            self._put_skill(folder_walk, folder, listed, None, count_before)
            return
        inner = {each.path: each for each in listed.folders}
        for gone in set(group_folder.inner) - inner.keys():
            folder_walk.entry_count -= self._drop(gone)
        self._put_group_folder(folder, listed, entry_count)
        for path, each in inner.items():
            if self._folder(path) != each or self._is_unreadable(path):
                folder_walk.entry_count -= self._drop(path)
                self.walk(folder_walk, each)

    def _reread(self, folder_walk: FolderWalk, skill_folder: AnySkillFolder, where: Locations) -> None:
        """Read a skill folder again. If it is no longer a skill, walk its subfolders."""
        folder = skill_folder.folder
        known = skill_folder if isinstance(skill_folder, PlainSkill) else None
        if folder.target in where:  # the folder itself changed, so read all of it
            known = None
            for location in skill_folder.locations:
                self._facts.forget(location)
        folder_walk.entry_count -= skill_folder.entry_count
        inner = self._visit(
            folder_walk, folder, skill_folder, None if known is None else known.distrust_stamps(where)
        )
        for each in inner:
            self.walk(folder_walk, each)

    def _put_skill(
        self,
        folder_walk: FolderWalk,
        folder: Folder,
        found: PlainSkill | FolderListing,
        before: AnySkillFolder | None,
        count_before: int,
    ) -> None:
        if isinstance(found, PlainSkill):
            self._facts.changed = True
            self._put_plain(folder, found, before)
            if isinstance(found.kept, bytes):
                self._facts.note_kept(found, len(found.kept))
            return
        skill_folder = read_skill_folder(
            folder_walk, self._facts, folder, found, before, count_before=count_before
        )
        if isinstance(before, SkillFolder) and skill_folder == before:
            skill_folder = before  # the same object, so that its records stay the same
        self._put(folder.path, skill_folder)

    def _put_plain(self, folder: Folder, plain: PlainSkill, before: AnySkillFolder | None) -> None:
        if isinstance(before, PlainSkill) and before is not plain:
            plain.keep_record(before)
        if plain.trail is not folder.trail:
            plain.trail = folder.trail
        self._put(folder.path, plain)

    def _put_group_folder(self, folder: Folder, listed: FolderListing, entry_count: int) -> None:
        folders = frozenset(() if listed.unreadable else (folder.target, *listed.extra_folders))
        inner = tuple(each.path for each in listed.folders)
        problems = tuple(listed.problems)
        self._put(folder.path, GroupFolder(folder, inner, problems, folders, listed.entered_all, entry_count))

    def _put(self, path: str, part: GroupFolder | AnySkillFolder) -> None:
        """Put a folder into the tree, in place of the folder that was at this path."""
        before = self._part(path)
        if self._changes is not None:
            self._note_change(path, before, part)
        if before is not None:
            self._remove(path, before)
        if isinstance(part, GroupFolder):
            self.group_folders[path] = part
        else:
            self.skill_folders[path] = part
        self.entry_count += part.entry_count
        if part.problems:
            self._with_problems.add(path)
            self._problems = None
        if not part.entered_all:
            self.partial.add(path)
        if not isinstance(part, PlainSkill):
            self._index_folders(path, part.folders)
        elif self._sorted is not None and not isinstance(before, PlainSkill):
            self._note_location(part.location)
        if self._changes is not None:
            self._note_watched(path, before, part)

    def _remove(self, path: str, part: GroupFolder | AnySkillFolder) -> None:
        """Remove the folder at `path` and its locations from the tree."""
        self.group_folders.pop(path, None)
        self.skill_folders.pop(path, None)
        self.entry_count -= part.entry_count
        if part.problems:
            self._with_problems.discard(path)
            self._problems = None
        self.partial.discard(path)
        if not isinstance(part, PlainSkill):
            self._unindex_folders(path, part.folders)

    def _note_change(
        self,
        path: str,
        before: GroupFolder | AnySkillFolder | None,
        after: GroupFolder | AnySkillFolder | None,
    ) -> None:
        """Record that a skill folder is new, changed or gone."""
        if self._changes is None or (before is None and isinstance(after, GroupFolder)):
            return
        if not isinstance(before, GroupFolder):
            self._changes.setdefault(path, before)
        elif not isinstance(after, GroupFolder):
            self._changes.setdefault(path, None)

    def _note_location(self, location: str) -> None:
        """Add a location to the sorted ones, or drop these if too many were added since they were used."""
        if self._sorted is not None:
            self._unsorted.append(location)
            known = len(self._at) + len(self.skill_folders)
            if len(self._unsorted) > _MAX_INSERTED or len(self._sorted) > 2 * known + _MAX_INSERTED:
                self._sorted = None
                self._unsorted.clear()

    def _note_watched(
        self,
        path: str,
        before: GroupFolder | AnySkillFolder | None,
        after: GroupFolder | AnySkillFolder | None,
    ) -> None:
        """Update the watch revision. In a tree without links, only the root is watched."""
        is_partial = (before is not None and not before.entered_all) or bool(self.partial)
        if (is_partial or not path) and _watched(before) != _watched(after):
            self.watch_revision += 1

    def _part(self, path: str) -> GroupFolder | AnySkillFolder | None:
        return self.group_folders.get(path) or self.skill_folders.get(path)

    def _folder(self, path: str) -> Folder | None:
        part = self._part(path)
        return None if part is None else part.folder

    def _is_unreadable(self, path: str) -> bool:
        """Return whether a folder could not be listed. Its permissions may have changed since then."""
        group_folder = self.group_folders.get(path)
        return group_folder is not None and not group_folder.folders

    def _drop(self, path: str) -> int:
        """Remove the folder at `path` and all folders below it from the tree.

        Return the number of their entries.
        """
        if (part := self._part(path)) is None:
            return 0
        self._note_change(path, part, None)
        for location in () if isinstance(part, GroupFolder) else part.locations:
            self._facts.forget(location)
        self._remove(path, part)
        self._note_watched(path, part, None)
        inner = part.inner if isinstance(part, GroupFolder) else ()
        return part.entry_count + sum(map(self._drop, inner))

    def _paths_at(self, folder: str) -> Iterator[str]:
        """Yield the paths of the folders in the tree to which the folder at this location belongs."""
        known = self._at.get(folder, ())
        yield from (known,) if isinstance(known, str) else known
        # The folders of a plain skill are not in the index, because without links, path and location
        # correspond.
        path = self._path_below_root(folder)
        if path is not None:
            for each in (path, *parent_paths(path), ""):
                if isinstance(self.skill_folders.get(each), PlainSkill):
                    yield each

    def _path_below_root(self, location: str) -> str | None:
        """Return the path of a location relative to the root, ignoring links, or None if it is outside."""
        root = self._folder("")
        if root is None or not f"{location}{os.sep}".startswith(join_location(root.location, "")):
            return None
        return location[len(join_location(root.location, "")) :].replace(os.sep, "/")

    def _index_folders(self, path: str, folders: Iterable[str]) -> None:
        for folder in folders:
            if folder not in self._at:
                self._note_location(folder)
            known = self._at.setdefault(folder, path)
            if isinstance(known, set):
                known.add(path)
            elif known != path:
                self._at[folder] = {known, path}

    def _unindex_folders(self, path: str, folders: Iterable[str]) -> None:
        for folder in folders:
            known = self._at.get(folder)
            if isinstance(known, set):
                known.discard(path)
            if not known or known == path:
                self._at.pop(folder, None)


def _watched(part: GroupFolder | AnySkillFolder | None) -> tuple[object, ...]:
    """Return everything that determines which folders are watched."""
    if part is None:
        return ()
    inner = part.inner if isinstance(part, GroupFolder) else ()
    return part.folder, frozenset(part.folders), part.entered_all, inner
