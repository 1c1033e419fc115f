"""Which folders to watch, so that every change is noticed and nothing else is watched."""

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from skillwire.sources.base import Locations
from skillwire.sources.folder.skill_folder import SkillFolder
from skillwire.sources.folder.tree import GroupFolder, Tree


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """Folders by how they are watched.

    A watcher that goes into every folder below also follows links and enters what nobody serves, such as
    `node_modules`. So it is let loose only where every folder was looked into; elsewhere each is watched
    alone.
    """

    ancestors: frozenset[str] = frozenset()
    """Every folder and link on the way to what is watched: it may come, go or lead elsewhere."""
    ancestor_parents: frozenset[str] = frozenset()
    """The folders that hold waypoints. Nothing else in them matters."""
    deep: frozenset[str] = frozenset()
    """With everything below."""
    flat: frozenset[str] = frozenset()
    """Alone."""
    identities: frozenset[tuple[str, int, int]] = frozenset()
    """Device and inode of each: a watch is on the folder that was there, not on its path."""

    @classmethod
    def of(cls, root: str | os.PathLike[str], tree: Tree) -> "WatchPlan":
        """Return the plan for a root, and what a scan found below it."""
        deep: set[str] = set()
        flat: set[str] = set()
        # Copies: another thread may be looking again at the same tree.
        group_folders, skill_folders = dict(tree.group_folders), dict(tree.skill_folders)
        parts: dict[str, GroupFolder | SkillFolder] = {**skill_folders, **group_folders}
        fully_listed = _find_fully_listed(group_folders, skill_folders)
        pending = [part for path, part in parts.items() if path == ""]
        while pending:
            part = pending.pop()
            if part.folder.path in fully_listed:
                deep.add(part.folder.target)
                continue
            flat.update(part.folders)
            if isinstance(part, GroupFolder):
                pending.extend(parts[path] for path in part.inner if path in parts)
        real = os.path.realpath(root)
        if not parts and os.path.isdir(real):  # noqa: PTH112 - plain string operations throughout
            flat.add(real)
        return cls._with_ancestors([os.fspath(root)], deep, flat)

    @classmethod
    def for_skill_folders(cls, skill_folders: Iterable[SkillFolder], locations: Locations) -> "WatchPlan":
        """Return the plan for those units alone that hold a skill at one of `locations`, or did once."""
        # By its folder, not by its skills: one that is broken now may be mended.
        chosen = [
            unit
            for unit in skill_folders
            if any(_inside(location, unit.folder.location) for location in locations)
        ]
        folders = {folder for unit in chosen for folder in unit.folders}
        return cls._with_ancestors(locations, set(), folders)

    @classmethod
    def _with_ancestors(
        cls, places: Iterable[str], deep: Collection[str], flat: Collection[str]
    ) -> "WatchPlan":
        ancestors = {point for place in places for point in _find_ancestors(place)}
        ancestor_parents = {os.path.dirname(point) for point in ancestors}  # noqa: PTH120
        there = frozenset(gate for gate in ancestor_parents if os.path.isdir(gate))  # noqa: PTH112
        plan = cls(frozenset(ancestors), there, frozenset(deep), frozenset(flat))
        return replace(plan, identities=frozenset(_identities(plan.folders)))

    @property
    def shallow_folders(self) -> frozenset[str]:
        """Every folder that is watched alone."""
        return self.flat | self.ancestor_parents

    @property
    def folders(self) -> frozenset[str]:
        """Every folder that is watched."""
        return self.shallow_folders | self.deep

    def filter_relevant(self, locations: Iterable[str]) -> Locations:
        """Return those locations at which something happened that can make a difference."""
        return frozenset(filter(self.is_relevant, locations))

    def is_relevant(self, location: str) -> bool:
        """Whether what happened at `location` can make a difference."""
        folder = os.path.dirname(location)  # noqa: PTH120
        if folder not in self.ancestor_parents or folder in self.flat or location in self.flat:
            return True
        # In a deep folder around the gate, too, but then it is a change like any other.
        return location in self.ancestors or any(_inside(location, deep) for deep in self.deep)

    def new_since(self, before: "WatchPlan") -> frozenset[str]:
        """Return the folders of this plan that the one before did not watch, under this name or at all."""
        served = self.deep | self.flat
        new = served - before.deep - before.flat
        new |= {path for path, *_ in self.identities - before.identities if path in served}
        old = before.deep - new
        return frozenset(each for each in new if not any(_inside(each, deep) for deep in old))

    def without(self, locations: Locations) -> "WatchPlan":
        """Return the plan as if these were not watched: something happened to the very folders."""
        return replace(
            self,
            deep=self.deep - locations,
            flat=self.flat - locations,
            ancestor_parents=self.ancestor_parents - locations,
            identities=frozenset(each for each in self.identities if each[0] not in locations),
        )


def _find_fully_listed(
    group_folders: dict[str, GroupFolder], skill_folders: dict[str, SkillFolder]
) -> set[str]:
    """Return the paths below which every folder was looked into, and nothing is a link."""
    fully_listed = {path for path, unit in skill_folders.items() if unit.entered_all}
    # Longer paths stand deeper: what is inside is decided before what is around it.
    for path in sorted(group_folders, key=len, reverse=True):
        if group_folders[path].entered_all and all(
            inner in fully_listed for inner in group_folders[path].inner
        ):
            fully_listed.add(path)
    return fully_listed


def _find_ancestors(place: str) -> set[str]:
    """Return every folder and link that leads to a place, as it is named and where it really is."""
    found: set[str] = set()
    pending = [os.path.abspath(place), os.path.realpath(place)]  # noqa: PTH100
    while pending:
        point = pending.pop()
        if point in found or point == os.path.dirname(point):  # noqa: PTH120
            continue
        found.add(point)
        pending.append(os.path.dirname(point))  # noqa: PTH120
        if os.path.islink(point):  # noqa: PTH114
            target = os.path.join(os.path.dirname(point), os.readlink(point))  # noqa: PTH115, PTH118, PTH120
            pending.append(os.path.abspath(target))  # noqa: PTH100
    return found


def _identities(folders: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    for folder in folders:
        try:
            status = os.stat(folder)  # noqa: PTH116
        except OSError:
            continue
        yield folder, status.st_dev, status.st_ino


def _inside(location: str, folder: str) -> bool:
    return location.startswith(folder.rstrip(os.sep) + os.sep) or location == folder
