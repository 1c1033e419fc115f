"""Which folders to watch, so that every change is noticed and nothing else is watched."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillwire.sources.base import Locations
from skillwire.sources.folder.tree import Passage, Tree
from skillwire.sources.folder.unit import Unit


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """Folders by how they are watched.

    A watcher that goes into every folder below also follows links and enters what nobody serves, such as
    `node_modules`. So it is let loose only where every folder was looked into; elsewhere each is watched
    alone.
    """

    roots: frozenset[str]
    """The root as it was named, and where that really is."""
    gates: frozenset[str]
    """The folders around the roots. Here only the roots matter, as they may come, go or move."""
    deep: frozenset[str] = frozenset()
    """With everything below."""
    flat: frozenset[str] = frozenset()
    """Alone."""

    @classmethod
    def of(cls, root: str | os.PathLike[str], tree: Tree) -> "WatchPlan":
        """Return the plan for a root, and what a scan found below it."""
        deep: set[str] = set()
        flat: set[str] = set()
        parts: dict[str, Passage | Unit] = {**tree.units, **tree.passages}
        whole = _whole(tree)
        pending = [part for path, part in parts.items() if path == ""]
        while pending:
            part = pending.pop()
            target = part.folder.target
            if part.folder.path in whole:
                deep.add(target)
                continue
            flat |= part.folders
            if isinstance(part, Passage):
                pending.extend(parts[path] for path in part.inner if path in parts)
        real = os.path.realpath(root)
        if not parts and os.path.isdir(real):  # noqa: PTH112 - plain string operations throughout
            flat.add(real)
        roots = frozenset((os.path.abspath(root), real))  # noqa: PTH100
        return cls(roots, frozenset(map(_gate, roots)), frozenset(deep), frozenset(flat))

    @classmethod
    def for_units(cls, units: Iterable[Unit], locations: Locations) -> "WatchPlan":
        """Return the plan for those units alone that hold a skill at one of `locations`."""
        # By its folder, not by its skills: one that is broken now may be mended.
        chosen = [
            unit for unit in units if any(_inside(location, unit.folder.location) for location in locations)
        ]
        folders = frozenset(folder for unit in chosen for folder in unit.folders)
        return cls(frozenset(), frozenset(), flat=folders)

    @property
    def alone(self) -> frozenset[str]:
        """Every folder that is watched alone."""
        return self.flat | self.gates

    def concerns(self, location: str) -> bool:
        """Whether what happened at `location` can make a difference."""
        folder = os.path.dirname(location)  # noqa: PTH120
        if folder not in self.gates or folder in self.flat or location in self.flat:
            return True
        # In a deep folder around the gate, too, but then it is a change like any other.
        inside = any(_inside(location, deep) for deep in self.deep)
        return inside or any(_inside(root, location) for root in self.roots)

    def unseen_by(self, before: "WatchPlan") -> frozenset[str]:
        """Return the folders of this plan that the one before did not watch."""
        new = (self.deep | self.flat) - before.deep - before.flat
        return frozenset(each for each in new if not any(_inside(each, deep) for deep in before.deep))


def _whole(tree: Tree) -> set[str]:
    """Return the paths below which every folder was looked into, and nothing is a link."""
    whole = {path for path, unit in tree.units.items() if unit.entered_all}
    # Longer paths stand deeper: what is inside is decided before what is around it.
    for path in sorted(tree.passages, key=len, reverse=True):
        passage = tree.passages[path]
        if passage.entered_all and all(inner in whole for inner in passage.inner):
            whole.add(path)
    return whole


def _gate(root: str) -> str:
    return str(next(parent for parent in Path(root).parents if parent.is_dir()))


def _inside(location: str, folder: str) -> bool:
    return location.startswith(folder.rstrip(os.sep) + os.sep) or location == folder
