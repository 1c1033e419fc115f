"""A skill folder with the skills nested in it (S16), and the path that each one gets."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillwire.core.names import SKILL_FILE, fold_path, parent_paths, parents
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Origin, SkillFile, SkillRecord
from skillwire.frontmatter.document import SkillDocument
from skillwire.safe_text import quoted
from skillwire.sources.assemble import assemble
from skillwire.sources.folder.ignore import CONTAINERS
from skillwire.sources.folder.last_good import LastGood
from skillwire.sources.folder.listing import Folder, join_location

EMPTY_MAPPING: Mapping[str, Any] = {}
"""Nothing, as nearly every skill has it: made once."""
_FIRST_OF_CONTAINERS = frozenset(container[0] for container in CONTAINERS)


@dataclass(frozen=True, slots=True)
class SkillDraft:
    """A skill that can be served, as soon as it is known where it stands among the others."""

    below: str
    """Its folder, relative to the folder of the unit; empty for the unit's own skill."""
    location: str
    where: str
    """Its `SKILL.md`, relative to the root of the source."""
    document: SkillDocument
    files: tuple[SkillFile, ...]
    directories: tuple[str, ...]
    warnings: tuple[Problem, ...]
    stored: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where files are on this machine that are published under another path than they have there."""
    kept: LastGood | None = field(default=None, compare=False)
    """The content of its `SKILL.md`, if the source keeps it."""

    @property
    def main(self) -> SkillFile:
        """Its `SKILL.md`."""
        return self.files[0]

    @property
    def name(self) -> str:
        assert self.document.frontmatter is not None, "only a servable document becomes a draft"
        return str(self.document.frontmatter["name"])


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A skill folder that stands in no other skill. What changes inside changes nothing outside."""

    folder: Folder
    drafts: tuple[SkillDraft, ...]
    """Enclosing skills before nested ones."""
    problems: tuple[Problem, ...]
    entered_all: bool
    """Whether every folder below its own was looked into, and nothing in it is a link."""
    seen: int
    """How many files and folders it took to look at."""
    locations: tuple[str, ...] = ()
    """Where the files are on this machine of which facts are kept one by one."""
    places: tuple[str, ...] = ()
    """Where its folders are, if that does not follow from its one skill."""
    held: Mapping[str, LastGood] = field(default_factory=dict[str, LastGood], compare=False)
    """What is served of each `SKILL.md` that is broken now and was not, by where it is."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Where its folders really are on this machine, and those that its links lead to, each once."""
        if self.places:
            return self.places
        own = self.folder.target
        return (own, *(join_location(own, path) for draft in self.drafts for path in draft.directories))

    def draft(self, below: str) -> SkillDraft | None:
        """Return the skill in this folder, relative to the unit's own."""
        return next((draft for draft in self.drafts if draft.below == below), None)

    @property
    def shape(self) -> tuple[tuple[str, str], ...]:
        """What decides where the skills stand: their folders and names."""
        return tuple((draft.below, draft.name) for draft in self.drafts)

    def placed(self, base: str, label: str) -> tuple[SkillRecord, ...]:
        """Return the entries, with the unit's folder at the path `base`."""
        paths = _skill_paths(self.drafts, base)
        return tuple(
            assemble(
                draft.document,
                skill_path=paths[draft.below].split("/"),
                files=draft.files,
                directories=draft.directories,
                origin=Origin(label, draft.location, draft.where),
                warnings=draft.warnings,
            )
            for draft in self.drafts
        )


def misplaced_problem(draft: SkillDraft) -> Problem | None:
    """Return why a nested skill cannot stand below its folder's path: there is something of its name."""
    folder = draft.below.rpartition("/")[2]
    if not folder or folder == draft.name:
        return None
    names = {path.split("/")[0] for path in (*(file.path for file in draft.files), *draft.directories)}
    if all(fold_path(name) != fold_path(draft.name) for name in names):
        return None
    return Problem(
        draft.where,
        Rule.URI_TAKEN,
        Severity.ERROR,
        f"it would stand below {quoted(f'{folder}/{draft.name}')}, and something of that name is there",
        hint=f"rename the folder {quoted(folder)} to {quoted(draft.name)}",
    )


def add_nested_files(drafts: Sequence[SkillDraft]) -> Iterator[SkillDraft]:
    """Yield the drafts, each listing the files of the skills in it under the URIs that those have (S8).

    That makes a difference where the folder of a nested skill does not have the skill's name: its files
    are then served twice, as files of the outer skill and below the nested skill's own path.
    """
    if len(drafts) == 1:  # as a rule
        yield drafts[0]
        return
    paths = _skill_paths(drafts, "")
    renamed: dict[str, dict[str, tuple[SkillDraft, SkillFile]]] = {draft.below: {} for draft in drafts}
    for inner in drafts:
        for outer in _find_enclosing(inner.below, paths):
            folder = _relative(paths[outer], paths[inner.below])
            if folder != _relative(outer, inner.below):
                renamed[outer] |= {f"{folder}/{file.path}": (inner, file) for file in inner.files}
    for draft in drafts:
        yield _add_renamed_files(draft, renamed[draft.below]) if renamed[draft.below] else draft


def _add_renamed_files(draft: SkillDraft, renamed: Mapping[str, tuple[SkillDraft, SkillFile]]) -> SkillDraft:
    files = (replace(file, path=path) for path, (_, file) in renamed.items())
    folders = {folder for path in renamed for folder in parent_paths(path)}
    places = {
        path: inner.stored.get(file.path, f"{inner.location}/{file.path}")
        for path, (inner, file) in renamed.items()
    }
    return replace(
        draft,
        files=(*draft.files, *files),
        directories=tuple({*draft.directories, *folders}),
        stored={**draft.stored, **places},
    )


def _skill_paths(drafts: Iterable[SkillDraft], base: str) -> dict[str, str]:
    """Return the skill path of each draft, by its folder in the unit.

    It is the folder's path below the nearest enclosing skill, with the name appended where the folder
    has another. A skill thus stays where it is when one beside it changes.
    """
    paths: dict[str, str] = {}
    for draft in drafts:
        outer = next(_find_enclosing(draft.below, paths), None)
        above = base if outer is None else paths[outer]
        rest = draft.below if outer is None else _relative(outer, draft.below)
        path = f"{above}/{rest}" if above and rest else above or rest
        if path.rpartition("/")[2] != draft.name:
            path = f"{path}/{draft.name}" if path else draft.name
        paths[draft.below] = path
    return paths


def _find_enclosing(below: str, known: Mapping[str, object]) -> Iterator[str]:
    """Yield the folders around `below` that are known, nearest first."""
    for folder in reversed(["", *parent_paths(below)] if below else []):
        if folder in known:
            yield folder


def _relative(outer: str, path: str) -> str:
    return path[len(outer) :].removeprefix("/")


@dataclass(frozen=True, slots=True)
class PlacedFolder:
    """A unit, the path that its folder got, and the entries that follow from it."""

    unit: SkillFolder
    base: str
    entries: tuple[SkillRecord, ...]

    @classmethod
    def at(cls, base: str, unit: SkillFolder, label: str) -> "PlacedFolder":
        return cls(unit, base, unit.placed(base, label))


class Placement:
    """Where each unit stands, by the path of its folder.

    Folders that only hold skills leave no trace in a path, unless two skills would meet there: then
    the one that stands deeper in such folders keeps its whole path. The same folder, reached twice
    through a link inside such a folder, is one skill.
    """

    def __init__(self, label: str) -> None:
        self.placed: dict[str, PlacedFolder] = {}
        self._label = label
        self._taken = _TakenUris()
        self._has_conflicts = False

    def place(self, skill_folders: Mapping[str, SkillFolder], changed: Iterable[str] | None = None) -> None:
        """Find a place for each unit; with `changed`, having placed the others before."""
        if changed is None or not (
            self._replace_in_place(skill_folders, changed) or self._try_move(skill_folders, changed)
        ):
            self._place_all(skill_folders)

    def _replace_in_place(self, skill_folders: Mapping[str, SkillFolder], changed: Iterable[str]) -> bool:
        """Put changed units where they stood, if they have the same folders and names; else do nothing."""
        pairs = [(self.placed.get(path), skill_folders.get(path)) for path in changed]
        stay = [(old, new) for old, new in pairs if old and new and old.unit.shape == new.shape]
        if len(stay) < len(pairs):
            return False
        for old, new in stay:
            self._put(PlacedFolder.at(old.base, new, self._label))
        return True

    def _try_move(self, skill_folders: Mapping[str, SkillFolder], changed: Iterable[str]) -> bool:
        """Take changed units out and put them in; False if somebody has to give way, or had to.

        As long as nobody does, a unit that comes or goes concerns nobody else.
        """
        if self._has_conflicts:
            return False
        for path in changed:
            if (old := self.placed.pop(path, None)) is not None:
                self._taken.release(old.entries)
        for path in changed:
            if (unit := skill_folders.get(path)) is None:
                continue
            placed = PlacedFolder.at(_without_containers(path), unit, self._label)
            if self._taken.find_conflict(placed.entries) is not None:
                return False
            self._put(placed)
        return True

    def _place_all(self, skill_folders: Mapping[str, SkillFolder]) -> None:
        before, self.placed = self.placed, {}
        self._taken, self._has_conflicts = _TakenUris(), False
        bases = {path: _without_containers(path) for path in skill_folders}
        # Those that stand deeper in folders that only hold skills give way to the others.
        for whole in sorted(bases, key=lambda path: (path.count("/") - bases[path].count("/"), path)):
            unit = skill_folders[whole]
            placed = self._reuse_or_place(before, bases[whole], unit)
            if (met := self._taken.find_conflict(placed.entries)) is not None:
                self._has_conflicts = True
                if _is_same_folder(*met):
                    continue
                placed = self._reuse_or_place(before, whole, unit)
            self._put(placed)

    def _reuse_or_place(
        self, before: Mapping[str, PlacedFolder], base: str, unit: SkillFolder
    ) -> PlacedFolder:
        known = before.get(unit.folder.path)
        if known is not None and known.unit is unit and known.base == base:
            return known
        return PlacedFolder.at(base, unit, self._label)

    def _put(self, placed: PlacedFolder) -> None:
        if (old := self.placed.get(placed.unit.folder.path)) is not None:
            self._taken.release(old.entries)
        self._taken.take(placed.entries)
        self.placed[placed.unit.folder.path] = placed


class _TakenUris:
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

    def find_conflict(self, entries: Iterable[SkillRecord]) -> tuple[SkillRecord, SkillRecord | None] | None:
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


def _is_same_folder(one: SkillRecord, other: SkillRecord | None) -> bool:
    if other is None:
        return False
    return os.path.realpath(one.origin.location) == os.path.realpath(other.origin.location)
