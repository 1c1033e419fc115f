"""Values that YAML 1.1 and 1.2 read differently get a warning, and a spelling that both read alike."""

import re
from typing import cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skillwire.model.problem import Problem, Rule, Severity
from skillwire.skillmd.ambiguous import doubt_about
from skillwire.skillmd.document import read_document
from skillwire.skillmd.scalars import NotFiniteError, core_value

HEAD = "name: odd\ndescription: Does one thing.\n"


def doubts(text: str) -> list[Problem]:
    document = read_document(f"---\n{HEAD}{text}---\n".encode(), "SKILL.md", None)
    assert document.frontmatter is not None, document.problems
    return [problem for problem in document.problems if problem.rule is Rule.YAML_AMBIGUOUS]


AMBIGUOUS = [
    *("yes", "No", "ON", "off", "0755", "0o17", "0b11", "1_000", "12:30:45", "2026-01-01", "2026-13-45"),
    *("2026-01-01T10:00:00Z", "1e3", "1.5e3", "-.5", "=", "123456789012345678901"),
]


@pytest.mark.parametrize("value", AMBIGUOUS)
@pytest.mark.parametrize("form", ["x: {}\n", "x:\n  y: {}\n", "x: [{}]\n", "x:\n- {}\n"])
def test_an_ambiguous_value_is_a_warning_wherever_it_is(value: str, form: str) -> None:
    (problem,) = doubts(form.format(value))
    assert (problem.severity, problem.field) == (Severity.WARNING, "x")
    assert f'"{value}"' in problem.hint


@pytest.mark.parametrize("key", ["yes", "on", "12:30:45", "2026-01-01"])
def test_an_ambiguous_key_is_a_warning(key: str) -> None:
    assert doubts(f"{key}: a\n")
    assert doubts(f"x:\n  {key}: a\n")


@pytest.mark.parametrize(
    "value",
    ["1", "-7", "0", "1.5", "1.20.3", "true", "null", "yesterday", "'yes'", '"0755"', "3 apples"],
)
def test_what_all_parsers_read_alike_is_no_warning(value: str) -> None:
    assert doubts(f"x: {value}\n") == []


@pytest.mark.parametrize("style", [">", "|", ">+", "|+", ">2", "|2"])
def test_a_block_at_the_end_is_a_warning(style: str) -> None:
    (problem,) = doubts(f"x: {style}\n  some text\n")
    assert (problem.field, problem.line) == ("x", 4)


@pytest.mark.parametrize(
    "text", ["x: >-\n  a\n", "x: |-\n  a\n", "x: >\n  a\ny: b\n", "x: >\n  a\n\n", "x: >\n  a\n# c\n"]
)
def test_a_block_that_nobody_cuts_is_no_warning(text: str) -> None:
    assert doubts(text) == []


@given(st.from_regex(re.compile(r"[-+.0-9][-+.0-9_:eExobT]{0,12}"), fullmatch=True))
def test_the_warning_appears_exactly_where_the_parsers_differ(text: str) -> None:
    try:
        value = core_value(text)
    except NotFiniteError:
        return
    try:
        other = cast("list[object]", yaml.safe_load(f"[{text}]"))
    except (ValueError, yaml.YAMLError):
        return
    if len(other) != 1 or isinstance(other[0], dict):
        return
    same = type(other[0]) is type(value) and other[0] == value
    assert (doubt_about(text, value, "x", 1) is None) == same
