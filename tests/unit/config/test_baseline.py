"""The baseline: which problems are old, whatever their line, and nothing is lost."""

import json
import random
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillwire.config.baseline import Baseline, Key
from skillwire.config.report import CheckResult
from skillwire.config.rule_selection import ALWAYS_REPORTED, RuleSelection
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.sources.folder.source import FolderSource

FILE = Path("old.json")
PROBLEMS = st.lists(
    st.builds(
        Problem,
        st.sampled_from(["a/SKILL.md", "b/SKILL.md", "b/x\udc80.md", "."]),
        st.sampled_from([rule for rule in Rule if rule not in ALWAYS_REPORTED]),
        st.sampled_from(list(Severity)),
        st.one_of(st.text(max_size=5), st.sampled_from(["has 1,068 characters", "`a1` is 2", "`a2` is 3"])),
        field=st.sampled_from(["", "name", "body"]),
        line=st.one_of(st.none(), st.integers(1, 9)),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("skills")
    found = Library([FolderSource(folder)])
    anyio.run(found.load)
    return found


def everything(_key: Key) -> bool:
    return True


def baseline_of(problems: list[Problem], library: Library, file: Path) -> Baseline:
    empty = Baseline(file)
    keys = [key for key in empty.keys(problems, library) if key is not None]
    return empty.written(keys, everything)


@settings(max_examples=40)
@given(problems=PROBLEMS, more=PROBLEMS, seed=st.integers(0, 9))
def test_a_baseline_of_a_report_leaves_an_empty_report(
    problems: list[Problem],
    more: list[Problem],
    seed: int,
    library: Library,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    baseline = baseline_of(problems, library, FILE)
    moved = [replace(each, line=(each.line or 0) + 7, hint="another") for each in problems]
    random.Random(seed).shuffle(moved)
    assert baseline.new(moved, library) == []
    assert len(baseline.new([*problems, *more], library)) == len(more)


@given(problems=PROBLEMS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_baseline_is_read_as_it_was_written(
    problems: list[Problem], library: Library, tmp_path: Path
) -> None:
    baseline = baseline_of(problems, library, tmp_path / "old.json")
    baseline.save()
    assert Baseline.read(baseline.file) == baseline


@given(problems=PROBLEMS, gone=st.integers(0, 12))
def test_pruning_removes_exactly_what_is_gone(problems: list[Problem], gone: int, library: Library) -> None:
    baseline = baseline_of(problems, library, FILE)
    left = problems[gone:]
    keys = [key for key in baseline.keys(left, library) if key is not None]
    pruned = baseline.pruned(keys, everything)
    assert pruned.gone(keys, everything) == []
    assert pruned.new(left, library) == []
    assert pruned.counts.total() == len(left)
    assert baseline.pruned([], lambda _key: False).counts == baseline.counts


def problem(message: str, rule: Rule = Rule.BODY_LENGTH, path: str = "a/SKILL.md") -> Problem:
    return Problem(path, rule, Severity.WARNING, message, field="body")


def test_numbers_in_a_message_do_not_count_but_names_do(library: Library, tmp_path: Path) -> None:
    old = [problem("the text has 1,068 lines, more than 500"), problem("no file `a1.md`", Rule.LINK_MISSING)]
    baseline = baseline_of(old, library, tmp_path / "old.json")
    now = [problem("the text has 912 lines, more than 500"), problem("no file `a2.md`", Rule.LINK_MISSING)]
    assert baseline.new(now, library) == now[1:]


def test_a_problem_that_occurs_more_often_is_new_once(library: Library, tmp_path: Path) -> None:
    baseline = baseline_of([problem("same")], library, tmp_path / "old.json")
    now = [replace(problem("same"), line=line) for line in (1, 2)]
    assert baseline.new(now, library) == now[1:]


def test_only_entries_that_the_check_covers_can_be_gone(library: Library, tmp_path: Path) -> None:
    root = Path(library.sources[0].place)
    old = [
        problem("x"),
        problem("x", Rule.CONTRACT_ICONS),
        problem("x", Rule.NAME_SHARED),
        problem("x", path="../elsewhere/SKILL.md"),
    ]
    baseline = baseline_of(old, library, root / "old.json")
    found = CheckResult.of(library)

    def gone(result: CheckResult, rules: RuleSelection) -> list[str]:
        return [key.rule for key in baseline.gone([], baseline.covered(result, rules))]

    assert gone(found, RuleSelection()) == ["body-length"]
    assert gone(replace(found, with_contract=True), RuleSelection()) == ["body-length", "contract-icons"]
    assert gone(found, RuleSelection(ignore=("body",))) == []
    assert gone(replace(found, since="HEAD"), RuleSelection()) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it is not an object"),
        (b'{"version": 2}', "its version is not 1"),
        (b'{"version": 1}', "`problems` is not a list"),
        (b'{"version": 1, "problems": [1]}', "problem number 1 does not have"),
    ],
)
def test_a_wrong_file_is_refused_with_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "old.json"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be used") as caught:
        Baseline.read(file)
    assert reason in str(caught.value)
    assert "--write-baseline" in caught.value.hint


@pytest.mark.parametrize("count", [0, -1, True, "1", 1.5, 10**9])
def test_a_count_must_be_a_whole_number(tmp_path: Path, count: object) -> None:
    file = tmp_path / "old.json"
    entry = {"path": "a", "rule": "name-folder", "field": "name", "message": "x", "count": count}
    file.write_text(json.dumps({"version": 1, "problems": [entry]}))
    with pytest.raises(UsageError, match="problem number 1"):
        Baseline.read(file)
