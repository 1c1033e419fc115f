"""A catalogue under the repository contract: every skill checked, and what can be published of them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillwire.catalog.snapshot import Catalog
from skillwire.contract.repository import CheckedSkill, Repository, check_one, check_together
from skillwire.contract.subject import SkillFacts
from skillwire.model.entry import SkillRecord
from skillwire.model.problem import Problem, Severity


@dataclass(frozen=True, slots=True)
class Contracted:
    """What the contract says of one catalogue."""

    catalog: Catalog
    repository: Repository
    others: tuple[Problem, ...]
    """What is wrong with skills that the catalogue does not hold, and with sources."""
    known: Mapping[str, tuple[SkillRecord, CheckedSkill]]
    """Each skill by its URI, checked by itself: what did not change is not checked again."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong, as grave as the contract takes it."""
        return (*self.others, *self.repository.problems)

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)


def contracted(
    catalog: Catalog, key: str, before: Contracted | None = None, more: Sequence[SkillFacts] = ()
) -> Contracted:
    """Check every skill of `catalog`, and `more` skills that it could not hold.

    The skill of a program that is connected is no part of the repository, and comes and goes: it is left out.
    """
    old: Mapping[str, tuple[SkillRecord, CheckedSkill]] = before.known if before is not None else {}
    known: dict[str, tuple[SkillRecord, CheckedSkill]] = {}
    for uri, entry in catalog.entries.items():
        if not entry.listed or entry.dynamic:
            continue
        last = old.get(uri)
        if last is None or last[0] is not entry:
            last = entry, check_one(facts_of(entry, catalog), key)
        known[uri] = last
    checked = [checked for _, checked in known.values()]
    checked.extend(check_one(facts, key) for facts in more)
    told = {problem for skill in checked for problem in skill.facts.problems}
    others = tuple(problem for problem in catalog.problems if problem not in told)
    return Contracted(catalog, check_together(checked, key), others, known)


def facts_of(entry: SkillRecord, catalog: Catalog) -> SkillFacts:
    """Return what the contract looks at in a skill that can be served."""
    path = shown_path(entry, catalog)
    return SkillFacts(
        path,
        _folder(entry),
        entry.frontmatter,
        frozenset(file.path for file in entry.files),
        tuple(replace(problem, path=_shown(entry, problem.path, catalog)) for problem in entry.problems),
        entry.uri,
    )


def shown_path(entry: SkillRecord, catalog: Catalog) -> str:
    """Return what problems call the `SKILL.md` of a skill."""
    return _shown(entry, entry.origin.path, catalog)


def _shown(entry: SkillRecord, path: str, catalog: Catalog) -> str:
    return f"{entry.origin.source}/{path}" if catalog.several else path


def _folder(entry: SkillRecord) -> str:
    """Return the name of the folder that a skill lives in."""
    folder = os.path.dirname(entry.origin.path) or entry.origin.location  # noqa: PTH120 - also no real path
    return os.path.basename(folder)  # noqa: PTH119
