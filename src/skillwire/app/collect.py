"""Collect skills in code, sources and folders into one library."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from skillwire.app.problem_log import log_problems
from skillwire.authoring.live import LiveSkill
from skillwire.authoring.skill import Skill
from skillwire.authoring.skills import Skills
from skillwire.authoring.source import CodeSource
from skillwire.core.record import Limits
from skillwire.errors import InvalidValueError
from skillwire.library.library import Library
from skillwire.sources.base import Source
from skillwire.sources.folder.place import check_is_path
from skillwire.sources.folder.source import FolderSource

Servable: TypeAlias = Skill | LiveSkill | Skills | Source | str | os.PathLike[str]
"""A skill, several of them, a source of skills, or the path of a folder."""


@dataclass(frozen=True, slots=True)
class CollectedSkills:
    """The library to serve, and the prompts of its skills in code."""

    library: Library
    prompts: Mapping[str, Skill]


def collect_skills(
    parts: Iterable[Servable],
    *,
    label: str,
    base: Path,
    limits: Limits | None = None,
    frozen: bool = False,
) -> CollectedSkills:
    """Return one library with everything in `parts`, and the prompts of the skills in code.

    When the library is loaded or changes, its problems are logged.

    Paths are relative to `base`; `limits` apply to folders. Raises `InvalidValueError` if a part is not
    `Servable`, a skill in code is too large, or two collections have a prompt of the same name. Raises
    `ConflictError` if skills in code conflict or two sources have the same label.
    """
    skills, sources = Skills(), list[Source]()
    for part in parts:
        match part:
            case Skill() | LiveSkill():
                skills = skills.add(part)
            case Skills():
                skills = skills.merge(part)
            case Source():
                sources.append(part)
            case str() | os.PathLike():
                sources.append(_folder(base, part, limits))
            case _:
                fix = "pass a `Skill`, `Skills`, a source, or the path of a folder"
                raise InvalidValueError("the value", repr(part), "cannot be served", fix)
    code_sources = [CodeSource(skills, label=label)] if len(skills) else []
    library = Library([*code_sources, *sources], frozen=frozen)
    log_problems(library)
    return CollectedSkills(library, skills.prompts)


def _folder(base: Path, part: str | os.PathLike[str], limits: Limits | None) -> FolderSource:
    """Return the folder at a path relative to `base`. Raises `InvalidValueError` if it is no path."""
    if not (base / part).is_dir():
        check_is_path(part)  # as it was written, because joining paths changes an address
    return FolderSource(base / part, limits=limits, keep_good=True)
