"""One skill folder as it is at this moment, every byte of it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillwire.model.errors import SourceError
from skillwire.model.limits import Limits
from skillwire.model.problem import Problem
from skillwire.model.uri import SKILL_FILE
from skillwire.sources.folder.facts import FactCache
from skillwire.sources.folder.files import read_file
from skillwire.sources.folder.ignore import Ignored
from skillwire.sources.folder.look import Look, must_be_readable
from skillwire.sources.folder.skill_folder import read_unit


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file, with its bytes."""

    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class WholeSkill:
    """A skill that was read to its end."""

    name: str
    files: Mapping[str, WholeFile]
    """By the path that each is published under, `SKILL.md` first, the others sorted."""
    problems: tuple[Problem, ...]
    """What of the folder was left out. What its `SKILL.md` says wrong, whoever reads that finds."""


class BrokenSkillError(SourceError):
    """A folder whose skill cannot be served, with everything that is wrong."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(str(problem) for problem in problems))


def read_whole(root: Path, limits: Limits | None = None) -> WholeSkill:
    """Read the skill in the folder `root`, by the rules of a folder that is served.

    A skill nested in it is among its files, whatever is wrong with it. Raises `BrokenSkillError`, or
    `SourceError` where there is no skill at all.
    """
    must_be_readable(os.fspath(root))
    ignored = Ignored.at(root)
    look = Look(os.fspath(root), limits=limits or Limits(), ignored=ignored, follow_links=False)
    folder = look.start()
    listed = look.into(folder)
    if listed.marker is None:
        raise SourceError(f"it holds no `{SKILL_FILE}`")
    unit = read_unit(look, FactCache(), folder, listed)
    draft = unit.draft("")
    if draft is None:
        raise BrokenSkillError(unit.problems)
    files: dict[str, WholeFile] = {}
    for file in sorted(draft.files, key=lambda file: (file.path != SKILL_FILE, file.path)):
        location = draft.stored.get(file.path) or os.path.join(draft.location, file.path)  # noqa: PTH118
        content, _ = read_file(location, file.size)
        files[file.path] = WholeFile(file.mime_type, file.verify(content, file.path))
    return WholeSkill(draft.name, files, draft.warnings)
