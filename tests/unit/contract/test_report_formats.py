"""Problems for code scanning and for pull requests."""

from typing import Any

from skillwire import Problem
from skillwire.config.report import github, sarif
from skillwire.sources import Rule, Severity

PROBLEMS = [
    Problem(
        "a b/SKILL.md",
        Rule.CONTRACT_VERSION_TYPE,
        Severity.ERROR,
        "`1.0` is a number",
        "quote it",
        "x.version",
        4,
    ),
    Problem("c,d:e/SKILL.md", Rule.NAME_SHARED, Severity.WARNING, "100% the same\nname"),
]


def test_sarif_names_rules_levels_places_and_hints() -> None:
    log: Any = sarif(PROBLEMS, "1.2.3")
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("skillwire", "1.2.3")
    first, second = run["results"]
    assert [driver["rules"][each["ruleIndex"]]["id"] for each in run["results"]] == [
        first["ruleId"],
        second["ruleId"],
    ]
    assert (first["ruleId"], first["level"]) == ("contract-version-type", "error")
    assert first["message"]["text"] == "x.version: `1.0` is a number\nhint: quote it"
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b/SKILL.md"},
        "region": {"startLine": 4},
    }
    assert "region" not in second["locations"][0]["physicalLocation"]


def test_github_annotations_are_one_escaped_line_per_problem() -> None:
    assert list(github(PROBLEMS)) == [
        (
            "::error file=a b/SKILL.md,line=4,title=contract-version-type::"
            "x.version: `1.0` is a number%0Ahint: quote it"
        ),
        "::warning file=c%2Cd%3Ae/SKILL.md,title=name-shared::100%25 the same\\x0aname",
    ]
