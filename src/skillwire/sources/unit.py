"""A skill and the skills nested in it: how they stand to each other (S16)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from skillwire.model.entry import Entry, Origin, SkillFile
from skillwire.model.problem import Problem
from skillwire.skillmd.document import SkillDocument
from skillwire.sources.assemble import assemble
from skillwire.sources.folders import Folder


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
    locations: frozenset[str]
    """Where its files are on this machine."""

    @property
    def shape(self) -> tuple[tuple[str, str], ...]:
        """What decides where the skills stand: their folders and names."""
        return tuple((draft.below, draft.name) for draft in self.drafts)

    def placed(self, base: Sequence[str], label: str) -> tuple[Entry, ...]:
        """Return the entries, with the unit's folder at the path `base`."""
        paths = _skill_paths(self.drafts, base)
        return tuple(
            assemble(
                draft.document,
                skill_path=paths[draft.below],
                files=draft.files,
                directories=draft.directories,
                origin=Origin(label, draft.location, draft.where),
                warnings=draft.warnings,
            )
            for draft in self.drafts
        )


def listing_nested_skills(drafts: Sequence[SkillDraft]) -> Iterator[SkillDraft]:
    """Yield the drafts, each listing the files of the skills in it under the URIs that those have (S8).

    That makes a difference where the folder of a nested skill does not have the skill's name: its files
    are then served twice, as files of the outer skill and below the nested skill's own path.
    """
    paths = _skill_paths(drafts, ())
    for outer in drafts:
        depth = len(paths[outer.below])
        files = {file.path: file for file in outer.files}
        for inner in drafts:
            folder = "/".join(paths[inner.below][depth:])
            if _is_inside(inner, outer) and folder != _relative(outer.below, inner.below):
                renamed = (replace(file, path=f"{folder}/{file.path}") for file in inner.files)
                files = {**{file.path: file for file in renamed}, **files}
        if len(files) == len(outer.files):
            yield outer
        else:
            directories = {*outer.directories, *_folders(files)}
            yield replace(outer, files=tuple(files.values()), directories=tuple(directories))


def _skill_paths(drafts: Iterable[SkillDraft], base: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the skill path of each draft, by its folder in the unit.

    It is the folder's path below the nearest enclosing skill, with the name appended where the folder
    has another. A skill thus stays where it is when one beside it changes.
    """
    paths: dict[str, tuple[str, ...]] = {}
    for draft in drafts:
        rest = tuple(part for part in draft.below.split("/") if part)
        path = (*base, *rest)
        for depth in range(len(rest) - 1, -1, -1):
            if (enclosing := paths.get("/".join(rest[:depth]))) is not None:
                path = (*enclosing, *rest[depth:])
                break
        paths[draft.below] = path if path and path[-1] == draft.name else (*path, draft.name)
    return paths


def _is_inside(inner: SkillDraft, outer: SkillDraft) -> bool:
    return inner is not outer and (not outer.below or inner.below.startswith(f"{outer.below}/"))


def _relative(outer: str, path: str) -> str:
    return path[len(outer) :].removeprefix("/")


def _folders(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        parts = path.split("/")
        yield from ("/".join(parts[:depth]) for depth in range(1, len(parts)))
