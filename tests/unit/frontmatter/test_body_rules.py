"""What a text refers to, in the ways in which people write it, and what is wrong with that."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.names import parent_paths
from skillwire.core.problem import Problem
from skillwire.frontmatter.body import Mention, folders_in, names_in, read_body
from skillwire.frontmatter.body_rules import SkillBody, check_body
from skillwire.sources import Rule

FILES = frozenset(
    {"SKILL.md", "references/policy.md", "references/a b.md", "scripts/go.sh", "helpers/tools.py"}
)


def problems(
    body: str,
    *,
    files: Collection[str] = FILES,
    executable: Collection[str] | None = None,
    elsewhere: str = "",
) -> list[Problem]:
    folders = frozenset(folder for path in files for folder in parent_paths(path))
    texts = f"{body}\n{elsewhere}"
    skill = SkillBody(
        "x/SKILL.md",
        10,
        read_body(body),
        frozenset(files),
        folders,
        None if executable is None else frozenset(executable),
        names_in(texts),
        folders_in(texts),
    )
    return list(check_body(skill))


def judged(
    body: str,
    *,
    files: Collection[str] = FILES,
    executable: Collection[str] | None = None,
    elsewhere: str = "",
) -> list[tuple[Rule, int | None]]:
    found = problems(body, files=files, executable=executable, elsewhere=elsewhere)
    return [(each.rule, each.line) for each in found]


def dead(body: str, *files: str) -> list[str]:
    """Return the messages about missing files in a skill with these files."""
    found = problems(body, files=("SKILL.md", *files))
    return [each.message for each in found if each.rule in {Rule.LINK_MISSING, Rule.LINK_CASE}]


def lonely(body: str, *files: str, elsewhere: str = "") -> list[str]:
    """Return the messages about files that nothing mentions, in a skill with these files."""
    found = problems(body, files=("SKILL.md", *files), elsewhere=elsewhere)
    return [each.message for each in found if each.rule is Rule.FILE_UNREFERENCED]


# Links and other mentions

LINKS = {
    "[x](references/none.md)": "references/none.md",
    "[x](./references/none.md#part)": "references/none.md",
    '![x](<assets/my pic.png> "title")': "assets/my pic.png",
    "[x](references/a%20b.md)": "references/a b.md",
    "[x][1]\n\n[1]: references/none.md": "references/none.md",
    "[x](../other/SKILL.md)": "../other/SKILL.md",
    "[x](guide_(old).md)": "guide_(old).md",
}
MENTIONS = {
    "see `references/none.md` there": "references/none.md",
    "see references/none.md.": "references/none.md",
    "@references/none.md": "references/none.md",
    "```sh\npython scripts/none.py --all\n```": "scripts/none.py",
    "`python scripts/none.py --all`": "scripts/none.py",
}


@pytest.mark.parametrize(("body", "path"), LINKS.items())
def test_a_link_is_found_however_it_is_written(body: str, path: str) -> None:
    assert [each.path for each in read_body(body).links] == [path]


@pytest.mark.parametrize(("body", "path"), MENTIONS.items())
def test_a_path_in_plain_text_is_found(body: str, path: str) -> None:
    assert [each.path for each in read_body(body).mentions] == [path]


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
        "[^1]: Mermaid. See https://example.com/",
    ],
)
def test_what_is_no_relative_reference_is_left_alone(body: str) -> None:
    facts = read_body(body)
    assert (facts.links, facts.mentions) == ((), ())


def test_a_broken_link_is_reported_with_its_line() -> None:
    assert judged("one\n\n[x](nope.md)\n", files={"SKILL.md"}) == [(Rule.LINK_MISSING, 12)]


def test_a_typo_in_a_link_gets_the_right_path() -> None:
    (problem,) = problems("[x](references/polcy.md)", files={"SKILL.md", "references/policy.md"})[:1]
    assert problem.hint == "write `references/policy.md`, or add the file"
    (problem,) = problems("[x](docs/policy.md)", files={"SKILL.md", "references/policy.md"})[:1]
    assert problem.hint == "write `references/policy.md`, or add the file"


def test_a_link_to_evals_says_that_they_are_not_served() -> None:
    (problem,) = problems("[x](evals/evals.json)", files={"SKILL.md", "data/evals.json"})
    assert "`evals` is not served" in problem.hint


@pytest.mark.parametrize("body", ["See FORMS.md.", "See `FORMS.md`", "[x](Forms.md)", "`sh ./FORMS.md`"])
def test_a_file_in_another_case_has_its_own_rule(body: str) -> None:
    (problem,) = problems(body, files={"SKILL.md", "forms.md"})
    assert (problem.rule, problem.severity) == (Rule.LINK_CASE, "warning")
    assert problem.hint == "write `forms.md`, or rename the file"


@pytest.mark.parametrize("body", ["See forms.md.", "See skill.md", "```\nFORMS.md\n```\nforms.md"])
def test_the_right_spelling_is_no_dead_link(body: str) -> None:
    assert problems(body, files={"SKILL.md", "forms.md"} if "orms" in body else {"SKILL.md"}) == []


@pytest.mark.parametrize(
    "body",
    [
        "For example, `references/finance.md` for a bank.",
        "A `scripts/rotate.py` would help here.",
        "**Examples**:\n- `references/finance.md`\n- `references/mnda.md`",
        "Write the report to `references/report.md`.",
        "Create `scripts/deploy.sh` in the project.",
        "[Title](path/to/file.md) and [x](url) and [y](references/your-file.md)",
        "Name it `references/filename.md`.",
        "```\nskill/\n  references/none.md\n```",
        "```python\nopen('references/none.md')\n```",
        "```sh\nconvert x > assets/none.png\n```",
    ],
)
def test_examples_templates_and_output_are_no_dead_links(body: str) -> None:
    assert dead(body, "references/policy.md", "scripts/go.sh", "assets/logo.png") == []


def test_a_path_of_another_project_is_no_dead_link() -> None:
    body = "Run `scripts/deploy.sh` of the project."
    assert dead(body, "references/policy.md") == []
    assert len(dead(body, "scripts/go.sh")) == 1


# Files that nothing mentions


def test_a_mention_of_a_folder_covers_its_files() -> None:
    assert judged("Everything in [references](references) matters, `scripts/` and helpers/, too.") == []
    assert lonely("Read the files in `guides`.", "guides/a.md", "guides/deep/b.md") == []
    assert lonely("Read `guides/*.md`, one by one.", "guides/a.md") == []


def test_a_file_that_another_file_mentions_is_not_unreferenced() -> None:
    body = "[p](references/policy.md), [a](<references/a b.md>), `sh scripts/go.sh`"
    assert judged(body) == [(Rule.FILE_UNREFERENCED, None)]
    assert judged(body, elsewhere="import tools") == []
    assert judged(body, elsewhere="from helpers.tools import add") == []


@pytest.mark.parametrize(
    "path",
    [
        *("LICENSE.txt", "README.md", "docs/README.md", "CLAUDE.md", "SECURITY.md", "inner/SKILL.md"),
        *("inner/notes.md", "scripts/__init__.py", "tests/test_a.py", "scripts/test_a.py", "a.test.ts"),
        *("assets/logo.svg", "fonts/a.ttf", "schemas/a.xsd", "data.json", "requirements.txt", ".hidden.md"),
    ],
)
def test_files_for_people_and_data_of_programs_need_no_mention(path: str) -> None:
    assert lonely("Nothing.", "inner/SKILL.md", path) == []


@pytest.mark.parametrize(
    "path",
    ["guide.md", "references/policy.md", "references/security.md", "references/a.txt", "scripts/go.py"],
)
def test_documents_and_scripts_need_a_mention(path: str) -> None:
    assert lonely("Nothing.", path) == [
        f"nothing in the skill mentions `{path}`, so models do not know of it"
    ]


def test_many_unmentioned_files_of_a_folder_are_one_problem() -> None:
    (message,) = lonely("Nothing.", *(f"references/{name}.md" for name in "abcd"))
    assert message.startswith("nothing in the skill mentions 4 files in `references`")


# Scripts


@pytest.mark.parametrize(
    "body",
    [
        "Run `scripts/go.sh`.",
        "Run `scripts/go.sh all`.",
        "```sh\n$ ./scripts/go.sh\n```",
        "```bash\nscripts/go.sh a b\n```",
        "```\n$ scripts/go.sh a b\n```",
        "```\n./scripts/go.sh\n```",
        "then execute `./scripts/go.sh`",
    ],
)
def test_a_script_run_by_its_name_must_be_executable(body: str) -> None:
    files = {"SKILL.md", "scripts/go.sh"}
    assert [rule for rule, _ in judged(body, files=files, executable=())] == [Rule.SCRIPT_MODE]
    assert judged(body, files=files, executable={"scripts/go.sh"}) == []
    assert judged(body, files=files, executable=None) == []


@pytest.mark.parametrize(
    "body",
    [
        "Run `sh scripts/go.sh`.",
        "```sh\nbash scripts/go.sh\n```",
        "See `scripts/go.sh`.",
        "```\nscripts/go.sh   starts everything\n```",
        "```python\nscripts/go.sh\n```",
    ],
)
def test_a_script_run_by_another_program_needs_no_bit(body: str) -> None:
    assert judged(body, files={"SKILL.md", "scripts/go.sh"}, executable=()) == []


def test_the_bare_name_of_a_script_is_no_command() -> None:
    files = {"SKILL.md", "scripts/fill.py"}
    assert judged("Run `scripts/fill.py`.", files=files, executable=()) == []
    assert judged("Run `scripts/fill.py form.pdf`.", files=files, executable=()) != []


# Length


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
def test_a_long_body_is_reported(body: str, long: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert judged(body, files={"SKILL.md"}) == ([(Rule.BODY_LENGTH, None)] if long else [])


# Any text


@pytest.mark.parametrize("hostile", ["<!--", "```\n", "[", "](", "`", "references/", "run `", "./", "a."])
def test_a_hostile_text_takes_one_walk(hostile: str) -> None:
    assert read_body(hostile * 50_000).tokens > 0


def test_each_path_is_listed_once_with_its_first_line() -> None:
    assert read_body("a\n[x](b.md)\n[y](b.md) and [z](c.md)\n").links == (
        Mention("b.md", 2),
        Mention("c.md", 3),
    )


_PARTS = st.sampled_from(
    [
        "[x](",
        "references/policy.md",
        "REFERENCES/Policy.md",
        ")",
        "`",
        "\n",
        "\n\n",
        "```sh\n",
        "Run ",
        "é",
        "a/",
    ]
)


@given(st.lists(_PARTS | st.text(max_size=5), max_size=30).map("".join))
def test_problems_of_any_text_lie_within_it(body: str) -> None:
    for each in problems(body, executable=()):
        assert each.line is None or 10 <= each.line <= 10 + body.count("\n")


@given(
    st.lists(st.from_regex(r"[a-z]{1,6}/[a-z]{1,6}\.(md|py|sh)", fullmatch=True), min_size=1, unique=True),
    st.sampled_from(["[x]({})", "see {}", "`{}`", "`./{}`", "```\n{}\n```"]),
)
def test_a_skill_that_mentions_all_its_files_has_no_problem(files: list[str], form: str) -> None:
    body = "\n\n".join(form.format(path) for path in files)
    assert problems(body, files=("SKILL.md", *files)) == []


@given(st.text(st.sampled_from("skillMD.md/-`[]() \n~<!#a1"), max_size=80))
def test_paths_do_not_matter_for_a_skill_without_other_files(body: str) -> None:
    files = frozenset({"SKILL.md"})
    found = [
        list(check_body(SkillBody("x/SKILL.md", 10, facts, files, frozenset())))
        for facts in (read_body(body, files), read_body(body, files, alone=True))
    ]
    assert found[0] == found[1]
