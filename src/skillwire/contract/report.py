"""Problems in the formats that other programs read: SARIF for code scanning, annotations for GitHub."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from skillwire.model.display import visible
from skillwire.model.problem import Problem, Rule, Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def sarif(problems: Sequence[Problem], version: str) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log of one run. Paths are relative to wherever the check ran."""
    rules = list(dict.fromkeys(problem.rule for problem in problems))
    positions = {rule: at for at, rule in enumerate(rules)}
    driver = {
        "name": "skillwire",
        "semanticVersion": version,
        "rules": [{"id": rule.value, "shortDescription": {"text": _told(rule)}} for rule in rules],
    }
    results = [_result(problem, positions[problem.rule]) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def github(problems: Iterable[Problem]) -> Iterable[str]:
    """Yield a workflow command for each problem, which GitHub shows beside the line in a pull request."""
    for problem in problems:
        at = {
            "file": problem.path,
            **({} if problem.line is None else {"line": str(problem.line)}),
            "title": problem.rule.value,
        }
        where = ",".join(f"{name}={_property(value)}" for name, value in at.items())
        yield f"::{_LEVELS[problem.severity]} {where}::{_data(_text(problem))}"


def _result(problem: Problem, rule_index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.path)}}
    if problem.line is not None:
        place["region"] = {"startLine": problem.line}
    return {
        "ruleId": problem.rule.value,
        "ruleIndex": rule_index,
        "level": _LEVELS[problem.severity],
        "message": {"text": _text(problem)},
        "locations": [{"physicalLocation": place}],
    }


def _told(rule: Rule) -> str:
    return rule.value.replace("-", " ")


def _text(problem: Problem) -> str:
    field = f"{problem.field}: " if problem.field else ""
    hint = f"\nhint: {visible(problem.hint)}" if problem.hint else ""
    return visible(f"{field}{problem.message}") + hint


def _uri(path: str) -> str:
    return quote(path, safe="/", errors="replace")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
