"""How the outside judges' words are read: only a success counts, and silence is none."""

import importlib.util
from typing import Any

import pytest

from tests.support.paths import ROOT

GRADES = ROOT / "scripts/lib/grades.py"


@pytest.fixture(scope="module")
def grades() -> Any:
    spec = importlib.util.spec_from_file_location("grades", GRADES)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(name: str, status: str) -> dict[str, str]:
    return {"id": name, "status": status, "errorMessage": "because"}


def report(*files: tuple[str, str], outcome: str = "verified") -> dict[str, Any]:
    listed = [{"uri": uri, "status": status} for uri, status in files]
    return {
        "uri": "skill://a/SKILL.md",
        "outcome": outcome,
        "conformance": [],
        "frontmatter": [],
        "files": listed,
    }


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED"])
def test_whatever_is_not_a_success_is_a_complaint(grades: Any, status: str) -> None:
    result = grades.grade_checks([check("a", "SUCCESS"), check("b", status), check("c", "INFO")], {})
    assert (result.passed, result.asked) == (1, 2)
    assert result.complaints == [f"{status} b: because"]


def test_an_exam_without_checks_is_not_passed(grades: Any) -> None:
    assert grades.grade_checks([check("a", "INFO")], {}).complaints == ["no check was made"]


def test_an_excused_check_is_left_out_of_the_count(grades: Any) -> None:
    result = grades.grade_checks([check("a", "SUCCESS"), check("b", "SKIPPED")], {"b": "SKIPPED"})
    assert (result.passed, result.asked, result.complaints) == (1, 1, [])


@pytest.mark.parametrize("checks", [[check("a", "SUCCESS"), check("b", "SUCCESS")], [check("a", "SUCCESS")]])
def test_an_excuse_that_is_no_longer_needed_is_a_complaint(grades: Any, checks: list[dict[str, str]]) -> None:
    assert "correct the excuse" in grades.grade_checks(checks, {"b": "SKIPPED"}).complaints[0]


def test_forty_five_checks_are_due_and_fewer_are_a_complaint(grades: Any) -> None:
    for asked, complaints in ((15, 0), (14, 1)):
        graded = [(exam, grades.Grade(asked, asked)) for exam in grades.EXAMS]
        assert len(grades.total(graded, grades.NEWEST).complaints) == complaints


@pytest.mark.parametrize("scenario", ["resources-list", "tools-list", "prompts-list"])
def test_every_list_is_demanded_on_both_versions_without_excuse(grades: Any, scenario: str) -> None:
    exams = {exam.protocol: exam.excused for exam in grades.EXAMS if exam.scenario == scenario}
    assert exams == {grades.NEWEST: {}, grades.OLDER: {}}


def test_caching_is_demanded_without_excuse(grades: Any) -> None:
    assert [exam.excused for exam in grades.EXAMS if exam.scenario == "caching"] == [{}]


FOUND = "listed: 1\nfound: size\nfound: digest\n"


@pytest.mark.parametrize(
    ("status", "said", "passed"),
    [
        ("SUCCESS", FOUND, 1),
        ("FAILURE", FOUND, 0),
        ("SKIPPED", FOUND, 0),
        ("SUCCESS", "", 0),
        ("SUCCESS", "listed: 1\n", 0),  # it stopped, but for another reason
        ("SUCCESS", "listed: 0\nfound: size\nfound: digest\n", 0),
        ("SUCCESS", f"{FOUND}found: frontmatter\n", 0),
    ],
)
def test_a_client_must_stop_for_the_right_reason(grades: Any, status: str, said: str, passed: int) -> None:
    exam = grades.Exam("sep-2640-client-verify-size", grades.OLDER)
    result = grades.grade_client(exam, [check("a", status)], said)
    assert (result.passed, result.asked, not result.complaints) == (passed, 1, bool(passed))


def test_client_scenarios_have_no_excuses_on_both_versions(grades: Any) -> None:
    assert {(exam.scenario, exam.protocol) for exam in grades.CLIENT_EXAMS} == {
        (scenario, protocol)
        for scenario in grades.CLIENT_SKILLS
        for protocol in (grades.NEWEST, grades.OLDER)
    }
    assert [exam for exam in grades.CLIENT_EXAMS if exam.excused] == []
    listed = "".join(f"  - {name} [extension]\n" for name in grades.CLIENT_SKILLS)
    assert grades.unknown_scenarios(listed).complaints == []
    assert grades.unknown_scenarios(f"{listed}  - sep-2640-client-new\n").complaints == [
        "sep-2640-client-new: is missing in CLIENT_SKILLS"
    ]
    assert len(grades.unknown_scenarios("").complaints) == 4


def test_every_file_must_be_verified(grades: Any) -> None:
    good, bad = ("skill://a/SKILL.md", "verified"), ("skill://a/b", "mismatch")
    assert grades.grade_reports([report(good)], ["skill://a/SKILL.md"]).complaints == []
    assert grades.grade_reports([report(good, bad)], []).complaints == ["skill://a/b: mismatch "]
    assert grades.grade_reports([report(good)], ["skill://a/c"]).complaints == [
        "skill://a/c: was not verified"
    ]
    assert grades.grade_reports([report(good, outcome="incomplete")], []).complaints
    assert grades.grade_reports([], []).complaints == ["no file was verified"]
