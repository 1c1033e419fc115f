"""The benchmark of search: contestants find, figures add up, and missing data is said."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from benchmarks.machine import Machine
from benchmarks.search import costs, quality
from benchmarks.search.contestants import LinearScan, PlainFts5, Text
from benchmarks.search.quality import DATA, OURS, Share
from benchmarks.search.run import SearchReport
from benchmarks.search.texts import Language, write_skills
from tests.support.paths import ROOT

TEXTS = [
    Text("skill://pdf/SKILL.md", "pdf", "Fill in forms.", "Open the form and fill in the fields."),
    Text("skill://slides/SKILL.md", "slides", "Make slides.", "Choose a template."),
]


@pytest.fixture(scope="module")
def language() -> Language:
    return Language()


@pytest.mark.parametrize("contestant", [PlainFts5(TEXTS), LinearScan(TEXTS)])
def test_contestants_find_by_any_word(contestant: PlainFts5 | LinearScan) -> None:
    assert contestant.search("forms unknown")[:1] == ["skill://pdf/SKILL.md"]
    assert contestant.search('"unknown*') == contestant.search("") == []


def test_generated_skills_and_queries_are_reproducible(language: Language) -> None:
    again = Language()
    assert [language.skill(each) for each in range(5)] == [again.skill(each) for each in range(5)]
    assert len({language.query(each, 8) for each in range(50)}) == 50
    assert len(language.query(3, 8).split()) == 8
    assert 2_000 <= len(language.skill(1).body) <= 7_400


def test_interval_contains_the_mean_and_narrows_with_more_queries() -> None:
    few, many = Share.of([0, 1] * 10), Share.of([0, 1] * 500)
    assert few.mean == many.mean == 0.5
    assert few.low < many.low < 0.5 < many.high < few.high


def test_quality_counts_hits_recall_and_refusals(tmp_path: Path) -> None:
    skills = [
        {
            "id": "a/pdf-forms",
            "text": "---\nname: pdf-forms\ndescription: Fill in PDF forms.\n---\nOpen it.\n",
        },
        {"id": "a/slides", "text": "---\nname: slides\ndescription: Make slides.\n---\nChoose a template.\n"},
    ]
    with gzip.open(tmp_path / "skills.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in skills)
    queries: list[dict[str, object]] = [
        {"query": "fill in a pdf form", "relevant": {"a/pdf-forms": 2}},
        {"query": "template for slides", "relevant": {"a/pdf-forms": 2}},
        {"query": "zyxwvut", "relevant": {}},
    ]
    for name in quality.QUERIES.values():
        (tmp_path / name).write_text(json.dumps(queries), encoding="utf-8")
    found = {(each.queries, each.contestant): each for each in anyio.run(quality.measure, tmp_path)}
    ours = found["tasks", OURS]
    assert (ours.hit.mean, ours.recall.mean, ours.refused.mean) == (0.5, 0.5, 1.0)
    assert len(found) == 6


def test_costs_are_measured_and_files_restored(tmp_path: Path, language: Language) -> None:
    write_skills(language, tmp_path, 12)
    before = {path: path.read_bytes() for path in tmp_path.rglob("SKILL.md")}
    found = costs.measure_apart(tmp_path, 12, costs.Load(queries=2, long=1, edits=1))
    assert {path: path.read_bytes() for path in tmp_path.rglob("SKILL.md")} == before
    assert found[costs.BUILD][0] > 0
    assert found[costs.COLD][0] > 0
    assert len(found[f"{OURS}, 2 words"]) == 2
    assert all(0 <= each <= 1 for each in found["overlap, 8 words"])


def test_report_says_when_labelled_queries_are_missing() -> None:
    report = SearchReport(Machine.here(), 1.0, None, {})
    assert f"Not measured: `{DATA}` is not set." in report.to_markdown()
    assert json.loads(report.to_json())["quality"] is None


def test_command_line_offers_the_benchmark() -> None:
    command = [sys.executable, "-m", "benchmarks", "--help"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60, check=True
    )
    assert "search" in done.stdout
