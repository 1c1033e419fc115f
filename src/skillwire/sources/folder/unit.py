"""A skill and the skills nested in it: how they stand to each other (S16)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillwire.model.display import quoted
from skillwire.model.entry import Origin, SkillFile, SkillRecord
from skillwire.model.path import folded, prefixes
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.skillmd.document import SkillDocument
from skillwire.sources.assemble import assemble
from skillwire.sources.folder.kept import Kept
from skillwire.sources.folder.values import Folder, joined

NOTHING: Mapping[str, Any] = {}
"""Nothing, as nearly every skill has it: made once."""


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
    kept: Kept | None = field(default=None, compare=False)
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
class Unit:
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
    held: Mapping[str, Kept] = field(default_factory=dict[str, Kept], compare=False)
    """What is served of each `SKILL.md` that is broken now and was not, by where it is."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Where its folders really are on this machine, and those that its links lead to, each once."""
        if self.places:
            return self.places
        own = self.folder.target
        return (own, *(joined(own, path) for draft in self.drafts for path in draft.directories))

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


def misplaced(draft: SkillDraft) -> Problem | None:
    """Return why a nested skill cannot stand below its folder's path: there is something of its name."""
    folder = draft.below.rpartition("/")[2]
    if not folder or folder == draft.name:
        return None
    names = {path.split("/")[0] for path in (*(file.path for file in draft.files), *draft.directories)}
    if all(folded(name) != folded(draft.name) for name in names):
        return None
    return Problem(
        draft.where,
        Rule.URI_TAKEN,
        Severity.ERROR,
        f"it would stand below {quoted(f'{folder}/{draft.name}')}, and something of that name is there",
        hint=f"rename the folder {quoted(folder)} to {quoted(draft.name)}",
    )


def listing_nested_skills(drafts: Sequence[SkillDraft]) -> Iterator[SkillDraft]:
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
        for outer in _enclosing(inner.below, paths):
            folder = _relative(paths[outer], paths[inner.below])
            if folder != _relative(outer, inner.below):
                renamed[outer] |= {f"{folder}/{file.path}": (inner, file) for file in inner.files}
    for draft in drafts:
        yield _listing(draft, renamed[draft.below]) if renamed[draft.below] else draft


def _listing(draft: SkillDraft, renamed: Mapping[str, tuple[SkillDraft, SkillFile]]) -> SkillDraft:
    files = (replace(file, path=path) for path, (_, file) in renamed.items())
    folders = {folder for path in renamed for folder in prefixes(path)}
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
        outer = next(_enclosing(draft.below, paths), None)
        above = base if outer is None else paths[outer]
        rest = draft.below if outer is None else _relative(outer, draft.below)
        path = f"{above}/{rest}" if above and rest else above or rest
        if path.rpartition("/")[2] != draft.name:
            path = f"{path}/{draft.name}" if path else draft.name
        paths[draft.below] = path
    return paths


def _enclosing(below: str, known: Mapping[str, object]) -> Iterator[str]:
    """Yield the folders around `below` that are known, nearest first."""
    for folder in reversed(["", *prefixes(below)] if below else []):
        if folder in known:
            yield folder


def _relative(outer: str, path: str) -> str:
    return path[len(outer) :].removeprefix("/")
