"""What happened in a case, judged by evidence, and the rates of many cases."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from skillwire.evals.cases import TriggerCase
from skillwire.evals.statistics import Rate

MAX_RANK = 50
"""Number of results among which the skill of a case is looked for."""


class Verdict(StrEnum):
    """Which skill was used."""

    TRIGGERED = "triggered"
    """The skill of the case."""
    OTHER = "other"
    """Another skill."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SearchEvidence:
    """What the search for a query returned, as models get it from the tool `search-skills`."""

    rank: int | None
    """The rank of the skill of the case; None if it is not among the first `MAX_RANK` results."""
    first: str
    """The name of the first result. Empty if there is none."""
    weak: bool
    """Whether the search tells models that no skill fits well."""

    def __post_init__(self) -> None:
        if self.rank is not None and (self.rank < 1 or not self.first):
            raise ValueError("a rank needs a result")

    @property
    def verdict(self) -> Verdict:
        if not self.first or self.weak:
            return Verdict.NONE
        return Verdict.TRIGGERED if self.rank == 1 else Verdict.OTHER

    def __str__(self) -> str:
        if not self.first:
            return "the search finds no skill"
        place = "is not found" if self.rank is None else f"has rank {self.rank}"
        said = (
            "the search ranks it first" if self.rank == 1 else f"`{self.first}` is first; this skill {place}"
        )
        return f"{said}, but only weakly: no skill fits well" if self.weak else said

    def to_json(self) -> dict[str, object]:
        return {"kind": "search", "rank": self.rank, "first": self.first or None, "weak": self.weak}


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case with its evidence."""

    skill: str
    """The name of the skill of the case."""
    case: TriggerCase
    evidence: SearchEvidence
    words: tuple[str, ...] = ()
    """Words of the query that explain a case that did not pass, in their order.

    Another skill was used: words that it has in its name or description, and this skill does not. No skill
    was used: words that this skill does not have there. The skill was used wrongly: words that it has there.
    """

    @property
    def verdict(self) -> Verdict:
        return self.evidence.verdict

    @property
    def passed(self) -> bool:
        return (self.verdict is Verdict.TRIGGERED) == self.case.should_trigger

    @property
    def is_near_miss(self) -> bool:
        """Whether the skill should have been used, and is second or third."""
        return self.case.should_trigger and not self.passed and self.evidence.rank in {2, 3}

    def to_json(self) -> dict[str, object]:
        return {
            "id": self.case.id,
            "skill": self.skill,
            "query": self.case.query,
            "should_trigger": self.case.should_trigger,
            "verdict": self.verdict,
            "passed": self.passed,
            "evidence": self.evidence.to_json(),
            "words": list(self.words),
        }


@dataclass(frozen=True, slots=True)
class Rates:
    """How often a skill is used when it should be, and when it should not be."""

    trigger: Rate
    """Among the cases in which the skill should be used, those in which it is."""
    false: Rate
    """Among the cases in which the skill should not be used, those in which it is."""

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> "Rates":
        counts = {True: [0, 0], False: [0, 0]}
        for each in results:
            count = counts[each.case.should_trigger]
            count[0] += each.verdict is Verdict.TRIGGERED
            count[1] += 1
        return cls(Rate(*counts[True]), Rate(*counts[False]))
