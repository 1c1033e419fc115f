"""All skills of a repository together: each by itself, then what holds between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillwire.contract.frontmatter import SkillFrontmatter, typed
from skillwire.contract.graph import Graph
from skillwire.contract.rules import check_skill
from skillwire.contract.subject import Fault, SkillFacts, Subject, is_id, texts
from skillwire.model.display import quoted
from skillwire.model.problem import Problem, Rule, Severity


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

    def with_more(self, problems: Sequence[Problem]) -> "CheckedSkill":
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
    subject = Subject.of(facts, key)
    problems = tuple(check_skill(facts, key))
    sound = not any(map(_is_error, problems))
    needed = tuple(dict.fromkeys(texts(subject.block.get("depends_on"))))
    frontmatter = typed(facts.frontmatter, key, problems) if sound else None
    # A skill without an id still is something that others can depend on.
    known_as = subject.id or subject.name or facts.folder or facts.path
    return CheckedSkill(facts, known_as, subject.id is not None, needed, problems, frontmatter)


def check_together(checked: Iterable[CheckedSkill], key: str) -> Repository:
    """Add what is wrong between skills that were checked each by itself."""
    skills = sorted(checked, key=lambda skill: skill.facts.path)
    first: dict[str, CheckedSkill] = {}
    for skill in sorted(skills, key=lambda skill: not skill.has_id):
        first.setdefault(skill.id, skill)
    graph = Graph.of({skill.id: skill.depends_on for skill in first.values()})
    cycles = {each: cycle for cycle in graph.cycles for each in cycle}
    related = [
        skill.with_more([fault.problem(skill.facts.path) for fault in _relations(skill, key, first, cycles)])
        for skill in skills
    ]
    broken = {skill.id for skill in related if skill.frontmatter is None}
    broken -= {skill.id for skill in related if skill.frontmatter is not None}
    return Repository(tuple(_warned(skill, key, broken) for skill in related), graph)


def _relations(
    skill: CheckedSkill,
    key: str,
    first: Mapping[str, CheckedSkill],
    cycles: Mapping[str, tuple[str, ...]],
) -> Iterator[Fault]:
    if skill.has_id and (other := first[skill.id]) is not skill:
        message = f"the id {quoted(skill.id)} belongs to {quoted(other.facts.path)}"
        hint = "give one of the two another id, name and folder"
        yield Fault((key, "id"), Rule.CONTRACT_ID_TAKEN, message, hint)
    for needed in skill.depends_on:
        if needed not in first and is_id(needed):  # a bad id is already reported
            message = f"there is no skill {quoted(needed)} here"
            hint = "mend the id, or remove it; `skillwire graph` shows the ids that there are"
            yield Fault(_way(skill, key, needed), Rule.CONTRACT_DEPENDENCY_UNKNOWN, message, hint)
    if (cycle := cycles.get(skill.id)) is not None:
        message = f"the skills depend on each other: {quoted(' → '.join(cycle))}"
        hint = "remove one of these dependencies"
        yield Fault((key, "depends_on"), Rule.CONTRACT_DEPENDENCY_CYCLE, message, hint)


def _warned(skill: CheckedSkill, key: str, broken: set[str]) -> CheckedSkill:
    """Return a sound skill with a warning for each broken one that it depends on."""
    if skill.frontmatter is None:
        return skill
    message = "the skill {} breaks the contract, so this one may lack something"
    hint = "mend that one first"
    faults = (
        Fault(_way(skill, key, needed), Rule.CONTRACT_DEPENDENCY_BROKEN, message.format(quoted(needed)), hint)
        for needed in skill.depends_on
        if needed in broken
    )
    return skill.with_more([fault.problem(skill.facts.path) for fault in faults])


def _way(skill: CheckedSkill, key: str, needed: str) -> tuple[str | int, ...]:
    listed = Subject.of(skill.facts, key).block["depends_on"]
    assert isinstance(listed, list), "what has dependencies has a list of them"
    return (key, "depends_on", listed.index(needed))


def _is_error(problem: Problem) -> bool:
    return problem.severity is Severity.ERROR
