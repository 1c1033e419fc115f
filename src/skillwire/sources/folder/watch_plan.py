"""Decide which folders to watch: only the folders that can affect the skills."""

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from skillwire.core.names import parent_paths
from skillwire.sources.base import Locations
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
        # A copy, because another thread may be rescanning the tree.
        partial = set(tree.partial)
        partial |= {above for path in partial if path for above in ("", *parent_paths(path))}
        pending = [""]
        while pending:
            path = pending.pop()
            part = tree.group_folders.get(path) or tree.skill_folders.get(path)
            if part is None:
                continue
            if path not in partial:
                deep.add(part.folder.target)
                continue
            flat.update(part.folders)
            if isinstance(part, GroupFolder):
                pending.extend(part.inner)
        real = os.path.realpath(root)
        if not tree.group_folders and not tree.skill_folders and os.path.isdir(real):  # noqa: PTH112 - locations are strings throughout
            flat.add(real)
        return cls._with_ancestors([os.fspath(root)], deep, flat)

    @classmethod
    def for_locations(cls, tree: Tree, locations: Locations) -> "WatchPlan":
        """Return the plan for the skill folders that are at, or contain, one of `locations`."""
        # Select folders and not skills, because a skill that is broken now may be fixed.
        chosen = [each for location in locations if (each := tree.skill_folder_around(location)) is not None]
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


class WatchPlanner:
    """Plans for one root. Makes a new plan only if something that determines it has changed."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)
        self._made_from: tuple[Tree, int] | None = None
        self._plan = WatchPlan()

    def plan(self, tree: Tree) -> WatchPlan:
        """Return the plan for the tree that a scan found below the root."""
        made_from = tree, tree.watch_revision
        if made_from != self._made_from or not self._is_current():
            self._plan, self._made_from = WatchPlan.of(self._root, tree), made_from
        return self._plan

    def _is_current(self) -> bool:
        """Return whether the root and the folders above it are the same. The tree shows other changes."""
        now, known = WatchPlan.for_file(self._root), self._plan
        same_names = (now.ancestors, now.ancestor_parents) == (known.ancestors, known.ancestor_parents)
        folders = known.ancestor_parents | {os.path.realpath(self._root)}
        identities = {each for each in known.identities if each[0] in folders}
        return same_names and identities == set(_identities(folders))


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
