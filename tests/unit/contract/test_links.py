"""What a text refers to, in the ways in which people write it."""

import pytest

from skillwire.contract.rules.body import Mention, SkillBody, check_text, read_body
from skillwire.sources import Rule

FILES = frozenset(
    {"SKILL.md", "references/policy.md", "references/a b.md", "scripts/go.sh", "helpers/tools.py"}
)


def judged(
    body: str, *, files: frozenset[str] = FILES, executable: frozenset[str] | None = None, elsewhere: str = ""
) -> list[tuple[Rule, int | None]]:
    facts = read_body(body)
    folders = frozenset(path.rpartition("/")[0] for path in files if "/" in path)
    text = SkillBody(
        "x/SKILL.md", 10, facts, files, folders, executable, frozenset(), lambda: read_body(elsewhere).names
    )
    return [(problem.rule, problem.line) for problem in check_text(text)]


REFERENCES = {
    "[x](references/none.md)": "references/none.md",
    "[x](./references/none.md#part)": "references/none.md",
    '![x](<assets/my pic.png> "title")': "assets/my pic.png",
    "[x](references/a%20b.md)": "references/a b.md",
    "[x][1]\n\n[1]: references/none.md": "references/none.md",
    "see `references/none.md` there": "references/none.md",
    "see references/none.md.": "references/none.md",
    "```sh\npython scripts/none.py --all\n```": "scripts/none.py",
    "[x](../other/SKILL.md)": "../other/SKILL.md",
    "[x](guide_(old).md)": "guide_(old).md",
}


@pytest.mark.parametrize(("body", "path"), REFERENCES.items())
def test_a_relative_reference_is_found_however_it_is_written(body: str, path: str) -> None:
    assert [each.path for each in read_body(body).links] == [path]


@pytest.mark.parametrize(
    "body",
    [
        "[x](https://example.com/references/none.md)",
        "[x](mailto:a@example.com)",
        "[x](#part)",
        "[x](/absolute.md)",
        "[x]({{ template }})",
        "```\n[x](in/code.md)\n```",
        "`[x](in/code.md)`",
        "<!-- [x](in/comment.md) -->",
        "my-skill/references/none.md",
        "references/*.md and scripts/<name>.py",
    ],
)
def test_what_is_no_relative_reference_is_left_alone(body: str) -> None:
    assert read_body(body).links == ()


def test_the_line_of_the_file_is_told() -> None:
    assert judged("one\n\n[x](nope.md)\n", files=frozenset({"SKILL.md"})) == [
        (Rule.CONTRACT_LINK_MISSING, 12)
    ]


def test_reference_to_a_folder_covers_its_files() -> None:
    body = "Everything in [references](references) matters, `scripts/` and helpers/, too."
    assert judged(body) == []


def test_a_file_that_another_file_mentions_is_not_unreferenced() -> None:
    body = "[p](references/policy.md), [a](<references/a b.md>), `sh scripts/go.sh`"
    assert judged(body) == [(Rule.CONTRACT_FILE_UNREFERENCED, None)]
    assert judged(body, elsewhere="import tools") == []


def test_licences_and_nested_skills_are_not_unreferenced() -> None:
    files = frozenset({"SKILL.md", "LICENSE.txt", "README.md", "inner/SKILL.md", "inner/notes.md"})
    assert judged("Nothing.", files=files) == []


@pytest.mark.parametrize(
    "body",
    [
        "Run `scripts/go.sh all`.",
        "```sh\n$ ./scripts/go.sh\n```",
        "```\nscripts/go.sh a b\n```",
        "then execute `./scripts/go.sh`",
    ],
)
def test_script_run_by_name_must_be_executable(body: str) -> None:
    files = frozenset({"SKILL.md", "scripts/go.sh"})
    assert [rule for rule, _ in judged(body, files=files, executable=frozenset())] == [
        Rule.CONTRACT_SCRIPT_MODE
    ]
    assert judged(body, files=files, executable=frozenset({"scripts/go.sh"})) == []
    assert judged(body, files=files, executable=None) == []


@pytest.mark.parametrize(
    "body", ["Run `sh scripts/go.sh`.", "```sh\nbash scripts/go.sh\n```", "See `scripts/go.sh`."]
)
def test_a_script_that_another_program_runs_need_not_be(body: str) -> None:
    assert judged(body, files=frozenset({"SKILL.md", "scripts/go.sh"}), executable=frozenset()) == []


@pytest.mark.parametrize(
    ("body", "long"),
    [
        ("x\n" * 500, False),
        ("x\n" * 501, True),
        ("x" * 20_000, False),
        ("x" * 20_001, True),
        ("x\r\n" * 500, False),
    ],
    ids=["500 lines", "501 lines", "5,000 tokens", "5,001 tokens", "500 windows lines"],
)
def test_a_long_body_is_told(body: str, long: bool) -> None:  # noqa: FBT001 - a parameter of the test
    files = frozenset({"SKILL.md"})
    assert judged(body, files=files) == ([(Rule.CONTRACT_BODY_LENGTH, None)] if long else [])


@pytest.mark.parametrize("hostile", ["<!--", "```\n", "[", "](", "`", "references/", "run `"])
def test_a_hostile_text_takes_one_walk(hostile: str) -> None:
    assert read_body(hostile * 50_000).tokens > 0


def test_each_path_is_told_once_where_it_comes_first() -> None:
    assert read_body("a\n[x](b.md)\n[y](b.md) and [z](c.md)\n").links == (
        Mention("b.md", 2),
        Mention("c.md", 3),
    )
