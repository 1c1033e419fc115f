"""`Placement`: the paths at which the skill folders of a source are published."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from skillwire.core.names import parents
from skillwire.core.record import SkillRecord
from skillwire.core.sorted_items import SortedItems
from skillwire.sources.folder.plain_skill import PlainSkill
from skillwire.sources.folder.skill_folder import SkillFolder, without_containers

AnySkillFolder: TypeAlias = SkillFolder | PlainSkill
Changes: TypeAlias = Mapping[str, AnySkillFolder | None]
"""The skill folders that changed, by path, as they were before. None for a new folder."""

_MOST_CHANGES = 1000
"""Maximum number of changed folders that are placed individually. Placing all folders is faster then."""
_by_root = attrgetter("root")


@dataclass(frozen=True, slots=True)
class _PlacedFolder:
    """A skill folder, the path at which it is published, and the records of its skills."""

    skill_folder: AnySkillFolder
    base: str
    records: tuple[SkillRecord, ...]
    """Empty if the same folder is already published at this path."""

    @classmethod
    def at(cls, base: str, skill_folder: AnySkillFolder, label: str) -> "_PlacedFolder":
        return cls(skill_folder, base, skill_folder.placed(base, label))


class Placement:
    """Assigns each skill folder the path at which it is published.

    Folders that only group skills (`CONTAINERS`) are not part of a path. If two skills would get the same
    path, the skill in more such folders keeps its whole path. If both are the same folder, reached through a
    link, it is placed only once.
    """

    def __init__(self, label: str) -> None:
        self.entries: SortedItems[SkillRecord] = SortedItems((), _by_root)
        """The records of all skills, sorted by the URIs of their folders."""
        self._label = label
        self._placed: dict[str, _PlacedFolder] = {}
        """The folders that are not plain skills at their usual path."""
        self._unusual: set[str] = set()
        """The paths of the folders whose usual path was taken."""
        self._contested = _TakenRoots()
        """The usual paths of these folders."""

    def place(self, skill_folders: Mapping[str, AnySkillFolder], changes: Changes | None = None) -> None:
        """Assign all paths. With `changes`, only these folders changed since the last call."""
        if changes is None or len(changes) > _MOST_CHANGES:
            self._place_all(skill_folders)
            return
        changes = {path: old for path, old in changes.items() if skill_folders.get(path) is not old}
        found = self._replace(skill_folders, changes) or self._move(skill_folders, changes)
        if found is None:
            self._place_all(skill_folders)
            return
        gone, new = found
        # A record that stays is the same object before and after.
        kept = {id(each) for each in gone} & {id(each) for each in new}
        gone, new = ([each for each in records if id(each) not in kept] for records in (gone, new))
        self._update_entries(gone, new)

    def _replace(
        self, skill_folders: Mapping[str, AnySkillFolder], changes: Changes
    ) -> tuple[list[SkillRecord], list[SkillRecord]] | None:
        """Replace changed folders at their current paths. Return the records that are gone and new.

        If a folder is new or gone, or its shape changed, change nothing and return None.
        """
        placed: dict[str, _PlacedFolder] = {}
        for path, old in changes.items():
            new = skill_folders.get(path)
            if old is None or new is None or old.shape != new.shape:
                return None
            known = self._placed.get(path)
            base = without_containers(path) if known is None else known.base
            placed[path] = _PlacedFolder.at(base, new, self._label)
            if known is not None and not known.records and known.skill_folder.shape:
                if not self._is_published(placed[path].records):
                    return None
                placed[path] = _PlacedFolder(new, base, ())
        gone = [record for path, old in changes.items() for record in self._records(path, old)]
        for path, each in placed.items():
            self._put(path, each)
        return gone, [record for each in placed.values() for record in each.records]

    def _move(
        self, skill_folders: Mapping[str, AnySkillFolder], changes: Changes
    ) -> tuple[list[SkillRecord], list[SkillRecord]] | None:
        """Remove and add changed folders. Return the records that are gone and new.

        If this could affect the paths of other folders, change nothing and return None.
        """
        if not self._unusual.isdisjoint(changes):
            return None
        gone = [record for path, old in changes.items() for record in self._records(path, old)]
        removed = {record.root for record in gone}
        added = _TakenRoots()
        placed: dict[str, _PlacedFolder] = {}
        for path in changes:
            if (new := skill_folders.get(path)) is None:
                continue
            placed[path] = each = _PlacedFolder.at(without_containers(path), new, self._label)
            if added.find_conflict(each.records) or any(
                self._is_taken(record.root, removed) for record in each.records
            ):
                return None
            added.take(each.records)
        new_records = [record for each in placed.values() for record in each.records]
        if self._contested.find_conflict((*gone, *new_records)) is not None:
            return None
        for path in changes:
            if path in placed:
                self._put(path, placed[path])
            else:
                self._placed.pop(path, None)
        return gone, new_records

    def _place_all(self, skill_folders: Mapping[str, AnySkillFolder]) -> None:
        known, self._placed, self._unusual = self._placed, {}, set()
        self._contested, taken = _TakenRoots(), _TakenRoots()
        self._contested.has_overlaps = True
        records: list[SkillRecord] = []
        bases = {path: base for path in skill_folders if (base := without_containers(path)) != path}

        def depth_in_containers(path: str) -> int:
            return path.count("/") - bases[path].count("/")

        # Folders inside more containers are placed last, so that other folders take precedence.
        usual = sorted(path for path in skill_folders if path not in bases)
        for whole in (*usual, *sorted(bases, key=lambda path: (depth_in_containers(path), path))):
            skill_folder, base = skill_folders[whole], bases.get(whole, whole)
            if isinstance(skill_folder, PlainSkill) and taken.take_if_free(skill_folder.record):
                records.append(skill_folder.record)
                continue
            placed = self._reuse_or_place(known, base, skill_folder)
            if (conflict := taken.find_conflict(placed.records)) is not None:
                self._unusual.add(whole)
                self._contested.take(placed.records)
                if _is_same_folder(*conflict):
                    placed = _PlacedFolder(skill_folder, base, ())
                else:
                    placed = self._reuse_or_place(known, whole, skill_folder)
                    taken.has_overlaps = True
            taken.take(placed.records)
            records += placed.records
            self._put(whole, placed)
        if not self.entries:
            self.entries = SortedItems(records, _by_root)
            return
        before, after = set(map(id, self.entries)), set(map(id, records))
        self._update_entries(
            [each for each in self.entries if id(each) not in after],
            [each for each in records if id(each) not in before],
        )

    def _update_entries(self, gone: Iterable[SkillRecord], new: Sequence[SkillRecord]) -> None:
        """Replace records, so that the entries share all others with the last ones."""
        roots = {each.root for each in new}
        self.entries = self.entries.updated([each.root for each in gone if each.root not in roots], new)

    def _reuse_or_place(
        self, known: Mapping[str, _PlacedFolder], base: str, skill_folder: AnySkillFolder
    ) -> _PlacedFolder:
        placed = known.get(skill_folder.folder.path) if isinstance(skill_folder, SkillFolder) else None
        if placed and placed.records and placed.skill_folder is skill_folder and placed.base == base:
            return placed
        return _PlacedFolder.at(base, skill_folder, self._label)

    def _records(self, path: str, skill_folder: AnySkillFolder | None) -> tuple[SkillRecord, ...]:
        """Return the published records of a folder."""
        if (placed := self._placed.get(path)) is not None:
            return placed.records
        return (skill_folder.record,) if isinstance(skill_folder, PlainSkill) else ()

    def _put(self, path: str, placed: _PlacedFolder) -> None:
        if isinstance(placed.skill_folder, PlainSkill) and path not in self._unusual:
            self._placed.pop(path, None)
        else:
            self._placed[path] = placed

    def _is_published(self, records: Iterable[SkillRecord]) -> bool:
        """Return whether the folder with one of these records is already published at the same path."""
        for record in records:
            at = self.entries.position(record.root)
            if at is not None and _is_same_folder(record, self.entries[at]):
                return True
        return False

    def _is_taken(self, root: str, removed: set[str]) -> bool:
        """Return whether a skill other than the `removed` ones is at `root`, or above or below it."""
        for each in (root, *parents(root)):
            if each not in removed and self.entries.position(each) is not None:
                return True
        at, below = self.entries.position_after(f"{root}/"), f"{root}/"
        while at < len(self.entries) and (other := self.entries[at].root).startswith(below):
            if other not in removed:
                return True
            at += 1
        return False


class _TakenRoots:
    """The roots of placed skills, and of the folders above them."""

    def __init__(self) -> None:
        self._skills: dict[str, SkillRecord] = {}
        self._above: set[str] = set()
        self.has_overlaps = False
        """Whether there may be a skill above another one."""

    def take(self, records: Collection[SkillRecord]) -> None:
        if len(records) > 1:  # nested skills
            self.has_overlaps = True
        for record in records:
            root = record.root
            self._skills.setdefault(root, record)
            if root.rpartition("/")[0] not in self._above:
                self._above.update(parents(root))

    def take_if_free(self, record: SkillRecord) -> bool:
        """Add a record if its path is not taken. Return whether it was added."""
        root = record.root
        if root in self._skills or root in self._above or self._is_inside(root):
            return False
        self.take((record,))
        return True

    def find_conflict(self, records: Iterable[SkillRecord]) -> tuple[SkillRecord, SkillRecord | None] | None:
        """Return the first record whose path is taken, and the skill with its URI, if any; else None.

        A skill above or below the path also conflicts, because both skills would share folders (S8).
        """
        for record in records:
            root = record.root
            if (other := self._skills.get(root)) is not None:
                return record, other
            if root in self._above or self._is_inside(root):
                return record, None
        return None

    def _is_inside(self, root: str) -> bool:
        """Return whether there is a skill above `root`."""
        for each in parents(root):
            if each in self._skills:
                return True
            if each in self._above and not self.has_overlaps:
                return False  # as there is a skill beside `root`, there is none above it
        return False


def _is_same_folder(one: SkillRecord, other: SkillRecord | None) -> bool:
    if other is None:
        return False
    return os.path.realpath(one.origin.location) == os.path.realpath(other.origin.location)
