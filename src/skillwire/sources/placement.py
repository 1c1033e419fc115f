"""Where each skill of a folder stands in the namespace: its path, short where that is free."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from skillwire.model.entry import Entry
from skillwire.sources.ignore import CONTAINERS
from skillwire.sources.unit import Unit


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit, the path that its folder got, and the entries that follow from it."""

    unit: Unit
    base: tuple[str, ...]
    entries: tuple[Entry, ...]

    @classmethod
    def at(cls, base: tuple[str, ...], unit: Unit, label: str) -> "Placed":
        return cls(unit, base, unit.placed(base, label))

    def changed_to(self, unit: Unit, label: str) -> "Placed | None":
        """Return the unit as it is now, in the same place; None if it may need another."""
        return Placed.at(self.base, unit, label) if unit.shape == self.unit.shape else None


def place(units: Iterable[Unit], label: str) -> dict[str, Placed]:
    """Return where each unit stands, by the path of its folder.

    Folders that only hold skills leave no trace in a path, unless two skills would meet there: then
    the one that stands deeper in such folders keeps its whole path. The same folder, reached twice
    through a link inside such a folder, is one skill.
    """
    paths = _Paths()
    places: dict[str, Placed] = {}
    for unit in sorted(units, key=lambda unit: (_dropped(unit), unit.folder.path)):
        whole = _segments(unit.folder.path)
        placed = Placed.at(_without_containers(whole), unit, label)
        if (met := paths.first_met(placed.entries)) is not None:
            if met[0].path == met[1].path and _same_folder(*met):
                continue
            placed = Placed.at(whole, unit, label)
        for entry in placed.entries:
            paths.take(entry)
        places[unit.folder.path] = placed
    return places


class _Paths:
    """The skill paths that are taken, and the folders above them."""

    def __init__(self) -> None:
        self._taken: dict[str, Entry] = {}
        self._above: dict[str, Entry] = {}

    def take(self, entry: Entry) -> None:
        self._taken.setdefault(entry.path, entry)
        for folder in _parents(entry.path):
            self._above.setdefault(folder, entry)

    def first_met(self, entries: Iterable[Entry]) -> tuple[Entry, Entry] | None:
        """Return the first of `entries` that cannot stand where it would, and what it meets there."""
        found = ((entry, self._in_the_way(entry)) for entry in entries)
        return next(((entry, other) for entry, other in found if other is not None), None)

    def _in_the_way(self, entry: Entry) -> Entry | None:
        """Return a skill at this path, around it or below it: they would share folders (S8)."""
        for path in (entry.path, *_parents(entry.path)):
            if path in self._taken:
                return self._taken[path]
        return self._above.get(entry.path)


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.split("/")) if path else ()


def _without_containers(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the segments above the skill's own folder that say something, and that folder."""
    kept: list[str] = []
    rest = segments
    while rest:
        container = next((c for c in CONTAINERS if rest[: len(c)] == c and len(rest) > len(c)), None)
        if container is None:
            kept.append(rest[0])
        rest = rest[len(container) if container else 1 :]
    return tuple(kept)


def _dropped(unit: Unit) -> int:
    segments = _segments(unit.folder.path)
    return len(segments) - len(_without_containers(segments))


def _same_folder(one: Entry, other: Entry) -> bool:
    return os.path.realpath(one.origin.location) == os.path.realpath(other.origin.location)
