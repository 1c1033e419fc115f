"""The Agent Skills rules: what keeps a skill from being served, what is only a warning, and what to write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import Problem
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.sources import Rule, Severity

NAME, DESCRIPTION = "name: refunds", "description: Handles refunds."


def document(*lines: str, folder: str | None = "refunds") -> SkillDocument:
    return read_document("\n".join(["---", *lines, "---", ""]).encode(), "billing/SKILL.md", folder)


def only_problem(*lines: str, folder: str | None = "refunds") -> Problem:
    (problem,) = document(*lines, folder=folder).problems
    return problem


def test_a_skill_that_keeps_every_rule_has_no_problem() -> None:
    read = document(
        NAME,
        DESCRIPTION,
        "license: MIT",
        "compatibility: Needs git",
        "metadata:",
        "  author: acme",
        "  version: '1.0'",
        "allowed-tools: Read Bash(git add:*, git commit:*) Write",
    )
    assert read.problems == ()
    assert read.is_servable


@pytest.mark.rule("S7")
def test_fields_without_a_rule_pass_through_without_a_word() -> None:
    read = document(NAME, DESCRIPTION, "model: opus", "x-mine: {deep: [1, yeah, ~]}")
    assert read.problems == ()
    assert read.frontmatter == {
        "name": "refunds",
        "description": "Handles refunds.",
        "model": "opus",
        "x-mine": {"deep": [1, "yeah", None]},
    }


@pytest.mark.parametrize(
    ("lines", "field", "rule", "line"),
    [
        ([DESCRIPTION], "name", Rule.NAME_MISSING, None),
        (["name:", DESCRIPTION], "name", Rule.NAME_MISSING, 2),
        (["name: Refunds", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: -refunds", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: refunds-", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: re--funds", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: re_funds", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: refünds", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: ''", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: ' refunds'", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        ([DESCRIPTION, f"name: {'a' * 65}"], "name", Rule.NAME_FORMAT, 3),
        (["name: 12", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: true", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        (["name: [refunds]", DESCRIPTION], "name", Rule.NAME_FORMAT, 2),
        ([NAME], "description", Rule.DESCRIPTION_MISSING, None),
        ([NAME, "description:"], "description", Rule.DESCRIPTION_MISSING, 3),
        ([NAME, "description: ''"], "description", Rule.DESCRIPTION_MISSING, 3),
        ([NAME, 'description: " \\n\\t"'], "description", Rule.DESCRIPTION_MISSING, 3),
        ([NAME, "description: 12"], "description", Rule.DESCRIPTION_TYPE, 3),
        ([NAME, "# one line down", "description: {a: b}"], "description", Rule.DESCRIPTION_TYPE, 4),
    ],
)
def test_what_the_extension_cannot_carry_is_an_error(
    lines: list[str], field: str, rule: Rule, line: int | None
) -> None:
    problem = only_problem(*lines)
    assert (problem.field, problem.rule, problem.line) == (field, rule, line)
    assert problem.severity is Severity.ERROR
    assert problem.path == "billing/SKILL.md"
    read = document(*lines)
    assert read.frontmatter is not None
    assert not read.is_servable


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ([f"description: {'é' * 1025}"], Rule.DESCRIPTION_LENGTH),
        ([DESCRIPTION, "license:"], Rule.LICENSE_TYPE),
        ([DESCRIPTION, "license: 2.0"], Rule.LICENSE_TYPE),
        ([DESCRIPTION, "license: [MIT]"], Rule.LICENSE_TYPE),
        ([DESCRIPTION, "compatibility: ''"], Rule.COMPATIBILITY_FORMAT),
        ([DESCRIPTION, f"compatibility: {'x' * 501}"], Rule.COMPATIBILITY_FORMAT),
        ([DESCRIPTION, "compatibility: 3.11"], Rule.COMPATIBILITY_FORMAT),
        ([DESCRIPTION, "compatibility:"], Rule.COMPATIBILITY_FORMAT),
        ([DESCRIPTION, "metadata:"], Rule.METADATA_TYPE),
        ([DESCRIPTION, "metadata: some"], Rule.METADATA_TYPE),
        ([DESCRIPTION, "metadata: {version: 1.0}"], Rule.METADATA_TYPE),
        ([DESCRIPTION, "metadata: {a: {b: c}}"], Rule.METADATA_TYPE),
        ([DESCRIPTION, "allowed-tools: Read, Write"], Rule.ALLOWED_TOOLS_FORMAT),
        ([DESCRIPTION, "allowed-tools: [Read, Write]"], Rule.ALLOWED_TOOLS_FORMAT),
        ([DESCRIPTION, "allowed-tools:"], Rule.ALLOWED_TOOLS_FORMAT),
        ([DESCRIPTION, "allowed-tools: {Read: true}"], Rule.ALLOWED_TOOLS_FORMAT),
    ],
)
def test_a_skill_with_any_other_fault_is_served(lines: list[str], rule: Rule) -> None:
    problem = only_problem(NAME, *lines)
    assert (problem.rule, problem.severity) == (rule, Severity.WARNING)
    assert problem.field
    assert problem.line
    assert problem.hint
    assert document(NAME, *lines).is_servable


@pytest.mark.parametrize("description", ["x", "é" * 1024])
def test_a_description_has_1_to_1024_characters(description: str) -> None:
    assert document(NAME, f"description: {description}").problems == ()


@pytest.mark.parametrize("compatibility", ["x", "é" * 500])
def test_a_compatibility_has_1_to_500_characters(compatibility: str) -> None:
    assert document(NAME, DESCRIPTION, f"compatibility: {compatibility}").problems == ()


@pytest.mark.rule("S18")
def test_reserved_metadata_keys_pass_through_with_a_warning() -> None:
    lines = [NAME, DESCRIPTION, "metadata:", "  io.modelcontextprotocol/x: y"]
    problem = only_problem(*lines)
    assert (problem.rule, problem.severity) == (Rule.METADATA_RESERVED, Severity.WARNING)
    found = document(*lines).frontmatter
    assert found
    assert found["metadata"] == {"io.modelcontextprotocol/x": "y"}


@pytest.mark.rule("S18")
@pytest.mark.parametrize("key", ["io.modelcontextprotocol.mine/x", "my.io.modelcontextprotocol/x", "author"])
def test_metadata_keys_that_only_look_reserved_are_fine(key: str) -> None:
    assert document(NAME, DESCRIPTION, "metadata:", f"  {key}: y").problems == ()


@pytest.mark.parametrize(
    ("name", "folder", "hint"),
    [
        ("Refund Desk", None, "write `name: refund-desk`"),
        ("Refund Desk", "refunds", "write `name: refunds`, the name of its folder"),
        ("Refund Desk", "Refund Desk", "write `name: refund-desk`"),
        ("Refund Desk", "2024", 'write `name: "2024"`, the name of its folder'),
        ("12", None, 'write `name: "12"`'),
        ("True", None, 'write `name: "true"`'),
        ("1E999x", None, "write `name: 1e999x`"),
        ("'1E999'", None, 'write `name: "1e999"`'),
        ("'???'", None, "write `name: my-skill`"),
        ("[a]", None, "write `name: my-skill`"),
    ],
)
def test_a_wrong_name_comes_with_the_line_to_write(name: str, folder: str | None, hint: str) -> None:
    problem = only_problem(f"name: {name}", DESCRIPTION, folder=folder)
    assert (problem.rule, problem.hint) == (Rule.NAME_FORMAT, hint)


def test_a_wrong_name_is_shown_as_it_was_written() -> None:
    problem = only_problem("name: Refund Desk", DESCRIPTION)
    expected = "`Refund Desk` is not lowercase letters, digits and single hyphens (1-64 characters)"
    assert problem.message == expected
    assert str(problem) == f"billing/SKILL.md:2: name: {expected}"


@pytest.mark.parametrize(
    ("folder", "hint"),
    [
        ("returns", "rename the folder to `refunds`, or write `name: returns`"),
        ("7", 'rename the folder to `refunds`, or write `name: "7"`'),
        ("Refunds", "rename the folder to `refunds`"),
    ],
)
def test_a_name_that_differs_from_its_folder_is_a_warning(folder: str, hint: str) -> None:
    problem = only_problem(NAME, DESCRIPTION, folder=folder)
    assert (problem.rule, problem.severity) == (Rule.NAME_FOLDER, Severity.WARNING)
    assert problem.hint == hint


def test_without_a_folder_the_name_is_not_compared_with_it() -> None:
    assert document(NAME, DESCRIPTION, folder=None).problems == ()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("Read, Write", "write `allowed-tools: Read Write`"),
        ("Read,Write,", "write `allowed-tools: Read Write`"),
        ("Bash(git add, git commit), Read", "write `allowed-tools: Bash(git add, git commit) Read`"),
        ("[Read, 'Bash(git:*)']", "write `allowed-tools: Read Bash(git:*)`"),
    ],
)
def test_tools_in_another_form_come_with_the_line_to_write(value: str, hint: str) -> None:
    assert only_problem(NAME, DESCRIPTION, f"allowed-tools: {value}").hint == hint


def test_all_problems_of_a_file_are_reported_together() -> None:
    read = document("license: 1", "name: No Good", "metadata: []", "allowed-tools: a, b")
    assert [(problem.field, problem.line) for problem in read.problems] == [
        ("name", 3),
        ("description", None),
        ("license", 2),
        ("metadata", 4),
        ("allowed-tools", 5),
    ]


def test_many_wrong_metadata_values_make_one_problem() -> None:
    problem = only_problem(NAME, DESCRIPTION, "metadata: {a: 1, b: 2, c: 3, d: 4, e: x}")
    assert problem.message == "values that are not text: `a`, `b`, `c` and 1 more"
    assert problem.hint == 'put the value in quotes, as in `a: "…"`'


@given(st.text(max_size=80), st.text(max_size=80))
def test_foreign_text_is_shown_on_one_line_and_visible(name: str, folder: str) -> None:
    escaped = "".join(f"\\U{ord(character):08X}" for character in name)
    for problem in document(f'name: "{escaped}"', DESCRIPTION, folder=folder).problems:
        assert len(str(problem).splitlines()) == 1
        assert not set("\u202e\u200b\x1b\x00") & set(problem.message + problem.hint)
