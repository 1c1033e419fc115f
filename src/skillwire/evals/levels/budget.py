"""Level 0: which clients show models a skill's description. It needs neither cases nor a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillwire.evals.search_area import doctor_report
from skillwire.library.library import Library

SHOWN = "shown"


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which one client gets the skills."""

    client: str
    way: str

    def __str__(self) -> str:
        return f"{self.client}, {self.way}"


@dataclass(frozen=True, slots=True)
class Shown:
    """What becomes of one skill in one way: `shown`, `shortened`, `dropped` or `refused`, and why."""

    way: Way
    verdict: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SkillBudget:
    """What the clients show of one skill."""

    skill: str
    ways: tuple[Shown, ...]

    @property
    def whole(self) -> int:
        """The number of ways in which models see the whole description."""
        return sum(each.verdict == SHOWN for each in self.ways)

    def to_json(self) -> dict[str, object]:
        return {
            "skill": self.skill,
            "clients": [
                {
                    "client": each.way.client,
                    "way": each.way.way,
                    "verdict": each.verdict,
                    "reason": each.reason,
                }
                for each in self.ways
            ],
        }


async def budgets(library: Library, skills: Sequence[str]) -> list[SkillBudget]:
    """Return what each client shows of these skills, with the data of `skillwire doctor`."""
    report = await doctor_report(library)
    ways: list[tuple[Way, Mapping[str, Any]]] = [
        (Way(each["client"], each["way"]), {found["name"]: found for found in each["findings"]})
        for each in report["clients"]
    ]
    return [
        SkillBudget(skill, tuple(_shown(way, findings.get(skill)) for way, findings in ways))
        for skill in skills
    ]


def _shown(way: Way, finding: Mapping[str, Any] | None) -> Shown:
    return Shown(way, SHOWN) if finding is None else Shown(way, finding["verdict"], finding["reason"])
