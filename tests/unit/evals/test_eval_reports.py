"""The forms of a report: the page, JUnit XML, JSON and the files of the skill-creator."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import UsageError
from skillwire.evals.cases import TriggerCase
from skillwire.evals.levels.routing import CLAIM
from skillwire.evals.report import EvalReport, compare, read_earlier
from skillwire.evals.reports.folder import write_folder
from skillwire.evals.reports.junit import render_junit
from skillwire.evals.reports.page import render_page
from skillwire.evals.verdict import CaseResult, SearchEvidence

NASTY = '<script>alert(1)</script> & "quoted" <!--content--> \x00\x1b[31m \u202e`x`'
PROBLEM = Problem("refunds/evals/a.json", Rule.EVAL_FORMAT, Severity.ERROR, "it is <b>", "fix it")


def made(skill: str, query: str, *, should: bool, first: str, words: tuple[str, ...] = ()) -> CaseResult:
    evidence = SearchEvidence(1 if first == skill else None, first, weak=False)
    return CaseResult(skill, TriggerCase(f"a#{query[:9]}", query, should_trigger=should), evidence, words)


REPORT = EvalReport(
    (
        made("refunds", "is this chargeback justified?", should=True, first="refunds"),
        made("refunds", "money for a kettle", should=True, first="invoices", words=("money",)),
        made("refunds", "send the bill", should=False, first="invoices"),
        made("team/refunds", NASTY, should=True, first="invoices", words=("<b>",)),
        made("invoices", "order a printer", should=False, first="invoices", words=("order",)),
    ),
    12,
    (PROBLEM,),
)


VOID = {"meta", "link", "rect", "br"}


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


# The page


def test_the_page_is_well_formed_and_loads_nothing() -> None:
    tags = Tags(render_page(REPORT))
    assert tags.open == []
    names = {name for name, _ in tags.seen}
    assert names.isdisjoint({"script", "iframe", "img", "object", "form"})
    links = [
        value for _, attributes in tags.seen for key, value in attributes.items() if key in {"src", "href"}
    ]
    assert links == ["data:,"]
    (policy,) = [each["content"] or "" for _, each in tags.seen if "http-equiv" in each]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def test_the_page_escapes_everything_and_says_what_it_is() -> None:
    page = render_page(REPORT)
    assert "<script" not in page
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", page)
    assert CLAIM in page.lower()
    assert "&lt;script&gt;" in page
    assert page.count("<h1>") == 1


@given(st.text(max_size=80), st.text(min_size=1, max_size=30), st.lists(st.text(max_size=9), max_size=3))
def test_no_text_breaks_the_page_or_the_xml(query: str, skill: str, words: list[str]) -> None:
    query = f"{query}x"
    report = EvalReport((made(skill, query, should=True, first="other", words=tuple(words)),), 2, (PROBLEM,))
    assert Tags(render_page(report)).open == []
    assert fromstring(render_junit(report)).tag == "testsuites"


def test_the_same_report_gives_the_same_page() -> None:
    assert render_page(REPORT) == render_page(REPORT)


def test_the_page_shows_a_comparison() -> None:
    earlier = {("refunds", "money for a kettle", True): True, ("invoices", "order a printer", False): False}
    report = EvalReport(REPORT.results, 12, comparison=compare(REPORT.results, earlier))
    assert "-50 points" in render_page(report)


# JUnit


def test_junit_has_a_suite_for_each_skill() -> None:
    root = fromstring(render_junit(REPORT))
    suites = root.findall("testsuite")
    assert [each.get("name") for each in suites] == ["refunds", "team/refunds", "invoices", "eval cases"]
    for suite in suites:
        tests = suite.findall("testcase")
        assert suite.get("tests") == str(len(tests))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
        assert all(each.get("name") and each.get("classname") and each.get("time") for each in tests)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("6", "3", "1")
    claims = {each.get("value") for each in root.iter("property")}
    assert claims == {CLAIM}


def test_a_failure_in_junit_names_its_evidence() -> None:
    root = fromstring(render_junit(REPORT))
    failure = root.find("testsuite[@name='refunds']/testcase/failure")
    assert failure is not None
    assert failure.get("message") == (
        "the skill should be used, but `invoices` is first; this skill is not found"
    )
    assert failure.text == "only `invoices` has in its name or description: money"


# The folder


def written(folder: Path) -> set[str]:
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}


def test_the_folder_has_the_files_of_the_skill_creator(tmp_path: Path) -> None:
    write_folder(REPORT, tmp_path / "out")
    base = tmp_path / "out/skill-creator/refunds"
    benchmark: Any = json.loads((base / "benchmark.json").read_text())
    assert benchmark["metadata"]["skill_name"] == "refunds"
    assert benchmark["metadata"]["executor_model"] == CLAIM
    assert benchmark["metadata"]["evals_run"] == [1, 2, 3]
    assert [each["result"]["pass_rate"] for each in benchmark["runs"]] == [1.0, 0.0, 1.0]
    assert {each["configuration"] for each in benchmark["runs"]} == {"with_skill"}
    rate = benchmark["run_summary"]["with_skill"]["pass_rate"]
    assert rate == {"mean": 0.6667, "stddev": 0.5774, "min": 0.0, "max": 1.0}
    grading: Any = json.loads((base / "eval-2/with_skill/run-1/grading.json").read_text())
    assert grading["summary"] == {"passed": 0, "failed": 1, "total": 1, "pass_rate": 0.0}
    (expectation,) = grading["expectations"]
    assert expectation.keys() == {"text", "passed", "evidence"}
    assert "`invoices` is first" in expectation["evidence"]


def test_writing_again_replaces_reports_and_keeps_other_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_folder(REPORT, out)
    (out / "mine.txt").write_text("mine")
    write_folder(EvalReport(REPORT.results[:1], 12), out)
    assert written(out) - {".published-by-skillwire.json"} == {
        "index.html",
        "junit.xml",
        "mine.txt",
        "report.json",
        "skill-creator/refunds/benchmark.json",
        "skill-creator/refunds/eval-1/eval_metadata.json",
        "skill-creator/refunds/eval-1/with_skill/run-1/grading.json",
    }


def test_a_file_that_someone_else_wrote_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text("mine")
    with pytest.raises(UsageError, match="was not written by"):
        write_folder(REPORT, tmp_path)
    assert (tmp_path / "junit.xml").read_text() == "mine"


@pytest.mark.parametrize("names", [["a/b", "a:b", "A-B"], ["..", "/", "…"]])
def test_every_skill_has_a_folder_of_its_own(tmp_path: Path, names: list[str]) -> None:
    results = tuple(made(name, "x", should=True, first=name) for name in names)
    write_folder(EvalReport(results, 3), tmp_path / "out")
    folders = {each.name.lower() for each in (tmp_path / "out/skill-creator").iterdir()}
    assert len(folders) == len(names)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out"]


# An earlier report


def test_a_report_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(EvalReport(REPORT.results[:3], 12).to_json()))
    assert list(read_earlier(file).values()) == [True, False, True]


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"level": "live", "cases": []}', '{"level": "routing", "cases": [{"skill": 1}]}', "3"],
)
def test_another_file_is_no_earlier_report(tmp_path: Path, content: str) -> None:
    file = tmp_path / "report.json"
    file.write_text(content)
    with pytest.raises(UsageError, match="is not a report"):
        read_earlier(file)
