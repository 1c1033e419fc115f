"""Which skills changed since a commit, and which others that concerns."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from skillwire.catalog.library import Library
from skillwire.cli.contract.folders import SkillFolders, is_folder
from skillwire.cli.contract.worktree import WorkingCopy
from skillwire.contract.repository import CheckedSkill
from skillwire.model.display import quoted
from skillwire.model.errors import SourceError, UsageError
from skillwire.model.problem import Problem
from skillwire.model.uri import SKILL_FILE


@dataclass(frozen=True, slots=True)
class Changed:
    """Every file that is not as it was, and every folder around one."""

    files: frozenset[Path]
    folders: frozenset[Path]

    @classmethod
    def of(cls, files: Iterable[Path]) -> "Changed":
        found = frozenset(files)
        return cls(found, frozenset(folder for file in found for folder in file.parents))

    def affected(self, skills: SkillFolders) -> list[CheckedSkill]:
        """Return the skills that changed, and those that depend on one that changed or is gone."""
        everything = skills.contracted.repository.skills
        changed = [skill for skill in everything if self._touches(skills.folders[skill.facts.path])]
        ids = {skill.id for skill in changed} | set(self._removed())
        return [skill for skill in everything if skill.id in ids or not ids.isdisjoint(skill.depends_on)]

    def _touches(self, folder: Path) -> bool:
        return _real(folder) in self.folders

    def _removed(self) -> Iterator[str]:
        return (file.parent.name for file in self.files if file.name == SKILL_FILE and not file.exists())


async def changed_since(revision: str, library: Library, skills: SkillFolders) -> Changed:
    """Return what differs from where `revision` and the working copy parted. Raises `UsageError`."""
    if revision.startswith("-"):
        raise _no_such_revision(revision, "it begins with `-`")
    linked = {_real(folder) for folder in skills.folders.values()}
    files: set[Path] = set()
    for source in library.sources:
        if not is_folder(source.place):
            raise UsageError(
                f"`--changed-since` needs folders, and {quoted(source.place)} is none",
                hint="name a folder in a git repository",
            )
        files |= await _changed_in(Path(source.place), linked, revision)
    return Changed.of(files)


def of_these(
    problems: Iterable[Problem], skills: SkillFolders, wanted: Iterable[CheckedSkill]
) -> list[Problem]:
    """Return the problems that belong to these skills, or to no skill at all."""
    theirs = {_folder(skill.facts.path) for skill in wanted}
    all_of_them = {_folder(path) for path in skills.folders}
    kept: list[Problem] = []
    for problem in problems:
        around = problem.path
        while around and around not in all_of_them:
            around = _folder(around)
        if around in theirs or around not in all_of_them:
            kept.append(problem)
    return kept


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


async def _changed_in(folder: Path, linked: set[Path], revision: str) -> set[Path]:
    copy = await WorkingCopy.around(folder)
    root = _real(folder)
    elsewhere = {each for each in linked if not each.is_relative_to(root) and each.is_relative_to(copy.top)}
    try:
        base = await copy.parted_from(revision)
        return await copy.changed(base, [root, *elsewhere])
    except SourceError as error:
        raise _no_such_revision(revision, str(error)) from error


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _no_such_revision(revision: str, reason: str) -> UsageError:
    return UsageError(
        f"nothing can be compared with {quoted(revision)}: {reason}",
        hint="name a branch, a tag or a commit that is here; in CI, fetch the whole history first",
    )
