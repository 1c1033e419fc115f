"""Skill folders with their nested skills (S16), and the paths under which skills are published."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillwire.core.names import SKILL_FILE, collision_key, parent_paths, parents
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Origin, SkillFile, SkillRecord
from skillwire.frontmatter.document import SkillDocument
from skillwire.safe_text import quoted
from skillwire.sources.assemble import assemble
from skillwire.sources.folder.ignore import CONTAINERS
from skillwire.sources.folder.last_good import LastGood
from skillwire.sources.folder.listing import Folder, join_location

EMPTY_MAPPING: Mapping[str, Any] = {}
"""A shared empty mapping, which most skills use."""
_FIRST_OF_CONTAINERS = frozenset(container[0] for container in CONTAINERS)


@dataclass(frozen=True, slots=True)
class SkillDraft:
    """A skill that was read and can be served, before its published path is known."""

    below: str
    """The skill's folder, relative to the top skill folder; empty for the top skill itself."""
    location: str
    where: str
    """The path of the `SKILL.md`, relative to the root of the source."""
    document: SkillDocument
    files: tuple[SkillFile, ...]
    directories: tuple[str, ...]
    warnings: tuple[Problem, ...]
    stored: Mapping[str, str] = field(default_factory=dict[str, str])
    """Locations of files whose published path differs from their path on disk, by published path."""
    last_good: LastGood | None = field(default=None, compare=False)
    """The content of the `SKILL.md`, if the source can fall back to the last good version."""

    @property
    def main(self) -> SkillFile:
        """The skill's `SKILL.md`."""
        return self.files[0]

    @property
    def name(self) -> str:
        assert self.document.frontmatter is not None, "only a servable document becomes a draft"
        return str(self.document.frontmatter["name"])


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A skill folder that is not inside another skill. A change inside it affects nothing outside."""

    folder: Folder
    drafts: tuple[SkillDraft, ...]
    """All skills in the folder. Enclosing skills come before nested skills."""
    problems: tuple[Problem, ...]
    entered_all: bool
    """Whether every subfolder was entered, and the folder contains no link."""
    entry_count: int
    """Number of files and folders in the skill folder, which count towards `Limits.entries`."""
    locations: tuple[str, ...] = ()
    """Locations of the files whose facts are cached individually. Empty for a plain skill."""
    watched_folders: tuple[str, ...] = ()
    """Locations of the folders. Empty for a plain skill, because its directories determine the locations."""
    fallbacks: Mapping[str, LastGood] = field(default_factory=dict[str, LastGood], compare=False)
    """The last good content of each `SKILL.md` that is broken now, by the location of the file."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The locations of this folder, its subfolders and the folders to which links lead, each once."""
        if self.watched_folders:
            return self.watched_folders
        own = self.folder.target
        return (own, *(join_location(own, path) for draft in self.drafts for path in draft.directories))

    def draft(self, below: str) -> SkillDraft | None:
        """Return the skill in the subfolder `below`, or None."""
        return next((draft for draft in self.drafts if draft.below == below), None)

    @property
    def shape(self) -> tuple[tuple[str, str], ...]:
        """The folders and names of the skills, which determine the skills' paths."""
        return tuple((draft.below, draft.name) for draft in self.drafts)

    def placed(self, base: str, label: str) -> tuple[SkillRecord, ...]:
        """Return the records of the skills if this folder is published at the path `base`."""
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
    """Return a problem if a nested skill's path is already a file or folder in the skill's folder."""
    folder = draft.below.rpartition("/")[2]
    if not folder or folder == draft.name:
        return None
    names = {path.split("/")[0] for path in (*(file.path for file in draft.files), *draft.directories)}
    if all(collision_key(name) != collision_key(draft.name) for name in names):
        return None
    return Problem(
        draft.where,
        Rule.URI_TAKEN,
        Severity.ERROR,
        f"its path would be {quoted(f'{folder}/{draft.name}')}, which is already a file or folder",
        hint=f"rename the folder {quoted(folder)} to {quoted(draft.name)}",
    )


def add_nested_files(drafts: Sequence[SkillDraft]) -> Iterator[SkillDraft]:
    """Yield each draft, and add files of nested skills that are published at another path than on disk (S8).

    This applies if a nested skill's folder is not named like the skill. The outer skill then lists its files
    twice: at the paths on disk, and below the path of the nested skill.
    """
    if len(drafts) == 1:  # the usual case
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
    stored = {
        path: inner.stored.get(file.path, f"{inner.location}/{file.path}")
        for path, (inner, file) in renamed.items()
    }
    return replace(
        draft,
        files=(*draft.files, *files),
        directories=tuple({*draft.directories, *folders}),
        stored={**draft.stored, **stored},
    )


def _skill_paths(drafts: Iterable[SkillDraft], base: str) -> dict[str, str]:
    """Return the skill path of each draft, by its folder in the top skill folder.

    The path is the folder's path below the nearest enclosing skill. If the folder is named differently, the
    skill's name is appended. So a change to one skill does not move the skills beside it.
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
    """Yield the folders above `below` that are in `known`, nearest first."""
    for folder in reversed(["", *parent_paths(below)] if below else []):
        if folder in known:
            yield folder


def _relative(outer: str, path: str) -> str:
    return path[len(outer) :].removeprefix("/")


@dataclass(frozen=True, slots=True)
class PlacedFolder:
    """A skill folder, the path at which it is published, and the records of its skills."""

    skill_folder: SkillFolder
    base: str
    records: tuple[SkillRecord, ...]

    @classmethod
    def at(cls, base: str, skill_folder: SkillFolder, label: str) -> "PlacedFolder":
        return cls(skill_folder, base, skill_folder.placed(base, label))


class Placement:
    """Assigns each skill folder the path at which it is published.

    Folders that only group skills (`CONTAINERS`) are not part of a path. If two skills would get the same
    path, the skill in more such folders keeps its whole path. If both are the same folder, reached through a
    link, it is placed only once.
    """

    def __init__(self, label: str) -> None:
        self.placed: dict[str, PlacedFolder] = {}
        self._label = label
        self._taken = _TakenUris()
        self._has_conflicts = False

    def place(self, skill_folders: Mapping[str, SkillFolder], changed: Iterable[str] | None = None) -> None:
        """Assign all paths. With `changed`, only these folders changed since the last call."""
        if changed is None or not (
            self._replace_in_place(skill_folders, changed) or self._try_move(skill_folders, changed)
        ):
            self._place_all(skill_folders)

    def _replace_in_place(self, skill_folders: Mapping[str, SkillFolder], changed: Iterable[str]) -> bool:
        """Replace changed folders at their current paths.

        If a folder is new or gone, or its shape changed, change nothing and return False.
        """
        pairs = [(self.placed.get(path), skill_folders.get(path)) for path in changed]
        stay = [(old, new) for old, new in pairs if old and new and old.skill_folder.shape == new.shape]
        if len(stay) < len(pairs):
            return False
        for old, new in stay:
            self._put(PlacedFolder.at(old.base, new, self._label))
        return True

    def _try_move(self, skill_folders: Mapping[str, SkillFolder], changed: Iterable[str]) -> bool:
        """Remove and re-add changed folders. Return False if there are or were conflicts.

        If there are no conflicts, adding or removing a folder does not affect the paths of other folders.
        """
        if self._has_conflicts:
            return False
        for path in changed:
            if (old := self.placed.pop(path, None)) is not None:
                self._taken.release(old.records)
        for path in changed:
            if (skill_folder := skill_folders.get(path)) is None:
                continue
            placed = PlacedFolder.at(_without_containers(path), skill_folder, self._label)
            if self._taken.find_conflict(placed.records) is not None:
                return False
            self._put(placed)
        return True

    def _place_all(self, skill_folders: Mapping[str, SkillFolder]) -> None:
        before, self.placed = self.placed, {}
        self._taken, self._has_conflicts = _TakenUris(), False
        bases = {path: _without_containers(path) for path in skill_folders}
        # Folders inside more containers are placed last, so that other folders take precedence.
        for whole in sorted(bases, key=lambda path: (path.count("/") - bases[path].count("/"), path)):
            skill_folder = skill_folders[whole]
            placed = self._reuse_or_place(before, bases[whole], skill_folder)
            if (conflict := self._taken.find_conflict(placed.records)) is not None:
                self._has_conflicts = True
                if _is_same_folder(*conflict):
                    continue
                placed = self._reuse_or_place(before, whole, skill_folder)
            self._put(placed)

    def _reuse_or_place(
        self, before: Mapping[str, PlacedFolder], base: str, skill_folder: SkillFolder
    ) -> PlacedFolder:
        known = before.get(skill_folder.folder.path)
        if known is not None and known.skill_folder is skill_folder and known.base == base:
            return known
        return PlacedFolder.at(base, skill_folder, self._label)

    def _put(self, placed: PlacedFolder) -> None:
        if (old := self.placed.get(placed.skill_folder.folder.path)) is not None:
            self._taken.release(old.records)
        self._taken.take(placed.records)
        self.placed[placed.skill_folder.folder.path] = placed


class _TakenUris:
    """The URIs of placed skills, and of the folders above them."""

    def __init__(self) -> None:
        self._skills: dict[str, SkillRecord] = {}
        self._above: Counter[str] = Counter()

    def take(self, records: Iterable[SkillRecord]) -> None:
        for record in records:
            self._skills.setdefault(record.uri, record)
            for folder in parents(record.root):
                self._above[folder] += 1

    def release(self, records: Iterable[SkillRecord]) -> None:
        for record in records:
            if self._skills.get(record.uri) is record:
                del self._skills[record.uri]
            for folder in parents(record.root):
                self._above[folder] -= 1
                if not self._above[folder]:
                    del self._above[folder]

    def find_conflict(self, records: Iterable[SkillRecord]) -> tuple[SkillRecord, SkillRecord | None] | None:
        """Return the first record whose path is taken, and the skill with its URI, if any; else None.

        A skill above or below the path also conflicts, because both skills would share folders (S8).
        """
        for record in records:
            if (other := self._skills.get(record.uri)) is not None:
                return record, other
            root = record.root
            if root in self._above or any(f"{each}/{SKILL_FILE}" in self._skills for each in parents(root)):
                return record, None
        return None


def _without_containers(path: str) -> str:
    """Return `path` without the folders that only group skills. The last segment always stays."""
    segments = path.split("/")
    if _FIRST_OF_CONTAINERS.isdisjoint(segments):
        return path
    remaining: list[str] = []
    rest = tuple(segments)
    while rest:
        container = next((c for c in CONTAINERS if rest[: len(c)] == c and len(rest) > len(c)), None)
        if container is None:
            remaining.append(rest[0])
        rest = rest[len(container) if container else 1 :]
    return "/".join(remaining)


def _is_same_folder(one: SkillRecord, other: SkillRecord | None) -> bool:
    if other is None:
        return False
    return os.path.realpath(one.origin.location) == os.path.realpath(other.origin.location)
