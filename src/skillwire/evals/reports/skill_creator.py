"""A report as files of the skill-creator: `grading.json` for each case, `benchmark.json` for each skill.

The skill-creator's viewer and its `aggregate_benchmark.py` read them.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import fmean, stdev

from skillwire.evals.levels.routing import CLAIM
from skillwire.evals.reports.wording import explain, shorten
from skillwire.evals.verdict import CaseResult

_CONFIGURATION = "with_skill"


def grading(result: CaseResult) -> dict[str, object]:
    """Return the `grading.json` of a case, whose only expectation is the decision about the skill."""
    should = "is used" if result.case.should_trigger else "is not used"
    told = explain(result)
    evidence = f"{result.evidence}; {told}" if told else str(result.evidence)
    passed = int(result.passed)
    return {
        "expectations": [
            {"text": f"the skill `{result.skill}` {should}", "passed": result.passed, "evidence": evidence}
        ],
        "summary": {"passed": passed, "failed": 1 - passed, "total": 1, "pass_rate": float(passed)},
        "user_notes_summary": {"uncertainties": [CLAIM], "needs_review": [], "workarounds": []},
    }


def eval_metadata(result: CaseResult, number: int) -> dict[str, object]:
    """Return the `eval_metadata.json` of a case."""
    return {"eval_id": number, "eval_name": result.case.id, "prompt": result.case.query}


def benchmark(skill: str, results: Sequence[CaseResult], moment: datetime | None = None) -> dict[str, object]:
    """Return the `benchmark.json` of a skill. The level needs no time and no tokens."""
    moment = moment or datetime.now(UTC)
    rates = [float(each.passed) for each in results]
    return {
        "metadata": {
            "skill_name": skill,
            "executor_model": CLAIM,
            "analyzer_model": CLAIM,
            "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "evals_run": list(range(1, len(results) + 1)),
            "runs_per_configuration": 1,
        },
        "runs": [_run(each, number) for number, each in enumerate(results, 1)],
        "run_summary": {
            _CONFIGURATION: {
                "pass_rate": _summary(rates),
                "time_seconds": _summary([0.0] * len(rates)),
                "tokens": _summary([0.0] * len(rates)),
            }
        },
        "notes": [f"These results are {CLAIM}."],
    }


def _run(result: CaseResult, number: int) -> dict[str, object]:
    graded = grading(result)
    return {
        "eval_id": number,
        "eval_name": shorten(result.case.query),
        "configuration": _CONFIGURATION,
        "run_number": 1,
        "result": {
            "pass_rate": float(result.passed),
            "passed": int(result.passed),
            "failed": int(not result.passed),
            "total": 1,
            "time_seconds": 0.0,
            "tokens": 0,
            "tool_calls": 0,
            "errors": 0,
        },
        "expectations": graded["expectations"],
        "notes": [],
    }


def _summary(values: Sequence[float]) -> Mapping[str, float]:
    spread = stdev(values) if len(values) > 1 else 0.0
    return {
        "mean": round(fmean(values), 4),
        "stddev": round(spread, 4),
        "min": min(values),
        "max": max(values),
    }
