"""What the rules of the contract look at, and how they tell what they found."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from skillwire.contract.severity import SEVERITIES
from skillwire.model.entry import Json
from skillwire.model.name import is_skill_name
from skillwire.model.problem import Problem, Rule
from skillwire.skillmd.places import Way, spelled

_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong in a frontmatter: where, what, and what to do."""

    way: Way
    rule: Rule
    message: str
    hint: str

    def problem(self, path: str) -> Problem:
        """Return it as a problem of the `SKILL.md` at `path`, with the severity that its rule has."""
        severity = SEVERITIES[self.rule]
        return Problem(path, self.rule, severity, self.message, hint=self.hint, field=spelled(self.way))


@dataclass(frozen=True, slots=True)
class SkillFacts:
    """A skill as the contract sees it: everything but its body."""

    path: str
    """Its `SKILL.md`, below the folder that was given."""
    folder: str | None
    """The name of its folder; None where there is none to compare with."""
    frontmatter: Mapping[str, Json]
    files: frozenset[str] | None = None
    """The paths of all its files; None where nobody knows."""
    problems: tuple[Problem, ...] = ()
    """What is wrong by the rules of Agent Skills."""
    uri: str = ""
    """Under which its `SKILL.md` is served, if it is."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One skill, and the block in it. The rules for the block are asked only if it is a mapping."""

    facts: SkillFacts
    key: str
    block: Mapping[str, Json]

    @classmethod
    def of(cls, facts: SkillFacts, key: str) -> "Subject":
        """Return a skill with its block, which is empty if there is none."""
        block = facts.frontmatter.get(key)
        return cls(facts, key, block if isinstance(block, dict) else {})

    @property
    def id(self) -> str | None:
        return text_or_none(self.block.get("id"))

    @property
    def name(self) -> str | None:
        return text_or_none(self.facts.frontmatter.get("name"))

    @property
    def namespace(self) -> str:
        """What the skill's URIs are made of: its id, or what that should be."""
        guesses = (each for each in (self.name, self.facts.folder) if each and is_skill_name(each))
        return self.id or next(guesses, "my-skill")

    def way(self, *parts: str | int) -> Way:
        """Return the way to a value in the block."""
        return (self.key, *parts)

    def references(self) -> Iterator[tuple[str, Mapping[str, Json]]]:
        """Yield each reference that is written as one, well or badly."""
        references = self.block.get("references")
        for ref_id, value in references.items() if isinstance(references, dict) else ():
            yield ref_id, value if isinstance(value, dict) else {}

    def aliases(self) -> Iterator[tuple[str, int, str]]:
        """Yield each further name of a reference: whose it is, which, and the name."""
        for ref_id, reference in self.references():
            aliases = reference.get("aliases")
            for at, alias in enumerate(aliases if isinstance(aliases, list) else ()):
                if isinstance(alias, str):
                    yield ref_id, at, alias


def is_kebab(text: str) -> bool:
    """Whether `text` is lowercase words and numbers with single hyphens between them."""
    return _KEBAB.fullmatch(text) is not None


def kebab(text: str) -> str:
    """Return what comes nearest to `text` in kebab-case, or `` if nothing of it is left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def text_or_none(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def texts(value: Json) -> list[str]:
    """Return the texts of a list; none of what is no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def first_wrong(items: Iterable[Json]) -> int | None:
    """Return the position of the first item that is not text with something in it."""
    return next((at for at, item in enumerate(items) if not isinstance(item, str) or not item), None)
