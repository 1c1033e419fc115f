"""What a check is to look at, and everything that it finds there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from skillwire.catalog.library import Library
from skillwire.cli.contract.changed import changed_since, of_these
from skillwire.cli.contract.folders import look
from skillwire.cli.contract.texts import all_problems
from skillwire.cli.library import load_library
from skillwire.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found."""

    library: Library
    problems: Sequence[Problem]
    good: int
    """How many skills can be served, or keep the contract."""
    folders: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Where skills are that can be written to, by the paths that problems call them."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to check. It is asked again after a fix."""

    paths: Sequence[str]
    key: str
    contract: bool
    follow_links: bool = False
    since: str | None = None
    with_folders: bool = False

    def answer(self) -> Found:
        """Look at the skills as they are now. Raises `UsageError`."""
        library = load_library(self.paths, follow_links=self.follow_links)
        if not self.contract and not self.with_folders and self.since is None:
            return Found(library, _sorted(library.catalog.problems), len(library.catalog.entries))
        return anyio.run(self._with_skills, library)

    async def _with_skills(self, library: Library) -> Found:
        skills = look(library, self.key)
        repository = skills.contracted.repository
        wanted = repository.skills
        if self.since is not None:
            wanted = tuple((await changed_since(self.since, library, skills)).affected(skills))
        if self.contract:
            problems = [*skills.contracted.others, *await all_problems(library, skills, wanted)]
            good = sum(1 for _ in repository.sound)
        else:
            problems, good = list(library.catalog.problems), len(library.catalog.entries)
        if self.since is not None:
            problems = of_these(problems, skills, wanted)
        own = {path: folder for path, folder in skills.folders.items() if path in skills.own}
        return Found(library, _sorted(problems), good, own)


def _sorted(problems: Sequence[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.path, problem.line or 0))
