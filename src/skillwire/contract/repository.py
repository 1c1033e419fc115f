"""Check all skills of a repository or catalogue, each alone and then together."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillwire.contract.frontmatter import SkillFrontmatter, build_frontmatter
from skillwire.contract.graph import Graph
from skillwire.contract.rules.check import check_skill
from skillwire.contract.rules.skill import ContractSkill, SkillFacts, is_id, texts
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord
from skillwire.library.catalog import Catalog
from skillwire.safe_text import quoted


@dataclass(frozen=True, slots=True)
class CheckedSkill:
    """One skill, and everything that is wrong with it."""

    facts: SkillFacts
    id: str
    """What it goes by: its id, or what that should be."""
    has_id: bool
    depends_on: tuple[str, ...]
    problems: tuple[Problem, ...]
    frontmatter: SkillFrontmatter | None
    """What it says of itself; None where there is an error."""

    def with_problems(self, problems: Sequence[Problem]) -> "CheckedSkill":
        """Return this skill with further problems."""
        if not problems:
            return self
        broken = any(map(_is_error, problems))
        return replace(
            self,
            problems=(*self.problems, *problems),
            frontmatter=None if broken else self.frontmatter,
        )


@dataclass(frozen=True, slots=True)
class Repository:
    """Every skill, checked, in the order of their paths, and how they depend on each other."""

    skills: tuple[CheckedSkill, ...]
    graph: Graph

    @property
    def problems(self) -> Iterator[Problem]:
        return (problem for skill in self.skills for problem in skill.problems)

    @property
    def errors(self) -> Iterator[Problem]:
        return filter(_is_error, self.problems)

    @property
    def sound(self) -> Iterator[tuple[CheckedSkill, SkillFrontmatter]]:
        """Yield the skills that keep the contract."""
        return ((skill, skill.frontmatter) for skill in self.skills if skill.frontmatter is not None)


def check_one(facts: SkillFacts, key: str) -> CheckedSkill:
    """Check one skill by itself."""
    subject = ContractSkill.of(facts, key)
    problems = tuple(check_skill(facts, key))
    sound = not any(map(_is_error, problems))
    needed = tuple(dict.fromkeys(texts(subject.block.get("depends_on"))))
    frontmatter = build_frontmatter(facts.frontmatter, key, problems) if sound else None
    # A skill without an id still is something that others can depend on.
    known_as = subject.id or subject.name or facts.folder or facts.path
    return CheckedSkill(facts, known_as, subject.id is not None, needed, problems, frontmatter)


def check_repository(checked: Iterable[CheckedSkill], key: str) -> Repository:
    """Add what is wrong between skills that were checked each by itself."""
    skills = sorted(checked, key=lambda skill: skill.facts.path)
    first: dict[str, CheckedSkill] = {}
    for skill in sorted(skills, key=lambda skill: not skill.has_id):
        first.setdefault(skill.id, skill)
    graph = Graph.of({skill.id: skill.depends_on for skill in first.values()})
    cycles = {each: cycle for cycle in graph.cycles for each in cycle}
    related = [skill.with_problems([*_relations(skill, key, first, cycles)]) for skill in skills]
    broken = {skill.id for skill in related if skill.frontmatter is None}
    broken -= {skill.id for skill in related if skill.frontmatter is not None}
    return Repository(tuple(_with_warnings(skill, key, broken) for skill in related), graph)


def _relations(
    skill: CheckedSkill,
    key: str,
    first: Mapping[str, CheckedSkill],
    cycles: Mapping[str, tuple[str, ...]],
) -> Iterator[Problem]:
    if skill.has_id and (other := first[skill.id]) is not skill:
        message = f"the id {quoted(skill.id)} belongs to {quoted(other.facts.path)}"
        hint = "give one of the two another id, name and folder"
        yield skill.facts.problem((key, "id"), Rule.CONTRACT_ID_TAKEN, message, hint)
    for needed in skill.depends_on:
        if needed not in first and is_id(needed):  # a bad id is already reported
            message = f"there is no skill {quoted(needed)} here"
            hint = "mend the id, or remove it; `skillwire graph` shows the ids that there are"
            yield skill.facts.problem(
                _way(skill, key, needed), Rule.CONTRACT_DEPENDENCY_UNKNOWN, message, hint
            )
    if (cycle := cycles.get(skill.id)) is not None:
        message = f"the skills depend on each other: {quoted(' → '.join(cycle))}"
        hint = "remove one of these dependencies"
        yield skill.facts.problem((key, "depends_on"), Rule.CONTRACT_DEPENDENCY_CYCLE, message, hint)


def _with_warnings(skill: CheckedSkill, key: str, broken: set[str]) -> CheckedSkill:
    """Return a sound skill with a warning for each broken one that it depends on."""
    if skill.frontmatter is None:
        return skill
    message = "the skill {} breaks the contract, so this one may lack something"
    hint = "mend that one first"
    problems = (
        skill.facts.problem(
            _way(skill, key, needed), Rule.CONTRACT_DEPENDENCY_BROKEN, message.format(quoted(needed)), hint
        )
        for needed in skill.depends_on
        if needed in broken
    )
    return skill.with_problems([*problems])


def _way(skill: CheckedSkill, key: str, needed: str) -> tuple[str | int, ...]:
    listed = ContractSkill.of(skill.facts, key).block["depends_on"]
    assert isinstance(listed, list), "what has dependencies has a list of them"
    return (key, "depends_on", listed.index(needed))


def _is_error(problem: Problem) -> bool:
    return problem.severity is Severity.ERROR


@dataclass(frozen=True, slots=True)
class CheckedCatalog:
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


def check_catalog(
    catalog: Catalog, key: str, before: CheckedCatalog | None = None, more: Sequence[SkillFacts] = ()
) -> CheckedCatalog:
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
            last = entry, check_one(skill_facts(entry, catalog), key)
        known[uri] = last
    checked = [checked for _, checked in known.values()]
    checked.extend(check_one(facts, key) for facts in more)
    told = {problem for skill in checked for problem in skill.facts.problems}
    others = tuple(problem for problem in catalog.problems if problem not in told)
    return CheckedCatalog(catalog, check_repository(checked, key), others, known)


def skill_facts(entry: SkillRecord, catalog: Catalog) -> SkillFacts:
    """Return what the contract looks at in a skill that can be served."""
    path = display_path(entry, catalog)
    return SkillFacts(
        path,
        _folder(entry),
        entry.frontmatter,
        frozenset(file.path for file in entry.files),
        tuple(replace(problem, path=_shown(entry, problem.path, catalog)) for problem in entry.problems),
        entry.uri,
    )


def display_path(entry: SkillRecord, catalog: Catalog) -> str:
    """Return what problems call the `SKILL.md` of a skill."""
    return _shown(entry, entry.origin.path, catalog)


def _shown(entry: SkillRecord, path: str, catalog: Catalog) -> str:
    return f"{entry.origin.source}/{path}" if catalog.has_several_sources else path


def _folder(entry: SkillRecord) -> str:
    """Return the name of the folder that a skill lives in."""
    folder = os.path.dirname(entry.origin.path) or entry.origin.location  # noqa: PTH120 - also no real path
    return os.path.basename(folder)  # noqa: PTH119
