"""Eval cases in both formats, and files with errors: what can be used is used, the rest is reported."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import FolderSource, Library
from skillwire.core.record import SkillRecord
from skillwire.errors import InvalidValueError, UsageError
from skillwire.evals.case_files import MAX_BYTES, MAX_CASES, MAX_FILES, CaseSet, read_case_set
from skillwire.evals.cases import CaseFault, TaskCase, TriggerCase, parse_cases
from skillwire.sources import Rule
from tests.support.skills import make_fifo, write, write_skill

TRIGGER = {"query": "give money back", "should_trigger": True}
TASK = {
    "id": 1,
    "prompt": "Decide this return",
    "expected_output": "A decision",
    "files": ["evals/files/order.json"],
    "expectations": ["It names the amount"],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "query",
                    "should_trigger",
                    "evals",
                    "prompt",
                    "id",
                    "files",
                    "expectations",
                    "skill_name",
                    "x",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


def parse(value: object) -> tuple[list[TriggerCase | TaskCase], list[CaseFault]]:
    found = list(parse_cases(value, "f", max_cases=10))
    faults = [each for each in found if isinstance(each, CaseFault)]
    return [each for each in found if not isinstance(each, CaseFault)], faults


def load(root: Path) -> Library:
    library = Library([FolderSource(root)])
    anyio.run(library.load)
    return library


def nothing(name: str) -> SkillRecord:
    raise UsageError(f"there is no skill `{name}`")


def read(root: Path, *files: Path) -> CaseSet:
    library = load(root)
    by_name = {each.name: each for each in library.catalog.entries.values()}

    def find(name: str) -> SkillRecord:
        return by_name.get(name) or nothing(name)

    return read_case_set(library.catalog, by_name.values(), files, find)


def with_cases(root: Path, files: dict[str, Any]) -> CaseSet:
    texts = {
        f"evals/{name}": each if isinstance(each, str | bytes) else json.dumps(each)
        for name, each in files.items()
    }
    write_skill(root, "refunds", texts)
    return read(root)


def faults(found: CaseSet) -> list[tuple[str, Rule, str]]:
    return [(each.path, each.rule, each.field) for each in found.problems]


# Formats


def test_both_formats_are_read_whatever_their_files_are_called(tmp_path: Path) -> None:
    found = with_cases(tmp_path, {"a.json": [TRIGGER], "b.json": {"skill_name": "refunds", "evals": [TASK]}})
    (cases,) = found.skills
    assert found.problems == ()
    assert cases.triggers == (TriggerCase("a#1", "give money back", should_trigger=True),)
    assert cases.tasks == (
        TaskCase(
            "b#1",
            "Decide this return",
            "A decision",
            ("evals/files/order.json",),
            ("It names the amount",),
            "refunds",
        ),
    )
    assert [(each.id, each.should_trigger) for each in cases.questions] == [("a#1", True), ("b#1", True)]


def test_prompts_and_assertions_are_other_names() -> None:
    cases, wrong = parse(
        {
            "evals": [
                {"prompt": "x", "should_trigger": False},
                {"prompt": "y", "assertions": ["z"]},
                {"id": "named", "query": "w", "should_trigger": True, "skill": "other"},
            ]
        }
    )
    assert wrong == []
    assert cases == [
        TriggerCase("f#1", "x", should_trigger=False),
        TaskCase("f#2", "y", expectations=("z",)),
        TriggerCase("f#named", "w", should_trigger=True, skill="other"),
    ]


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    found = with_cases(tmp_path, {"a.json": b"\xef\xbb\xbf" + json.dumps([TRIGGER]).encode()})
    assert (found.count, found.problems) == (1, ())


@given(JSON)
def test_any_json_gives_cases_or_faults_with_a_fix(value: object) -> None:
    cases, wrong = parse(value)
    assert cases or wrong
    assert all(each.message and each.hint for each in wrong)
    assert all(each.id.startswith("f#") for each in cases)


@given(st.text(min_size=1, max_size=50).filter(str.strip), st.booleans())
def test_a_trigger_case_survives_a_round_trip(query: str, should: bool) -> None:  # noqa: FBT001 - hypothesis
    (case,), wrong = parse(json.loads(json.dumps([{"query": query, "should_trigger": should}])))
    assert (case, wrong) == (TriggerCase("f#1", query, should_trigger=should), [])


@pytest.mark.parametrize(
    ("case", "field"),
    [
        ("x", "[0]"),
        ({}, "[0]"),
        ({"query": " ", "should_trigger": True}, "[0].query"),
        ({"query": 3, "should_trigger": True}, "[0].query"),
        ({"query": "x" * 9000, "should_trigger": True}, "[0].query"),
        ({"query": "é" * 5000, "should_trigger": True}, "[0].query"),
        ({"query": "x"}, "[0].should_trigger"),
        ({"query": "x", "should_trigger": "yes"}, "[0].should_trigger"),
        ({"query": "x", "should_trigger": True, "id": True}, "[0].id"),
        ({"query": "x", "should_trigger": True, "id": " "}, "[0].id"),
        ({"query": "x", "should_trigger": True, "id": "x" * 200}, "[0].id"),
        ({"prompt": "x", "files": ["../secret"]}, "[0].files"),
        ({"prompt": "x", "files": ["/etc/passwd"]}, "[0].files"),
        ({"prompt": "x", "files": "a.csv"}, "[0].files"),
        ({"prompt": "x", "expectations": [1]}, "[0].expectations"),
        ({"prompt": "x", "expected_output": []}, "[0].expected_output"),
    ],
)
def test_a_bad_case_is_reported_and_others_are_read(case: object, field: str) -> None:
    cases, (fault,) = parse([case, TRIGGER])
    assert fault.field == field
    assert [each.id for each in cases] == ["f#2"]


@pytest.mark.parametrize("text", ["", " \n", "x" * 9000])
def test_a_case_cannot_hold_a_bad_query(text: str) -> None:
    with pytest.raises(InvalidValueError):
        TriggerCase("a", text, should_trigger=True)
    with pytest.raises(InvalidValueError):
        TaskCase("a", text)


# Files


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff\xfe",
        b'["\\ud800"]',
        b"[" * 5_000 + b"]" * 5_000,
        b" " * (MAX_BYTES + 1),
        b"[" + b"0," * 200_000 + b"0]",
    ],
    ids=["cut off", "no UTF-8", "lone surrogate", "deep", "large", "many values"],
)
def test_a_hostile_file_is_reported_and_others_are_used(tmp_path: Path, content: bytes) -> None:
    found = with_cases(tmp_path, {"a.json": content, "b.json": [TRIGGER]})
    assert (found.count, faults(found)) == (1, [("refunds/evals/a.json", Rule.EVAL_UNREADABLE, "")])


@pytest.mark.parametrize("value", [{}, 3, True, {"evals": {}}, {"results": []}, None])
def test_another_shape_is_reported(tmp_path: Path, value: object) -> None:
    found = with_cases(tmp_path, {"a.json": value})
    assert faults(found) == [("refunds/evals/a.json", Rule.EVAL_FORMAT, "")]


def test_more_cases_and_files_than_the_limit_are_reported(tmp_path: Path) -> None:
    many = [{"query": f"q{number}", "should_trigger": True} for number in range(MAX_CASES + 5)]
    found = with_cases(tmp_path / "a", {"a.json": many})
    assert (found.count, [each.rule for each in found.problems]) == (MAX_CASES, [Rule.EVAL_FORMAT])
    files = {
        f"{number:03}.json": [{"query": f"{number}", "should_trigger": True}]
        for number in range(MAX_FILES + 3)
    }
    found = with_cases(tmp_path / "b", files)
    assert (found.count, [each.rule for each in found.problems]) == (MAX_FILES, [Rule.EVAL_UNREADABLE])


def test_links_and_special_files_are_not_read(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "skills", "refunds", {"evals/b.json": json.dumps([TRIGGER])})
    write(tmp_path, {"secret.json": "[]"})
    (folder / "evals/a.json").symlink_to("../../../secret.json")
    make_fifo(folder / "evals/c.json")
    (folder / "evals/d.json").mkdir()
    found = read(tmp_path / "skills")
    assert found.count == 1
    assert [path for path, rule, _ in faults(found) if rule is Rule.EVAL_UNREADABLE] == [
        f"refunds/evals/{name}.json" for name in "acd"
    ]


def test_a_folder_behind_a_link_is_not_read(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "skills", "refunds")
    write(tmp_path, {"cases/a.json": json.dumps([TRIGGER])})
    (folder / "evals").symlink_to(tmp_path / "cases")
    found = read(tmp_path / "skills")
    assert (found.count, faults(found)) == (0, [("refunds/evals", Rule.EVAL_UNREADABLE, "")])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_without_permission_is_reported(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "refunds", {"evals/a.json": "[]"}) / "evals"
    folder.chmod(0)
    try:
        assert faults(read(tmp_path)) == [("refunds/evals", Rule.EVAL_UNREADABLE, "")]
    finally:
        folder.chmod(0o755)


def test_only_files_directly_in_the_folder_are_cases(tmp_path: Path) -> None:
    files = {"files/x.json": [TRIGGER], "notes.md": "x", "a.json": [TRIGGER]}
    assert with_cases(tmp_path, files).count == 1


def test_a_second_id_or_query_is_reported(tmp_path: Path) -> None:
    opposite = {"query": "give money back", "should_trigger": False}
    twice = [{"id": 1, "query": "a", "should_trigger": True}, {"id": 1, "query": "b", "should_trigger": True}]
    found = with_cases(tmp_path, {"a.json": [TRIGGER, opposite], "b.json": twice})
    assert [each.rule for each in found.problems] == [Rule.EVAL_DUPLICATE] * 2
    assert "opposite" in found.problems[0].message
    assert [each.id for each in found.skills[0].triggers] == ["a#1", "b#1"]


def test_a_file_that_names_another_skill_is_not_used(tmp_path: Path) -> None:
    found = with_cases(tmp_path, {"a.json": {"skill_name": "other", "evals": [TASK]}, "b.json": [TRIGGER]})
    assert (found.count, faults(found)) == (1, [("refunds/evals/a.json", Rule.EVAL_SKILL, "")])


def test_cases_in_a_named_file_name_their_skills(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "refunds")
    write_skill(tmp_path / "skills", "invoices")
    cases = [{**TRIGGER, "skill": "refunds"}, {**TRIGGER, "skill": "nope"}, TRIGGER]
    write(tmp_path, {"cases.json": json.dumps(cases)})
    found = read(tmp_path / "skills", tmp_path / "cases.json")
    assert [(each.skill.name, len(each.triggers)) for each in found.skills] == [("refunds", 1)]
    assert [each.rule for each in found.named_problems] == [Rule.EVAL_SKILL] * 2
    assert found.problems == ()


def test_a_named_file_repeats_no_query_of_a_folder(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "refunds", {"evals/a.json": json.dumps([TRIGGER])})
    write(tmp_path, {"b.json": json.dumps([TRIGGER])})
    found = read(tmp_path / "skills", tmp_path / "b.json")
    assert (found.count, found.problems) == (1, ())
    assert [(each.path, each.rule) for each in found.named_problems] == [
        (str(tmp_path / "b.json"), Rule.EVAL_DUPLICATE)
    ]


def test_cases_without_a_skill_belong_to_the_only_one(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "refunds")
    write(tmp_path, {"cases.json": json.dumps([TRIGGER])})
    assert read(tmp_path / "skills", tmp_path / "cases.json").count == 1


def test_a_named_file_that_is_missing_is_wrong_usage(tmp_path: Path) -> None:
    write_skill(tmp_path, "refunds")
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path, tmp_path / "nope.json")


def test_paths_of_problems_name_the_source_if_there_are_several(tmp_path: Path) -> None:
    one = write_skill(tmp_path / "one", "refunds", {"evals/a.json": "{"}).parent
    two = write_skill(tmp_path / "two", "invoices").parent
    library = Library([FolderSource(one), FolderSource(two)])
    anyio.run(library.load)
    found = read_case_set(library.catalog, library.catalog.entries.values(), (), nothing)
    assert [each.path for each in found.problems] == ["one/refunds/evals/a.json"]
