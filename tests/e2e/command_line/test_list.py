"""`skillwire list`: a table for people, lines for pipes, JSON for programs."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import ANSI, PROBLEM_KEYS, Cli, on_terminal
from tests.support.peers import PATIENCE, skillwire
from tests.support.skills import skill_md, write


def test_list_prints_json_with_exactly_these_keys(here: Path, cli: Cli) -> None:
    done = cli("list", "skills", "--json")
    assert done.code == 0
    keys = ["name", "description", "type", "uri", "origin", "dialect", "problems"]
    assert [list(skill) for skill in done.json] == [keys] * 4
    assert done.json[0] == {
        "name": "refunds",
        "description": "Does one thing. Use when it is needed.",
        "type": "skill-md",
        "uri": "skill://acme/refunds/SKILL.md",
        "origin": str((here / "skills/acme/refunds").resolve()),
        "dialect": "folder",
        "problems": [],
    }
    by_name = {skill["name"]: skill for skill in done.json}
    assert [problem["rule"] for problem in by_name["other"]["problems"]] == ["name-folder"]
    assert [list(problem) for problem in by_name["twin"]["problems"]] == [PROBLEM_KEYS]


def test_list_is_separated_by_tabs_in_a_pipe(here: Path, cli: Cli) -> None:
    description = "Word " * 80 + "end."
    write(here / "skills/long", {"SKILL.md": skill_md("long", description)})
    done = cli("list", "skills")
    assert done.code == 0
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert ["refunds", "skill://acme/refunds/SKILL.md", "Does one thing. Use when it is needed."] in rows
    assert ["long", "skill://long/SKILL.md", description] in rows
    assert len(rows) == 5


def test_list_says_on_stderr_that_something_is_not_served(here: Path, cli: Cli) -> None:
    done = cli("list", "skills")
    assert done.err == "1 problem keeps skills from being served; `skillwire check skills` shows details\n"
    write(here / "skills/broken-too", {"SKILL.md": b"no frontmatter\n"})
    done = cli("list", "skills")
    assert done.err == "2 problems keep skills from being served; `skillwire check skills` shows details\n"


def test_description_is_one_line_without_terminal_escapes(good: Path, cli: Cli) -> None:
    evil = (
        b'---\nname: evil\ndescription: "one\\ntwo \\e[31mred\\e[0m [bold]not markup[/bold] :smile:"\n---\n'
    )
    write(good / "evil", {"SKILL.md": evil})
    (line,) = cli("list", "evil").out.splitlines()
    assert line.endswith("one\\x0atwo \\x1b[31mred\\x1b[0m [bold]not markup[/bold] :smile:")
    assert "\x1b" not in cli("show", "./evil").out


@pytest.mark.parametrize(
    "arguments", [["list", "skills"], ["check", "skills"], ["show", "./skills/odd"], ["--help"]]
)
def test_there_are_no_colours_in_a_pipe(here: Path, arguments: list[str]) -> None:
    done = subprocess.run(skillwire(*arguments), capture_output=True, timeout=PATIENCE, check=False)
    assert done.stdout
    assert not ANSI.search(done.stdout + done.stderr)


def test_a_terminal_gets_a_table_with_colours_that_fits(here: Path) -> None:
    write(here / "skills/long", {"SKILL.md": skill_md("long", "Word " * 80 + "end.")})
    code, shown = on_terminal("list", "skills", columns=90)
    assert code == 0
    assert ANSI.search(shown)
    lines = re.sub(rb"\x1b\[[0-9;]*m", b"", shown).decode().splitlines()
    assert lines[0].split() == ["name", "path", "files", "description"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:]}
    assert rows["refunds"][:2] == ["acme/refunds", "3"]
    assert "other!" in rows
    assert rows["long"][-1].endswith("…")
    assert all(len(line) <= 90 for line in lines)


def test_problems_have_colours_on_a_terminal(here: Path) -> None:
    code, shown = on_terminal("check", "skills")
    assert code == 1
    assert b"\x1b[31merror: name-format" in shown


def test_colours_can_be_switched_off(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown = on_terminal("check", "skills")
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]", shown)
