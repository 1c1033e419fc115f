"""Where each skill of a folder stands in the namespace: its path, short where that is free."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from skillwire.model.entry import SkillRecord
from skillwire.model.uri import SKILL_FILE, parents
from skillwire.sources.folder.ignore import CONTAINERS
from skillwire.sources.folder.unit import Unit


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit, the path that its folder got, and the entries that follow from it."""

    unit: Unit
    base: str
    entries: tuple[SkillRecord, ...]

    @classmethod
    def at(cls, base: str, unit: Unit, label: str) -> "Placed":
        return cls(unit, base, unit.placed(base, label))


_FIRST_OF_CONTAINERS = frozenset(container[0] for container in CONTAINERS)


class Places:
    """Where each unit stands, by the path of its folder.

    Folders that only hold skills leave no trace in a path, unless two skills would meet there: then
    the one that stands deeper in such folders keeps its whole path. The same folder, reached twice
    through a link inside such a folder, is one skill.
    """

    def __init__(self, label: str) -> None:
        self.placed: dict[str, Placed] = {}
        self._label = label
        self._taken = _Taken()
        self._somebody_gave_way = False

    def place(self, units: Mapping[str, Unit], changed: Iterable[str] | None = None) -> None:
        """Find a place for each unit; with `changed`, having placed the others before."""
        if changed is None or not (self._kept_places(units, changed) or self._moved(units, changed)):
            self._place_all(units)

    def _kept_places(self, units: Mapping[str, Unit], changed: Iterable[str]) -> bool:
        """Put changed units where they stood, if they have the same folders and names; else do nothing."""
        pairs = [(self.placed.get(path), units.get(path)) for path in changed]
        stay = [(old, new) for old, new in pairs if old and new and old.unit.shape == new.shape]
        if len(stay) < len(pairs):
            return False
        for old, new in stay:
            self._put(Placed.at(old.base, new, self._label))
        return True

    def _moved(self, units: Mapping[str, Unit], changed: Iterable[str]) -> bool:
        """Take changed units out and put them in; False if somebody has to give way, or had to.

        As long as nobody does, a unit that comes or goes concerns nobody else.
        """
        if self._somebody_gave_way:
            return False
        for path in changed:
            if (old := self.placed.pop(path, None)) is not None:
                self._taken.release(old.entries)
        for path in changed:
            if (unit := units.get(path)) is None:
                continue
            placed = Placed.at(_without_containers(path), unit, self._label)
            if self._taken.first_met(placed.entries) is not None:
                return False
            self._put(placed)
        return True

    def _place_all(self, units: Mapping[str, Unit]) -> None:
        before, self.placed = self.placed, {}
        self._taken, self._somebody_gave_way = _Taken(), False
        bases = {path: _without_containers(path) for path in units}
        # Those that stand deeper in folders that only hold skills give way to the others.
        for whole in sorted(bases, key=lambda path: (path.count("/") - bases[path].count("/"), path)):
            unit = units[whole]
            placed = self._placed(before, bases[whole], unit)
            if (met := self._taken.first_met(placed.entries)) is not None:
                self._somebody_gave_way = True
                if _same_folder(*met):
                    continue
                placed = self._placed(before, whole, unit)
            self._put(placed)

    def _placed(self, before: Mapping[str, Placed], base: str, unit: Unit) -> Placed:
        known = before.get(unit.folder.path)
        if known is not None and known.unit is unit and known.base == base:
            return known
        return Placed.at(base, unit, self._label)

    def _put(self, placed: Placed) -> None:
        if (old := self.placed.get(placed.unit.folder.path)) is not None:
            self._taken.release(old.entries)
        self._taken.take(placed.entries)
        self.placed[placed.unit.folder.path] = placed


class _Taken:
    """The URIs that are taken, and those of the folders above them."""

    def __init__(self) -> None:
        self._skills: dict[str, SkillRecord] = {}
        self._above: Counter[str] = Counter()

    def take(self, entries: Iterable[SkillRecord]) -> None:
        for entry in entries:
            self._skills.setdefault(entry.uri, entry)
            for folder in parents(entry.root):
                self._above[folder] += 1

    def release(self, entries: Iterable[SkillRecord]) -> None:
        for entry in entries:
            if self._skills.get(entry.uri) is entry:
                del self._skills[entry.uri]
            for folder in parents(entry.root):
                self._above[folder] -= 1
                if not self._above[folder]:
                    del self._above[folder]

    def first_met(self, entries: Iterable[SkillRecord]) -> tuple[SkillRecord, SkillRecord | None] | None:
        """Return the first of `entries` that cannot stand where it would, and the skill at that very path.

        A skill around it or below it is in the way as well: they would share folders (S8).
        """
        for entry in entries:
            if (other := self._skills.get(entry.uri)) is not None:
                return entry, other
            root = entry.root
            if root in self._above or any(f"{each}/{SKILL_FILE}" in self._skills for each in parents(root)):
                return entry, None
        return None


def _without_containers(path: str) -> str:
    """Return the folders above the skill's own that say something, and that folder."""
    segments = path.split("/")
    if _FIRST_OF_CONTAINERS.isdisjoint(segments):
        return path
    kept: list[str] = []
    rest = tuple(segments)
    while rest:
        container = next((c for c in CONTAINERS if rest[: len(c)] == c and len(rest) > len(c)), None)
        if container is None:
            kept.append(rest[0])
        rest = rest[len(container) if container else 1 :]
    return "/".join(kept)


def _same_folder(one: SkillRecord, other: SkillRecord | None) -> bool:
    if other is None:
        return False
    return os.path.realpath(one.origin.location) == os.path.realpath(other.origin.location)
