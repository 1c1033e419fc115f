"""What a walk over a root found, kept so that the next look costs what changed and not what is there."""

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

_BEHIND_SEP = chr(ord(os.sep) + 1)
"""What sorts right behind everything that begins with the separator."""

FindCached: TypeAlias = Callable[[str], CachedSkill | None]
"""Returns what is known of the plain skill in the folder at a path, if anything is."""


@dataclass(frozen=True, slots=True)
class GroupFolder:
    """A folder that is no skill: only the way to others."""

    folder: Folder
    inner: tuple[str, ...]
    """The paths of the folders in it that were looked into."""
    problems: tuple[Problem, ...]
    folders: frozenset[str]
    """Where it really is on this machine, and further folders that decide what stands in it."""
    entered_all: bool
    seen: int


class Tree:
    """Passages and units, by their paths below the root. Outer ones were there before inner ones."""

    def __init__(self, facts: FileFactsCache) -> None:
        self.group_folders: dict[str, GroupFolder] = {}
        self.skill_folders: dict[str, SkillFolder] = {}
        self.cut = False
        """Whether a bound stopped the walk: what lies behind it is not known."""
        self._facts = facts
        self.plain: dict[str, CachedSkill] = {}
        """Of the units, those that were read in one pass, with the stamps by which they are known again."""
        self._at: dict[str, str | set[str]] = {}
        """The paths that each real folder of all others belongs to: mostly one, and then it is no set."""

    @property
    def seen(self) -> int:
        """How many files and folders it took to look at all this."""
        parts = (*self.group_folders.values(), *self.skill_folders.values())
        return sum(part.seen for part in parts)

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong, from the first folder to the last."""
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
        """Look at `start` and everything below it. What was good in the tree `before` is not lost.

        What `find_cached` knows of a plain skill is not read again, as far as it still is so.
        """
        skill_folders = {} if before is None else before.skill_folders
        if find_cached is None:
            find_cached = ({} if before is None else before.plain).get
        pending = [start]
        while pending and not folder_walk.exhausted:
            folder = pending.pop()
            last, known = skill_folders.get(folder.path), find_cached(folder.path)
            if known is not None and self._is_unchanged(folder_walk, folder, known):
                folder_walk.count(known.seen)
                self._put_plain(folder, known, last)
            else:
                pending.extend(reversed(self._visit(folder_walk, folder, last, known)))
        self.cut = self.cut or folder_walk.exhausted

    def _is_unchanged(self, folder_walk: FolderWalk, folder: Folder, known: CachedSkill) -> bool:
        if folder_walk.has_patterns or folder_walk.seen + known.seen > folder_walk.limits.entries:
            return False
        same_place = folder.target == folder.location == known.draft.location
        return same_place and folder_walk.has_reliable_mtime(folder) and known.is_current()

    def _visit(
        self, folder_walk: FolderWalk, folder: Folder, last: SkillFolder | None, known: CachedSkill | None
    ) -> list[Folder]:
        """Look into a folder, and put what it is; return the folders that are still to be looked into."""
        already = folder_walk.seen
        found = self._list_or_read(folder_walk, folder, known)
        if isinstance(found, FolderListing) and found.marker is None:
            self._put_group_folder(folder, found, folder_walk.seen - already)
            return found.folders
        self._put_skill(folder_walk, folder, found, last, already)
        return []

    def _list_or_read(
        self, folder_walk: FolderWalk, folder: Folder, known: CachedSkill | None
    ) -> CachedSkill | FolderListing:
        return folder_walk.take(
            folder,
            lambda open_folder: read_plain_skill(folder_walk, open_folder, known, self._facts.spill_file),
        )

    def rescan_locations(self, folder_walk: FolderWalk, where: Locations) -> set[str]:
        """Look again at what stands at these real locations; return the paths of units that may differ."""
        for location in where:
            self._facts.forget(location)
        before = dict(self.skill_folders)
        # Outer folders first: what they drop need not be looked at.
        for path in sorted(self._find_affected(where)):
            if (group_folder := self.group_folders.get(path)) is not None:
                self._revisit(folder_walk, group_folder)
            elif (unit := self.skill_folders.get(path)) is not None:
                self._reread(folder_walk, unit, where)
        return {path for path, unit in self.skill_folders.items() if before.get(path) is not unit} | (
            before.keys() - self.skill_folders.keys()
        )

    def is_stale(self, where: Locations) -> bool:
        """Whether a folder on the way to one of these locations is not the one that it was."""
        around = {folder for path in self._find_affected(where) for folder in ("", *parent_paths(path))}
        return any(self._is_replaced(path) for path in around)

    def _is_replaced(self, path: str) -> bool:
        if (folder := self._folder(path)) is None:
            return False
        try:
            return folder_identity(os.stat(folder.location)) != folder.identity  # noqa: PTH116
        except OSError:
            return True

    def _find_affected(self, where: Locations) -> set[str]:
        """Return the paths of all that a change at these locations can make different."""
        folders = {os.path.dirname(location) for location in where}  # noqa: PTH120
        if moved := [each for each in where if each in self._at or self._path_below_root(each) in self.plain]:
            # A folder that went away took those below with it, and links may lead there from elsewhere.
            plain = any(each in self._at for each in moved)  # in a plain unit there is no other
            known = sorted((*self._at, *(each.draft.location for each in self.plain.values() if plain)))
            for location in moved:
                below = (
                    bisect_left(known, f"{location}{os.sep}"),
                    bisect_left(known, f"{location}{_BEHIND_SEP}"),
                )
                folders |= {location, *known[slice(*below)]}
        return {path for folder in folders for path in self._paths_at(folder)}

    def _revisit(self, folder_walk: FolderWalk, group_folder: GroupFolder) -> None:
        """List a passage again; walk what is new in it, and drop what is gone."""
        folder = group_folder.folder
        folder_walk.seen -= group_folder.seen
        already = folder_walk.seen
        listed = self._list_or_read(folder_walk, folder, None)
        seen = folder_walk.seen - already
        if isinstance(listed, CachedSkill) or listed.marker is not None:
            folder_walk.seen -= self._drop(folder.path) - group_folder.seen
            self._put_skill(folder_walk, folder, listed, None, already)
            return
        inner = {each.path: each for each in listed.folders}
        for gone in set(group_folder.inner) - inner.keys():
            folder_walk.seen -= self._drop(gone)
        self._put_group_folder(folder, listed, seen)
        for path, each in inner.items():
            if self._folder(path) != each or self._is_unreadable(path):
                folder_walk.seen -= self._drop(path)
                self.walk(folder_walk, each)

    def _reread(self, folder_walk: FolderWalk, unit: SkillFolder, where: Locations) -> None:
        """Read a unit again. A folder that is no skill any more may hold some."""
        known = self.plain.get(unit.folder.path)
        if unit.folder.target in where:  # all of it
            known = None
            for location in unit.locations:
                self._facts.forget(location)
        folder_walk.seen -= unit.seen
        inner = self._visit(
            folder_walk, unit.folder, unit, None if known is None else known.distrust_stamps(where)
        )
        for folder in inner:
            self.walk(folder_walk, folder)

    def _put_skill(
        self,
        folder_walk: FolderWalk,
        folder: Folder,
        found: CachedSkill | FolderListing,
        before: SkillFolder | None,
        already: int,
    ) -> None:
        if isinstance(found, CachedSkill):
            self._facts.changed = True
            self._put_plain(folder, found, before)
            return
        unit = read_skill_folder(folder_walk, self._facts, folder, found, before, already=already)
        if before is not None and unit == before:  # what follows from it can stay as it is, too
            unit = before
        self._forget(folder.path)
        self.skill_folders[folder.path] = unit
        self._index_folders(folder.path, unit.folders)

    def _put_plain(self, folder: Folder, plain: CachedSkill, before: SkillFolder | None) -> None:
        unit = plain.unit(folder)
        if before is not None and unit == before:
            unit, plain = before, plain._replace(draft=before.drafts[0])
        self._forget(folder.path)
        self.skill_folders[folder.path], self.plain[folder.path] = unit, plain

    def _put_group_folder(self, folder: Folder, listed: FolderListing, seen: int) -> None:
        folders = frozenset(() if listed.closed else (folder.target, *listed.outposts))
        inner = tuple(each.path for each in listed.folders)
        self._forget(folder.path)
        self.group_folders[folder.path] = GroupFolder(
            folder, inner, tuple(listed.problems), folders, listed.entered_all, seen
        )
        self._index_folders(folder.path, folders)

    def _folder(self, path: str) -> Folder | None:
        part = self.group_folders.get(path) or self.skill_folders.get(path)
        return None if part is None else part.folder

    def _is_unreadable(self, path: str) -> bool:
        """Whether nothing could be seen of a folder: its permissions may be others by now."""
        group_folder = self.group_folders.get(path)
        return group_folder is not None and not group_folder.folders

    def _drop(self, path: str) -> int:
        """Forget what stands at `path` and below; return how much of the budget that frees."""
        part = self._forget(path)
        if isinstance(part, SkillFolder):
            for location in part.locations:
                self._facts.forget(location)
        inner = part.inner if isinstance(part, GroupFolder) else ()
        return 0 if part is None else part.seen + sum(map(self._drop, inner))

    def _forget(self, path: str) -> GroupFolder | SkillFolder | None:
        """Forget what stands at `path`, and where its folders are; return what it was."""
        part = self.group_folders.pop(path, None) or self.skill_folders.pop(path, None)
        if part is None:
            return None
        if self.plain.pop(path, None) is None:
            self._unindex_folders(path, part.folders)
        return part

    def _paths_at(self, folder: str) -> Iterator[str]:
        """Yield the paths that a real folder belongs to."""
        known = self._at.get(folder, ())
        yield from (known,) if isinstance(known, str) else known
        # The folders of a plain unit are not written down: they are where their paths say.
        path = self._path_below_root(folder)
        if path is not None:
            yield from (each for each in (path, *parent_paths(path), "") if each in self.plain)

    def _path_below_root(self, location: str) -> str | None:
        """Return the path that a location has if no link leads there."""
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
