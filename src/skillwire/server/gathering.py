"""What a program hands over to be served, in all its forms, as one library."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from skillwire.authoring.live import LiveSkill
from skillwire.authoring.registry import Skills
from skillwire.authoring.rules import AuthoringError
from skillwire.authoring.skill import Skill
from skillwire.authoring.source import CodeSource
from skillwire.catalog.library import Library
from skillwire.sources.base import Source
from skillwire.sources.directory import FolderSource

Servable: TypeAlias = Skill | LiveSkill | Skills | Source | str | os.PathLike[str]
"""A skill, several of them, a source of skills, or the path of a folder."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that is to be served."""

    library: Library
    prompts: Mapping[str, Skill]


def gathered(parts: Iterable[Servable], *, label: str, base: Path) -> Gathered:
    """Return all that `parts` hold. A relative path is relative to `base`.

    Raises `ConflictError` if skills written in code get in each other's way, or sources share a label.
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
                sources.append(FolderSource(base / part, keep_good=True))
            case _:
                fix = "hand over a `Skill`, `Skills`, a source, or the path of a folder"
                raise AuthoringError("the value", repr(part), "is nothing that can be served", fix)
    written = [CodeSource(skills, label=label)] if len(skills) else []
    return Gathered(Library([*written, *sources]), skills.prompts)
