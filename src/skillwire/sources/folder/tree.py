"""The folders and skills found below a root, stored so that a rescan reads only changes."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from skillwire.core.names import parent_paths
from skillwire.core.problem import Problem
from skillwire.sources.base import Locations
from skillwire.sources.folder.facts import FileFactsCache
from skillwire.sources.folder.fast_reader import read_plain_skill
from skillwire.sources.folder.listing import Folder, FolderListing, folder_identity, join_location
from skillwire.sources.folder.reader import read_skill_folder
from skillwire.sources.folder.scan_cache import CachedSkill
from skillwire.sources.folder.skill_folder import SkillFolder
from skillwire.sources.folder.walk import FolderWalk

_AFTER_SEP = chr(ord(os.sep) + 1)
"""Sorts directly after every string that begins with the separator."""

FindCached: TypeAlias = Callable[[str], CachedSkill | None]
"""A function that returns the cached plain skill in the folder at a path, or None."""


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

    def __init__(self, facts: FileFactsCache) -> None:
        self.group_folders: dict[str, GroupFolder] = {}
        self.skill_folders: dict[str, SkillFolder] = {}
        self.cut = False
        """Whether a limit stopped the walk, so that the tree is incomplete."""
        self._facts = facts
        self.plain: dict[str, CachedSkill] = {}
        """The skill folders that were read in one pass, with their stamps, by path."""
        self._at: dict[str, str | set[str]] = {}
        """The path, or set of paths, of each folder outside plain skills, by location."""

    @property
    def entry_count(self) -> int:
        """Number of files and folders in the tree."""
        parts = (*self.group_folders.values(), *self.skill_folders.values())
        return sum(part.entry_count for part in parts)

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of all folders, ordered by path."""
        parts = (*self.group_folders.values(), *self.skill_folders.values())
        for part in sorted((part for part in parts if part.problems), key=lambda part: part.folder.path):
            yield from part.problems

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
        if find_cached is None:
            find_cached = ({} if before is None else before.plain).get
        pending = [start]
        while pending and not folder_walk.exhausted:
            folder = pending.pop()
            last, known = skill_folders.get(folder.path), find_cached(folder.path)
            if known is not None and self._is_unchanged(folder_walk, folder, known):
                folder_walk.count(known.entry_count)
                self._put_plain(folder, known, last)
            else:
                pending.extend(reversed(self._visit(folder_walk, folder, last, known)))
        self.cut = self.cut or folder_walk.exhausted

    def _is_unchanged(self, folder_walk: FolderWalk, folder: Folder, known: CachedSkill) -> bool:
        if (
            folder_walk.has_patterns
            or folder_walk.entry_count + known.entry_count > folder_walk.limits.entries
        ):
            return False
        same_place = folder.target == folder.location == known.draft.location
        return same_place and folder_walk.has_reliable_mtime(folder) and known.is_current()

    def _visit(
        self, folder_walk: FolderWalk, folder: Folder, last: SkillFolder | None, known: CachedSkill | None
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
        self, folder_walk: FolderWalk, folder: Folder, known: CachedSkill | None
    ) -> CachedSkill | FolderListing:
        return folder_walk.take(
            folder,
            lambda open_folder: read_plain_skill(folder_walk, open_folder, known, self._facts.spill_file),
        )

    def rescan_locations(self, folder_walk: FolderWalk, where: Locations) -> set[str]:
        """Rescan the folders at these locations. Return the paths of new, changed and gone skill folders."""
        for location in where:
            self._facts.forget(location)
        before = dict(self.skill_folders)
        # Outer folders first, because folders that they drop need no rescan.
        for path in sorted(self._find_affected(where)):
            if (group_folder := self.group_folders.get(path)) is not None:
                self._revisit(folder_walk, group_folder)
            elif (skill_folder := self.skill_folders.get(path)) is not None:
                self._reread(folder_walk, skill_folder, where)
        return {path for path, each in self.skill_folders.items() if before.get(path) is not each} | (
            before.keys() - self.skill_folders.keys()
        )

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
        if moved := [each for each in where if each in self._at or self._path_below_root(each) in self.plain]:
            # If a folder no longer exists, the folders below it do not exist either, and links from elsewhere
            # may lead there.
            plain = any(each in self._at for each in moved)  # a plain skill contains no other skill
            known = sorted((*self._at, *(each.draft.location for each in self.plain.values() if plain)))
            for location in moved:
                below = (
                    bisect_left(known, f"{location}{os.sep}"),
                    bisect_left(known, f"{location}{_AFTER_SEP}"),
                )
                folders |= {location, *known[slice(*below)]}
        return {path for folder in folders for path in self._paths_at(folder)}

    def _revisit(self, folder_walk: FolderWalk, group_folder: GroupFolder) -> None:
        """List a group folder again. Walk its new subfolders, and drop subfolders that no longer exist.

        If the folder has become a skill, read the skill instead.
        """
        folder = group_folder.folder
        folder_walk.entry_count -= group_folder.entry_count
        count_before = folder_walk.entry_count
        listed = self._list_or_read(folder_walk, folder, None)
        entry_count = folder_walk.entry_count - count_before
        if isinstance(listed, CachedSkill) or listed.marker is not None:
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

    def _reread(self, folder_walk: FolderWalk, skill_folder: SkillFolder, where: Locations) -> None:
        """Read a skill folder again. If it is no longer a skill, walk its subfolders."""
        known = self.plain.get(skill_folder.folder.path)
        if skill_folder.folder.target in where:  # the folder itself changed, so read all of it
            known = None
            for location in skill_folder.locations:
                self._facts.forget(location)
        folder_walk.entry_count -= skill_folder.entry_count
        inner = self._visit(
            folder_walk,
            skill_folder.folder,
            skill_folder,
            None if known is None else known.distrust_stamps(where),
        )
        for folder in inner:
            self.walk(folder_walk, folder)

    def _put_skill(
        self,
        folder_walk: FolderWalk,
        folder: Folder,
        found: CachedSkill | FolderListing,
        before: SkillFolder | None,
        count_before: int,
    ) -> None:
        if isinstance(found, CachedSkill):
            self._facts.changed = True
            self._put_plain(folder, found, before)
            return
        skill_folder = read_skill_folder(
            folder_walk, self._facts, folder, found, before, count_before=count_before
        )
        if (
            before is not None and skill_folder == before
        ):  # the same object, so that its records stay the same
            skill_folder = before
        self._forget(folder.path)
        self.skill_folders[folder.path] = skill_folder
        self._index_folders(folder.path, skill_folder.folders)

    def _put_plain(self, folder: Folder, plain: CachedSkill, before: SkillFolder | None) -> None:
        skill_folder = plain.as_skill_folder(folder)
        if before is not None and skill_folder == before:
            skill_folder, plain = before, plain._replace(draft=before.drafts[0])
        self._forget(folder.path)
        self.skill_folders[folder.path], self.plain[folder.path] = skill_folder, plain

    def _put_group_folder(self, folder: Folder, listed: FolderListing, entry_count: int) -> None:
        folders = frozenset(() if listed.unreadable else (folder.target, *listed.extra_folders))
        inner = tuple(each.path for each in listed.folders)
        self._forget(folder.path)
        self.group_folders[folder.path] = GroupFolder(
            folder, inner, tuple(listed.problems), folders, listed.entered_all, entry_count
        )
        self._index_folders(folder.path, folders)

    def _folder(self, path: str) -> Folder | None:
        part = self.group_folders.get(path) or self.skill_folders.get(path)
        return None if part is None else part.folder

    def _is_unreadable(self, path: str) -> bool:
        """Return whether a folder could not be listed. Its permissions may have changed since then."""
        group_folder = self.group_folders.get(path)
        return group_folder is not None and not group_folder.folders

    def _drop(self, path: str) -> int:
        """Remove the folder at `path` and all folders below it from the tree.

        Return the number of their entries.
        """
        part = self._forget(path)
        if isinstance(part, SkillFolder):
            for location in part.locations:
                self._facts.forget(location)
        inner = part.inner if isinstance(part, GroupFolder) else ()
        return 0 if part is None else part.entry_count + sum(map(self._drop, inner))

    def _forget(self, path: str) -> GroupFolder | SkillFolder | None:
        """Remove the folder at `path` and its locations from the tree. Return the folder, or None."""
        part = self.group_folders.pop(path, None) or self.skill_folders.pop(path, None)
        if part is None:
            return None
        if self.plain.pop(path, None) is None:
            self._unindex_folders(path, part.folders)
        return part

    def _paths_at(self, folder: str) -> Iterator[str]:
        """Yield the paths of the folders in the tree to which the folder at this location belongs."""
        known = self._at.get(folder, ())
        yield from (known,) if isinstance(known, str) else known
        # The folders of a plain skill are not in the index, because without links, path and location
        # correspond.
        path = self._path_below_root(folder)
        if path is not None:
            yield from (each for each in (path, *parent_paths(path), "") if each in self.plain)

    def _path_below_root(self, location: str) -> str | None:
        """Return the path of a location relative to the root, ignoring links, or None if it is outside."""
        root = self._folder("")
        if root is None or not f"{location}{os.sep}".startswith(join_location(root.location, "")):
            return None
        return location[len(join_location(root.location, "")) :].replace(os.sep, "/")

    def _index_folders(self, path: str, folders: Iterable[str]) -> None:
        for folder in folders:
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
