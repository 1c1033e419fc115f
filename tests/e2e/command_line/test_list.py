"""`skillwire list`: a table for people, lines for pipes, JSON for programs."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import ANSI, PROBLEM_KEYS, Cli, on_terminal
from tests.support.git_server import git
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


def test_line_breaks_and_escape_codes_in_a_description_are_escaped(good: Path, cli: Cli) -> None:
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


def plain(shown: bytes) -> list[str]:
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode().splitlines()


def test_a_terminal_gets_names_and_descriptions_that_fit(here: Path) -> None:
    write(here / "skills/long", {"SKILL.md": skill_md("long", "Word " * 80 + "end.")})
    code, shown = on_terminal("list", "skills", columns=80)
    assert code == 0
    assert ANSI.search(shown)
    lines = plain(shown)
    assert lines[0].split() == ["name", "description"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:] if not line.startswith(" ")}
    assert rows["refunds"][:2] == ["Does", "one"]
    assert rows["twins/one/twin"][0] == "Does"
    assert "other!" in rows
    assert lines.count("refunds         Does one thing. Use when it is needed.") == 1
    assert any(line.endswith("…") for line in lines)
    assert all(len(line) <= 80 for line in lines if not line.startswith("1 problem"))
    assert "2 skills of the same 1 name are listed by path; `--problems` lists them" in lines
    assert not any("acme/refunds" in line for line in lines)
    assert any("acme/refunds" in line for line in plain(on_terminal("list", "skills", "--paths")[1]))


def test_a_filter_ignores_case_and_reads_every_field(here: Path, cli: Cli) -> None:
    write(here / "skills/long", {"SKILL.md": skill_md("long", "Makes PDF files.")})
    assert [each["name"] for each in cli("list", "skills", "--filter", "pdf", "--json").json] == ["long"]
    done = cli("list", "skills", "--filter", "ACME/*")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["refunds"]
    assert "1 of 5 skills matches `ACME/*`" in done.err
    done = cli("list", "skills", "--filter", "nothing-like-it")
    assert (done.code, done.out) == (0, "")
    assert "0 of 5 skills match `nothing-like-it`" in done.err


def test_shared_names_are_listed_only_on_request(here: Path, cli: Cli) -> None:
    assert "name-shared" not in cli("list", "skills").err
    assert cli("list", "skills", "--problems").err.count("name-shared") == 2


@pytest.mark.parametrize(
    ("pager", "paged"),
    [("head -n 1", True), ("no-such-pager", False), ("cat", False), ("", False), ("'", False)],
)
def test_a_long_list_goes_through_the_pager(
    here: Path, monkeypatch: pytest.MonkeyPatch, pager: str, paged: object
) -> None:
    for number in range(60):
        write(here / f"skills/many-{number}", {"SKILL.md": skill_md(f"many-{number}", "One of many.")})
    monkeypatch.setenv("PAGER", "head -n 3")
    monkeypatch.setenv("SKILLWIRE_PAGER", pager)
    code, shown = on_terminal("list", "skills")
    assert code == 0
    assert ("many-59" not in "".join(plain(shown))) is paged
    code, shown = on_terminal("list", "skills", "--no-pager")
    assert "many-59" in "".join(plain(shown))


def test_problems_have_colours_on_a_terminal(here: Path) -> None:
    code, shown = on_terminal("check", "skills")
    assert code == 1
    assert b"\x1b[31merror: name-format" in shown


def test_colours_can_be_switched_off(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown = on_terminal("check", "skills")
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]", shown)


def test_publish_and_serve_take_the_same_selectors(good: Path, cli: Cli) -> None:
    done = cli("publish", "good", "--out", "site", "--only", "ref*", "--only", "tag:none", "--json")
    assert [each["name"] for each in done.json["skills"]] == ["refunds"]
    assert "1 skill left out by `--only` and `--exclude`" in done.err
    assert "warning: `tag:none` matches no skill now" in done.err
    served = subprocess.run(
        skillwire("serve", "good", "--no-config", "--exclude", "ref*"),
        input=b"",
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert b"1 skill left out by `--only` and `--exclude`" in served.stderr
    done = cli("serve", "good", "--only", " ")
    assert (done.code, "selects no skill" in done.err) == (2, True)


def test_files_with_similar_names_are_the_reason_for_no_skills(tmp_path: Path, cli: Cli) -> None:
    write(tmp_path / "skills/refunds", {"SKILL.md.txt": "x"})
    done = cli("list", tmp_path / "skills")
    assert done.code == 1
    assert "refunds/SKILL.md.txt: the folder is not a skill" in done.err
    assert "hint: rename it to `SKILL.md`" in done.err
    done = cli("check", tmp_path / "skills")
    assert "(warning: skill-file-name)" in done.out
    assert "no skills here" not in done.err
    assert cli("check", tmp_path / "skills", "--strict").code == 1


@pytest.mark.parametrize("command", ["list", "check", "serve"])
def test_a_bare_repository_is_not_a_folder_of_skills(command: str, tmp_path: Path, cli: Cli) -> None:
    git("init", "-q", "--bare", "team skills.git", cwd=tmp_path)
    done = cli(command, tmp_path / "team skills.git")
    assert done.code == 2
    assert f"write `git+file://{tmp_path}/team%20skills.git` to use its skills" in done.err


def test_a_file_url_is_refused_with_both_meanings(tmp_path: Path, cli: Cli) -> None:
    done = cli("list", "file:///srv/team%20skills")
    assert done.code == 2
    assert "`/srv/team skills` for a folder, or `git+file:///srv/team%20skills` for a repository" in done.err


def test_a_port_out_of_range_gets_the_range(good: Path, cli: Cli) -> None:
    assert "with a port from 0 to 65535" in cli("serve", "skills", "--http", "99999").err
