"""Values that YAML 1.1 and 1.2 read differently get a warning, and a spelling that both read alike."""

import re
from typing import cast

import pytest
import yaml
from fastmcp.skills._snapshot import parse_frontmatter as fastmcp_frontmatter
from hypothesis import example, given, reject
from hypothesis import strategies as st

from skillwire import Problem
from skillwire.frontmatter.document import read_document
from skillwire.sources import Rule, Severity

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


def test_a_block_as_the_last_key_is_a_warning() -> None:
    assert doubts("? |\n  some text\n")


@pytest.mark.parametrize("style", [">", "|", ">+", "|+", ">2", "|2"])
def test_a_block_at_the_end_is_a_warning(style: str) -> None:
    (problem,) = doubts(f"x: {style}\n  some text\n")
    assert (problem.field, problem.line) == ("x", 4)


@pytest.mark.parametrize(
    "text", ["x: >-\n  a\n", "x: |-\n  a\n", "x: >\n  a\ny: b\n", "x: >\n  a\n\n", "x: >\n  a\n# c\n"]
)
def test_a_stripped_or_followed_block_is_no_warning(text: str) -> None:
    assert doubts(text) == []


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("x: a\tb\n", "x"),
        ("x: a\t# comment\ny: z\n", "x"),
        ("x:\ta\n", "x"),
        ("w: 1\nx:\n  - a\n  - b\tc\n", "x"),
        ("x: [a,\tb]\n", "x"),
    ],
)
def test_a_tab_outside_of_quotes_is_a_warning(text: str, field: str) -> None:
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(text)
    (problem,) = doubts(text)
    assert (problem.field, problem.severity) == (field, Severity.WARNING)
    assert "a tab outside of quotes" in problem.message


@pytest.mark.parametrize("text", ["x: 'a\tb'\n", 'x: "a\tb"\n', "x: |-\n  a\tb\n", "x: a # a\tb\n"])
def test_a_tab_that_all_parsers_read_is_no_warning(text: str) -> None:
    assert yaml.safe_load(text)
    assert doubts(text) == []


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (f"--- \n{HEAD}---\n", 1),
        (f"---\t\r\n{HEAD}---\n", 1),
        (f"---\n{HEAD}--- \n# Steps\n", 4),
        (f"---\n{HEAD}---\t", 4),
    ],
)
def test_spaces_behind_a_fence_are_a_warning(content: str, line: int) -> None:
    with pytest.raises(ValueError, match="must begin with YAML frontmatter"):
        fastmcp_frontmatter(content.encode())
    document = read_document(content.encode(), "SKILL.md", None)
    assert document.is_servable
    (problem,) = document.problems
    assert (problem.rule, problem.line) == (Rule.YAML_AMBIGUOUS, line)


@pytest.mark.parametrize("content", [f"---\n{HEAD}---", f"---\r\n{HEAD}---\r\n", f"\ufeff---\n{HEAD}---\n"])
def test_fences_that_all_clients_find_are_no_warning(content: str) -> None:
    assert fastmcp_frontmatter(content.encode())
    assert read_document(content.encode(), "SKILL.md", None).problems == ()


def in_yaml_1_1(text: str) -> object:
    """Return what a parser of YAML 1.1 makes of a value; an error is a value that no other equals."""
    try:
        values = cast("dict[str, object]", yaml.safe_load(f"x: {text}\ny: z\n"))
    except (ValueError, yaml.YAMLError) as error:
        return error
    return values["x"]


def in_yaml_1_2(text: str) -> tuple[object, list[Problem]]:
    document = read_document(f"---\n{HEAD}x: {text}\ny: z\n---\n".encode(), "SKILL.md", None)
    if document.frontmatter is None or set(document.frontmatter) != {"name", "description", "x", "y"}:
        reject()  # not one plain value
    return document.frontmatter["x"], [each for each in document.problems if each.rule is Rule.YAML_AMBIGUOUS]


def alike(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


WORDS = [
    *("y", "Y", "yes", "Yes", "YES", "yEs", "no", "on", "Off", "true", "True", "tRUE", "null", "~", "none"),
    *(
        "=",
        "<<",
        "<=",
        "0x1F",
        "-0x1F",
        "0x_",
        "0b2",
        "0o8",
        "08",
        "-0",
        "+0",
        "00",
        "5.",
        "-.5",
        "+.5",
        "1.e3",
    ),
    *("1.e+3", "1.2.3", "1.2.3-rc.1", "1-2-3", "1__0", "190:20:30", "190:20:30.15", "1:60", "685_230.15"),
    *("2026-1-1", "2026-01-01 10:00:00", "2026-01-01\t10:00:00\tZ", "2026-01-01T1:00:00+1:30", "0001-02-30"),
    *("18446744073709551615", "18446744073709551616", "-9223372036854775809", "1e15", "1e-5", "12e03", "1E3"),
]


@example("2026-01-01\t10:00:00\tZ")
@given(
    st.sampled_from(WORDS)
    | st.from_regex(re.compile(r"[-+.0-9][-+.0-9_:eExobTZ \t]{0,16}"), fullmatch=True)
    | st.from_regex(
        re.compile(r"[0-9]{4}-[01]?[0-9]-[0-3]?[0-9]([Tt \t]+[0-9:.]{4,10}( ?Z|[-+][0-9:]{1,4})?)?")
    )
)
def test_the_warning_appears_exactly_where_the_parsers_differ(text: str) -> None:
    text = text.strip()
    value, found = in_yaml_1_2(text)
    assert bool(found) != alike(in_yaml_1_1(text), value)
    if "\t" in text:  # PyYAML reads none without quotes, so that the warning is about the tab
        return
    for proposed in (each for problem in found for each in re.findall("`([^`]+)`", problem.hint)):
        fixed, left = in_yaml_1_2(proposed)
        assert not left
        assert alike(in_yaml_1_1(proposed), fixed)


@pytest.mark.parametrize("text", WORDS)
def test_words_and_numbers_are_judged_as_the_parsers_read_them(text: str) -> None:
    value, found = in_yaml_1_2(text)
    assert bool(found) != alike(in_yaml_1_1(text), value)
