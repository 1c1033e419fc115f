"""What a walk over a root found, kept so that the next look costs what changed and not what is there."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from skillwire.core.names import prefixes
from skillwire.core.problem import Problem
from skillwire.sources.base import Locations
from skillwire.sources.folder.facts import FactCache
from skillwire.sources.folder.fast_reader import read_plain_skill
from skillwire.sources.folder.listing import Folder, Listed, identity_of, joined
from skillwire.sources.folder.reader import read_skill_folder
from skillwire.sources.folder.scan_cache import CachedSkill
from skillwire.sources.folder.skill_folder import SkillFolder
from skillwire.sources.folder.walk import FolderWalk

_BEHIND_SEP = chr(ord(os.sep) + 1)
"""What sorts right behind everything that begins with the separator."""

Recall: TypeAlias = Callable[[str], CachedSkill | None]
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

    def __init__(self, facts: FactCache) -> None:
        self.group_folders: dict[str, GroupFolder] = {}
        self.units: dict[str, SkillFolder] = {}
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
        parts = (*self.group_folders.values(), *self.units.values())
        return sum(part.seen for part in parts)

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong, from the first folder to the last."""
        parts = (*self.group_folders.values(), *self.units.values())
        for part in sorted((part for part in parts if part.problems), key=lambda part: part.folder.path):
            yield from part.problems

    def walk(
        self, look: FolderWalk, start: Folder, before: "Tree | None" = None, recall: Recall | None = None
    ) -> None:
        """Look at `start` and everything below it. What was good in the tree `before` is not lost.

        What `recall` knows of a plain skill is not read again, as far as it still is so.
        """
        units = {} if before is None else before.units
        if recall is None:
            recall = ({} if before is None else before.plain).get
        pending = [start]
        while pending and not look.exhausted:
            folder = pending.pop()
            last, known = units.get(folder.path), recall(folder.path)
            if known is not None and self._is_unchanged(look, folder, known):
                look.count(known.seen)
                self._put_plain(folder, known, last)
            else:
                pending.extend(reversed(self._visit(look, folder, last, known)))
        self.cut = self.cut or look.exhausted

    def _is_unchanged(self, look: FolderWalk, folder: Folder, known: CachedSkill) -> bool:
        if look.has_patterns or look.seen + known.seen > look.limits.entries:
            return False
        same_place = folder.target == folder.location == known.draft.location
        return same_place and look.trusts_times_of(folder) and known.is_current()

    def _visit(
        self, look: FolderWalk, folder: Folder, last: SkillFolder | None, known: CachedSkill | None
    ) -> list[Folder]:
        """Look into a folder, and put what it is; return the folders that are still to be looked into."""
        already = look.seen
        found = self._look_into(look, folder, known)
        if isinstance(found, Listed) and found.marker is None:
            self._put_passage(folder, found, look.seen - already)
            return found.folders
        self._put_skill(look, folder, found, last, already)
        return []

    def _look_into(self, look: FolderWalk, folder: Folder, known: CachedSkill | None) -> CachedSkill | Listed:
        return look.take(folder, lambda inside: read_plain_skill(look, inside, known, self._facts.spool))

    def look_again(self, look: FolderWalk, where: Locations) -> set[str]:
        """Look again at what stands at these real locations; return the paths of units that may differ."""
        for location in where:
            self._facts.forget(location)
        before = dict(self.units)
        # Outer folders first: what they drop need not be looked at.
        for path in sorted(self._touched(where)):
            if (passage := self.group_folders.get(path)) is not None:
                self._revisit(look, passage)
            elif (unit := self.units.get(path)) is not None:
                self._reread(look, unit, where)
        return {path for path, unit in self.units.items() if before.get(path) is not unit} | (
            before.keys() - self.units.keys()
        )

    def is_stale(self, where: Locations) -> bool:
        """Whether a folder on the way to one of these locations is not the one that it was."""
        around = {folder for path in self._touched(where) for folder in ("", *prefixes(path))}
        return any(self._replaced(path) for path in around)

    def _replaced(self, path: str) -> bool:
        if (folder := self._folder(path)) is None:
            return False
        try:
            return identity_of(os.stat(folder.location)) != folder.identity  # noqa: PTH116
        except OSError:
            return True

    def _touched(self, where: Locations) -> set[str]:
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

    def _revisit(self, look: FolderWalk, passage: GroupFolder) -> None:
        """List a passage again; walk what is new in it, and drop what is gone."""
        folder = passage.folder
        look.seen -= passage.seen
        already = look.seen
        listed = self._look_into(look, folder, None)
        seen = look.seen - already
        if isinstance(listed, CachedSkill) or listed.marker is not None:
            look.seen -= self._drop(folder.path) - passage.seen
            self._put_skill(look, folder, listed, None, already)
            return
        inner = {each.path: each for each in listed.folders}
        for gone in set(passage.inner) - inner.keys():
            look.seen -= self._drop(gone)
        self._put_passage(folder, listed, seen)
        for path, each in inner.items():
            if self._folder(path) != each or self._closed(path):
                look.seen -= self._drop(path)
                self.walk(look, each)

    def _reread(self, look: FolderWalk, unit: SkillFolder, where: Locations) -> None:
        """Read a unit again. A folder that is no skill any more may hold some."""
        known = self.plain.get(unit.folder.path)
        if unit.folder.target in where:  # all of it
            known = None
            for location in unit.locations:
                self._facts.forget(location)
        look.seen -= unit.seen
        inner = self._visit(look, unit.folder, unit, None if known is None else known.doubting(where))
        for folder in inner:
            self.walk(look, folder)

    def _put_skill(
        self,
        look: FolderWalk,
        folder: Folder,
        found: CachedSkill | Listed,
        before: SkillFolder | None,
        already: int,
    ) -> None:
        if isinstance(found, CachedSkill):
            self._facts.changed = True
            self._put_plain(folder, found, before)
            return
        unit = read_skill_folder(look, self._facts, folder, found, before, already=already)
        if before is not None and unit == before:  # what follows from it can stay as it is, too
            unit = before
        self._forget(folder.path)
        self.units[folder.path] = unit
        self._list(folder.path, unit.folders)

    def _put_plain(self, folder: Folder, plain: CachedSkill, before: SkillFolder | None) -> None:
        unit = plain.unit(folder)
        if before is not None and unit == before:
            unit, plain = before, plain._replace(draft=before.drafts[0])
        self._forget(folder.path)
        self.units[folder.path], self.plain[folder.path] = unit, plain

    def _put_passage(self, folder: Folder, listed: Listed, seen: int) -> None:
        folders = frozenset(() if listed.closed else (folder.target, *listed.outposts))
        inner = tuple(each.path for each in listed.folders)
        self._forget(folder.path)
        self.group_folders[folder.path] = GroupFolder(
            folder, inner, tuple(listed.problems), folders, listed.entered_all, seen
        )
        self._list(folder.path, folders)

    def _folder(self, path: str) -> Folder | None:
        part = self.group_folders.get(path) or self.units.get(path)
        return None if part is None else part.folder

    def _closed(self, path: str) -> bool:
        """Whether nothing could be seen of a folder: its permissions may be others by now."""
        passage = self.group_folders.get(path)
        return passage is not None and not passage.folders

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
        part = self.group_folders.pop(path, None) or self.units.pop(path, None)
        if part is None:
            return None
        if self.plain.pop(path, None) is None:
            self._unlist(path, part.folders)
        return part

    def _paths_at(self, folder: str) -> Iterator[str]:
        """Yield the paths that a real folder belongs to."""
        known = self._at.get(folder, ())
        yield from (known,) if isinstance(known, str) else known
        # The folders of a plain unit are not written down: they are where their paths say.
        path = self._path_below_root(folder)
        if path is not None:
            yield from (each for each in (path, *prefixes(path), "") if each in self.plain)

    def _path_below_root(self, location: str) -> str | None:
        """Return the path that a location has if no link leads there."""
        root = self._folder("")
        if root is None or not f"{location}{os.sep}".startswith(joined(root.location, "")):
            return None
        return location[len(joined(root.location, "")) :].replace(os.sep, "/")

    def _list(self, path: str, folders: Iterable[str]) -> None:
        for folder in folders:
            known = self._at.setdefault(folder, path)
            if isinstance(known, set):
                known.add(path)
            elif known != path:
                self._at[folder] = {known, path}

    def _unlist(self, path: str, folders: Iterable[str]) -> None:
        for folder in folders:
            known = self._at.get(folder)
            if isinstance(known, set):
                known.discard(path)
            if not known or known == path:
                self._at.pop(folder, None)
