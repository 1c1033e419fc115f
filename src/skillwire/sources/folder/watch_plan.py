"""Decide which folders to watch: only the folders that can affect the skills."""

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from skillwire.sources.base import Locations
from skillwire.sources.folder.skill_folder import SkillFolder
from skillwire.sources.folder.tree import GroupFolder, Tree


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """The folders to watch, grouped by the way in which they are watched.

    A recursive watch also follows links and enters folders that are not served, such as `node_modules`. So it
    is used only below folders where the scan entered every folder. All other folders are watched
    individually.
    """

    ancestors: frozenset[str] = frozenset()
    """Every folder and link on the path to the root or a chosen skill. It may appear, disappear or change."""
    ancestor_parents: frozenset[str] = frozenset()
    """The existing folders that contain ancestors. Only changes to the ancestors in them matter."""
    deep: frozenset[str] = frozenset()
    """Folders that are watched recursively."""
    flat: frozenset[str] = frozenset()
    """Folders that are watched without their subfolders."""
    identities: frozenset[tuple[str, int, int]] = frozenset()
    """Location, device and inode of each watched folder. A watch follows the folder and not its path."""

    @classmethod
    def of(cls, root: str | os.PathLike[str], tree: Tree) -> "WatchPlan":
        """Return the plan for a root and the tree that a scan found below it."""
        deep: set[str] = set()
        flat: set[str] = set()
        # Copies, because another thread may be rescanning the tree.
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
        if not parts and os.path.isdir(real):  # noqa: PTH112 - locations are strings throughout
            flat.add(real)
        return cls._with_ancestors([os.fspath(root)], deep, flat)

    @classmethod
    def for_skill_folders(cls, skill_folders: Iterable[SkillFolder], locations: Locations) -> "WatchPlan":
        """Return the plan for the skill folders that are at, or contain, one of `locations`."""
        # Select folders and not skills, because a skill that is broken now may be fixed.
        chosen = [
            each
            for each in skill_folders
            if any(_inside(location, each.folder.location) for location in locations)
        ]
        folders = {folder for each in chosen for folder in each.folders}
        return cls._with_ancestors(locations, set(), folders)

    @classmethod
    def for_file(cls, path: str | os.PathLike[str]) -> "WatchPlan":
        """Return the plan for one file, which need not exist: its folder, or the nearest that exists."""
        folders = {os.path.dirname(each) for each in (os.path.abspath(path), os.path.realpath(path))}  # noqa: PTH100, PTH120
        return cls._with_ancestors([os.fspath(path)], set(), set(filter(os.path.isdir, folders)))

    @classmethod
    def _with_ancestors(
        cls, targets: Iterable[str], deep: Collection[str], flat: Collection[str]
    ) -> "WatchPlan":
        ancestors = {ancestor for target in targets for ancestor in _find_ancestors(target)}
        parents = {os.path.dirname(ancestor) for ancestor in ancestors}  # noqa: PTH120
        existing = frozenset(parent for parent in parents if os.path.isdir(parent))  # noqa: PTH112
        plan = cls(frozenset(ancestors), existing, frozenset(deep), frozenset(flat))
        identities = frozenset(_identities(plan.folders))
        # The tree may be older than a folder's removal. An ancestor's parent shows when the folder is back.
        present = {path for path, *_ in identities}
        return replace(plan, deep=plan.deep & present, flat=plan.flat & present, identities=identities)

    @property
    def shallow_folders(self) -> frozenset[str]:
        """Every folder that is watched without its subfolders."""
        return self.flat | self.ancestor_parents

    @property
    def folders(self) -> frozenset[str]:
        """Every folder that is watched."""
        return self.shallow_folders | self.deep

    def filter_relevant(self, locations: Iterable[str]) -> Locations:
        """Return the locations at which a change can affect the skills."""
        return frozenset(filter(self.is_relevant, locations))

    def is_relevant(self, location: str) -> bool:
        """Return whether a change at `location` can affect the skills."""
        folder = os.path.dirname(location)  # noqa: PTH120
        if folder not in self.ancestor_parents or folder in self.flat or location in self.flat:
            return True
        # The parent of an ancestor may itself be in a recursively watched folder.
        return location in self.ancestors or any(_inside(location, deep) for deep in self.deep)

    def new_since(self, before: "WatchPlan") -> frozenset[str]:
        """Return the served folders that `before` did not watch, or that were replaced since then.

        Folders inside a folder that is still watched recursively are left out.
        """
        served = self.deep | self.flat
        new = served - before.deep - before.flat
        new |= {path for path, *_ in self.identities - before.identities if path in served}
        old = before.deep - new
        return frozenset(each for each in new if not any(_inside(each, deep) for deep in old))

    def without(self, locations: Locations) -> "WatchPlan":
        """Return the plan without the folders at these locations."""
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
    """Return the paths of folders below which every folder was entered and there are no links."""
    fully_listed = {path for path, each in skill_folders.items() if each.entered_all}
    # Longest paths first, so that inner folders are decided before outer ones.
    for path in sorted(group_folders, key=len, reverse=True):
        if group_folders[path].entered_all and all(
            inner in fully_listed for inner in group_folders[path].inner
        ):
            fully_listed.add(path)
    return fully_listed


def _find_ancestors(location: str) -> set[str]:
    """Return a location, and every folder and link on the path to it, as written and with links resolved."""
    found: set[str] = set()
    pending = [os.path.abspath(location), os.path.realpath(location)]  # noqa: PTH100
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
