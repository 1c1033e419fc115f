"""The report of one run: the results of all cases, and what follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import orjson

from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.core.problem import Problem
from skillwire.errors import UsageError
from skillwire.evals.levels.routing import CLAIM, Confusion, find_confusions
from skillwire.evals.statistics import Interval, PairedDifference, Rate
from skillwire.evals.verdict import CaseResult, Rates
from skillwire.safe_text import quoted

LEVEL = "routing"
_MAX_REPORT_BYTES = 64 * 1024 * 1024
_MAX_REPORT_VALUES = 2_000_000
Key = tuple[str, str, bool]
"""What identifies a case in two reports: skill, query and expectation. Ids change when cases are added."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cases that an earlier report also has, before and after."""

    difference: PairedDifference
    fixed: tuple[CaseResult, ...]
    broken: tuple[CaseResult, ...]
    gone: int = 0
    """The number of cases that only the earlier report has."""

    def to_json(self) -> dict[str, object]:
        value, interval = self.difference.value, self.difference.interval
        return {
            "cases": self.difference.total,
            "before": rounded(self.difference.before.value),
            "after": rounded(self.difference.after.value),
            "difference": rounded(value),
            "interval": rounded_interval(interval),
            "fixed": [{"id": each.case.id, "skill": each.skill} for each in self.fixed],
            "broken": [{"id": each.case.id, "skill": each.skill} for each in self.broken],
            "gone": self.gone,
        }


@dataclass(frozen=True, slots=True)
class EvalReport:
    """The results of all cases at the level `routing`."""

    results: tuple[CaseResult, ...]
    skills: int
    """The number of skills in the library that models may load."""
    problems: tuple[Problem, ...] = ()
    comparison: Comparison | None = None
    complete: bool = True
    """Whether all cases were used. Cases with errors, and those of skills with errors, are not."""

    @property
    def rates(self) -> Rates:
        return Rates.of(self.results)

    @property
    def passed(self) -> int:
        return sum(each.passed for each in self.results)

    @property
    def confusions(self) -> list[Confusion]:
        return find_confusions(self.results)

    @property
    def by_skill(self) -> Mapping[str, tuple[CaseResult, ...]]:
        """The results of each skill that has cases, in the order of the library."""
        found = dict[str, list[CaseResult]]()
        for each in self.results:
            found.setdefault(each.skill, []).append(each)
        return {skill: tuple(results) for skill, results in found.items()}

    def to_json(self) -> dict[str, object]:
        rates = self.rates
        return {
            "level": LEVEL,
            "claim": CLAIM,
            "cases": [each.to_json() for each in self.results],
            "skills": [_skill_json(skill, results) for skill, results in self.by_skill.items()],
            "confusions": [each.to_json() for each in self.confusions],
            "rates": {"trigger": rounded(rates.trigger.value), "false": rounded(rates.false.value)},
            "interval": {
                "trigger": rounded_interval(rates.trigger.interval),
                "false": rounded_interval(rates.false.interval),
            },
            "complete": self.complete,
            "problems": [each.to_json() for each in self.problems],
            **({} if self.comparison is None else {"comparison": self.comparison.to_json()}),
        }


def _skill_json(skill: str, results: tuple[CaseResult, ...]) -> dict[str, object]:
    rates = Rates.of(results)
    return {"skill": skill, "trigger": _rate_json(rates.trigger), "false": _rate_json(rates.false)}


def _rate_json(rate: Rate) -> dict[str, object]:
    return {
        "count": rate.successes,
        "total": rate.total,
        "rate": rounded(rate.value),
        "interval": rounded_interval(rate.interval),
    }


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def rounded_interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(each, 4) for each in interval]


def compare(results: tuple[CaseResult, ...], earlier: Mapping[Key, bool]) -> Comparison:
    """Compare the cases that both reports have."""
    both = [(each, known) for each in results if (known := earlier.get(_key(each))) is not None]
    fixed = tuple(each for each, before in both if each.passed and not before)
    broken = tuple(each for each, before in both if before and not each.passed)
    passing = sum(each.passed and before for each, before in both)
    counts = PairedDifference(
        passing, len(broken), len(fixed), len(both) - passing - len(broken) - len(fixed)
    )
    gone = len(earlier.keys() - {_key(each) for each in results})
    return Comparison(counts, fixed, broken, gone)


def _key(result: CaseResult) -> Key:
    return result.skill, result.case.query, result.case.should_trigger


def read_earlier(path: Path) -> dict[Key, bool]:
    """Return which cases passed in a report of `skillwire eval --json`. Raises `UsageError`."""
    wrong = UsageError(
        f"{quoted(str(path))} is not a report of `skillwire eval`",
        hint="write one with `skillwire eval SOURCE --json > report.json`",
    )
    try:
        with path.open("rb") as opened:
            content = opened.read(_MAX_REPORT_BYTES + 1)
        if len(content) > _MAX_REPORT_BYTES:
            raise wrong
        report = cast("Any", load_bounded_json(content, max_values=_MAX_REPORT_VALUES))
        if report["level"] != LEVEL:
            raise wrong
        return {_key_in(each): bool(each["passed"]) for each in report["cases"]}
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(
            f"cannot read {quoted(str(path))}: {reason}", hint="name an earlier report"
        ) from error
    except (orjson.JSONDecodeError, JsonTooLargeError, KeyError, TypeError, ValueError) as error:
        raise wrong from error


def _key_in(case: Any) -> Key:
    skill, query, should_trigger = case["skill"], case["query"], case["should_trigger"]
    if not isinstance(skill, str) or not isinstance(query, str) or not isinstance(should_trigger, bool):
        raise TypeError
    return skill, query, should_trigger
