"""Skill folders with their nested skills (S16), and the paths of nested skills."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillwire.core.names import collision_key, parent_paths
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Origin, SkillFile, SkillRecord
from skillwire.frontmatter.document import SkillDocument
from skillwire.safe_text import quoted
from skillwire.sources.assemble import assemble
from skillwire.sources.folder.ignore import CONTAINERS
from skillwire.sources.folder.last_good import LastGood, SpillFile
from skillwire.sources.folder.listing import Folder, join_location

EMPTY_MAPPING: Mapping[str, Any] = {}
"""A shared empty mapping, which most skills use."""
_find_container = re.compile("|".join(re.escape(container[0]) for container in CONTAINERS)).search
"""Finds the name of a container anywhere in a path."""


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

    def draft(self, below: str, _spill_file: SpillFile | None = None) -> SkillDraft | None:
        """Return the skill in the subfolder `below`, or None."""
        return next((draft for draft in self.drafts if draft.below == below), None)

    @property
    def stored(self) -> Iterator[tuple[tuple[str, str], str]]:
        """The locations of files whose published path differs from their path on disk.

        Each comes with the location of the skill and the published path.
        """
        for draft in self.drafts:
            for path, location in draft.stored.items():
                yield (draft.location, path), location

    @property
    def last_goods(self) -> tuple[LastGood, ...]:
        """The objects with the last good contents."""
        return tuple(draft.last_good for draft in self.drafts if draft.last_good is not None)

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


def without_containers(path: str) -> str:
    """Return `path` without the folders that only group skills. The last segment always stays."""
    if _find_container(path) is None:  # the usual case
        return path
    segments = path.split("/")
    remaining: list[str] = []
    rest = tuple(segments)
    while rest:
        container = next((c for c in CONTAINERS if rest[: len(c)] == c and len(rest) > len(c)), None)
        if container is None:
            remaining.append(rest[0])
        rest = rest[len(container) if container else 1 :]
    return "/".join(remaining)
