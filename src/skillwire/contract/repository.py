"""Check all skills of a repository or catalog: first each skill, then the relations between them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillwire.contract.frontmatter import SkillFrontmatter, build_frontmatter
from skillwire.contract.graph import Graph
from skillwire.contract.rules.check import check_skill
from skillwire.contract.rules.skill import ContractSkill, SkillFacts, is_id, key_of, texts, used_key
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord
from skillwire.library.catalog import Catalog
from skillwire.safe_text import quoted


@dataclass(frozen=True, slots=True)
class CheckedSkill:
    """The result of checking one skill."""

    facts: SkillFacts
    key: str
    """Frontmatter key of its metadata block."""
    id: str
    """The skill's id. Without an id, its name, else the name of its folder, else its path."""
    has_id: bool
    depends_on: tuple[str, ...]
    problems: tuple[Problem, ...]
    frontmatter: SkillFrontmatter | None
    """Its typed frontmatter, or None if one of its problems is an error."""

    def with_problems(self, problems: Sequence[Problem]) -> "CheckedSkill":
        """Return a copy with these problems added. If one is an error, the copy has no `frontmatter`."""
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
    """All checked skills, sorted by path, and their dependency graph."""

    skills: tuple[CheckedSkill, ...]
    graph: Graph

    @property
    def problems(self) -> Iterator[Problem]:
        return (problem for skill in self.skills for problem in skill.problems)

    @property
    def errors(self) -> Iterator[Problem]:
        return filter(_is_error, self.problems)

    @property
    def valid(self) -> Iterator[tuple[CheckedSkill, SkillFrontmatter]]:
        """The skills without errors, each with its typed frontmatter."""
        return ((skill, skill.frontmatter) for skill in self.skills if skill.frontmatter is not None)


def check_one(facts: SkillFacts, key: str) -> CheckedSkill:
    """Check one skill, without its relations to other skills."""
    subject = ContractSkill.of(facts, key)
    problems = tuple(check_skill(facts, key))
    valid = not any(map(_is_error, problems))
    needed = tuple(dict.fromkeys(texts(subject.block.get("depends_on"))))
    frontmatter = build_frontmatter(facts.frontmatter, key, problems) if valid else None
    # Other skills can depend on a skill without an id by using its name.
    known_as = subject.id or subject.name or facts.folder or facts.path
    return CheckedSkill(facts, key, known_as, subject.id is not None, needed, problems, frontmatter)


def check_repository(checked: Iterable[CheckedSkill]) -> Repository:
    """Return the repository of these skills, with the problems in the relations between them.

    Such problems are duplicate ids, unknown dependencies, cycles, and dependencies on skills with errors.
    """
    skills = sorted(checked, key=lambda skill: skill.facts.path)
    first: dict[str, CheckedSkill] = {}
    for skill in sorted(skills, key=lambda skill: not skill.has_id):
        first.setdefault(skill.id, skill)
    graph = Graph.of({skill.id: skill.depends_on for skill in first.values()})
    cycles = {each: cycle for cycle in graph.cycles for each in cycle}
    related = [skill.with_problems([*_relations(skill, first, cycles)]) for skill in skills]
    broken = {skill.id for skill in related if skill.frontmatter is None}
    broken -= {skill.id for skill in related if skill.frontmatter is not None}
    return Repository(tuple(_with_warnings(skill, broken) for skill in related), graph)


def _relations(
    skill: CheckedSkill,
    first: Mapping[str, CheckedSkill],
    cycles: Mapping[str, tuple[str, ...]],
) -> Iterator[Problem]:
    """Yield an error for an id that is taken, for each unknown dependency, and for a cycle."""
    if skill.has_id and (other := first[skill.id]) is not skill:
        message = f"the id {quoted(skill.id)} belongs to {quoted(other.facts.path)}"
        hint = "give one of the two another id, name and folder"
        yield skill.facts.problem((skill.key, "id"), Rule.CONTRACT_ID_TAKEN, message, hint)
    for needed in skill.depends_on:
        if needed not in first and is_id(needed):  # a bad id is already reported
            message = f"there is no skill {quoted(needed)}"
            hint = "fix the id, or remove it; `skillwire graph` shows all ids"
            yield skill.facts.problem(_way(skill, needed), Rule.CONTRACT_DEPENDENCY_UNKNOWN, message, hint)
    if (cycle := cycles.get(skill.id)) is not None:
        message = f"the skills depend on each other: {quoted(' → '.join(cycle))}"
        hint = "remove one of these dependencies"
        yield skill.facts.problem((skill.key, "depends_on"), Rule.CONTRACT_DEPENDENCY_CYCLE, message, hint)


def _with_warnings(skill: CheckedSkill, broken: set[str]) -> CheckedSkill:
    """Return a skill with a warning for each dependency in `broken`. A skill with errors stays unchanged."""
    if skill.frontmatter is None:
        return skill
    message = "the skill {} breaks the contract, so this one may lack something"
    hint = "fix that skill first"
    problems = (
        skill.facts.problem(
            _way(skill, needed), Rule.CONTRACT_DEPENDENCY_BROKEN, message.format(quoted(needed)), hint
        )
        for needed in skill.depends_on
        if needed in broken
    )
    return skill.with_problems([*problems])


def _way(skill: CheckedSkill, needed: str) -> tuple[str | int, ...]:
    listed = ContractSkill.of(skill.facts, skill.key).block["depends_on"]
    assert isinstance(listed, list), "a skill with dependencies has a list of them"
    return (skill.key, "depends_on", listed.index(needed))


def _is_error(problem: Problem) -> bool:
    return problem.severity is Severity.ERROR


@dataclass(frozen=True, slots=True)
class CheckedCatalog:
    """The result of checking one catalog."""

    catalog: Catalog
    repository: Repository
    others: tuple[Problem, ...]
    """The catalog's problems that belong to none of the checked skills, such as those of sources."""
    known: Mapping[str, tuple[SkillRecord, CheckedSkill]]
    """Each record and the result of checking it alone, by URI.

    The next check reuses the result if the record and the key of its block are the same.
    """
    new_key: str
    """The key for a skill without a block."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems: `others`, then those of the checked skills."""
        return (*self.others, *self.repository.problems)

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)


def check_catalog(
    catalog: Catalog,
    key: str | None,
    before: CheckedCatalog | None = None,
    more: Sequence[SkillFacts] = (),
) -> CheckedCatalog:
    """Check every skill in `catalog`, and `more` skills that are not in it. Reuses results from `before`.

    If `key` is None, the block of each skill is under one of `BLOCK_KEYS`. Live skills, and records without a
    `name` in their frontmatter, are not checked.
    """
    old: Mapping[str, tuple[SkillRecord, CheckedSkill]] = before.known if before is not None else {}
    known: dict[str, tuple[SkillRecord, CheckedSkill]] = {}
    entries = {uri: each for uri, each in catalog.entries.items() if each.listed and not each.dynamic}
    frontmatters = (*(each.frontmatter for each in entries.values()), *(each.frontmatter for each in more))
    new_key = used_key(frontmatters) if key is None else key
    for uri, entry in entries.items():
        resolved, last = key_of(entry.frontmatter, key, new_key), old.get(uri)
        if last is None or last[0] is not entry or last[1].key != resolved:
            last = entry, check_one(skill_facts(entry, catalog), resolved)
        known[uri] = last
    checked = [checked for _, checked in known.values()]
    checked.extend(check_one(facts, key_of(facts.frontmatter, key, new_key)) for facts in more)
    reported = {problem for skill in checked for problem in skill.facts.problems}
    others = tuple(problem for problem in catalog.problems if problem not in reported)
    return CheckedCatalog(catalog, check_repository(checked), others, known, new_key)


def skill_facts(entry: SkillRecord, catalog: Catalog) -> SkillFacts:
    """Return the facts about a skill in the catalog that the rules need."""
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
    """Return the path of a skill's `SKILL.md` as shown in problems."""
    return _shown(entry, entry.origin.path, catalog)


def _shown(entry: SkillRecord, path: str, catalog: Catalog) -> str:
    return f"{entry.origin.source}/{path}" if catalog.has_several_sources else path


def _folder(entry: SkillRecord) -> str:
    """Return the name of a skill's folder."""
    folder = os.path.dirname(entry.origin.path) or entry.origin.location  # noqa: PTH120 - a path inside the source, not on disk
    return os.path.basename(folder)  # noqa: PTH119
