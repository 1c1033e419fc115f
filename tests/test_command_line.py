"""The command line: what each verb prints, where it prints it, and what it exits with."""

import base64
import errno
import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from skillwire.cli.app import VERBS, run
from skillwire.cli.progress import scanning
from tests.support.peers import PATIENCE, VERSIONS, HttpPeer, HttpServer, skillwire
from tests.support.skills import skill_md, write, write_skill

BLOB = bytes(range(256))
PROBLEM_KEYS = ["path", "line", "field", "rule", "severity", "message", "hint"]
ANSI = re.compile(rb"\x1b\[")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command line did."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Runs a command line in this process, its output in a pipe."""

    def call(*arguments: str | Path) -> Ran:
        code = run([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        return Ran(code, captured.out, captured.err.decode())

    return call


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of whoever runs the tests change nothing."""
    for variable in [name for name in os.environ if name.startswith("SKILLWIRE_")]:
        monkeypatch.delenv(variable)
    for variable in (
        "SKILLS_DIR",
        "MAX_FILE_SIZE_MB",
        "FORCE_COLOR",
        "NO_COLOR",
        "TTY_COMPATIBLE",
        "COLUMNS",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a folder `skills`: one good skill, one odd, one broken, two of a name."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "skills"
    write_skill(root, "acme/refunds", {"references/policy.md": "# Policy\n", "logo.png": BLOB})
    write_skill(root, "odd", name="other")
    write_skill(root, "twins/one/twin")
    write_skill(root, "twins/two/twin")
    write(root / "broken", {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    return tmp_path


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a folder `good` in it that nobody can find fault with."""
    monkeypatch.chdir(tmp_path)
    write_skill(tmp_path / "good", "refunds")
    write_skill(tmp_path / "good", "returns")
    return tmp_path


def on_terminal(*arguments: str | Path, columns: int = 100) -> tuple[int, bytes]:
    """Run a command line on a terminal of its own; return its exit code, and all that it showed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(skillwire(*arguments), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        shown = b"".join(_chunks(ours))
        return process.wait(timeout=PATIENCE), shown
    finally:
        os.close(ours)
        process.kill()


def _chunks(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # how Linux says that the other side is closed
                return
            raise
        if not chunk:
            return
        yield chunk


# check


def test_check_prints_every_problem_with_its_place_reason_and_hint(here: Path, cli: Cli) -> None:
    done = cli("check", "skills")
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0].startswith("skills/broken/SKILL.md:2: name: `Broken Name` is not ")
    assert lines[0].endswith("(error: name-format)")
    assert lines[1].startswith("hint: write `name: broken`")
    assert [line.split(": ")[0] for line in lines[::2]] == [
        "skills/broken/SKILL.md:2",
        "skills/odd/SKILL.md:2",
        "skills/twins/one/twin/SKILL.md",
        "skills/twins/two/twin/SKILL.md",
    ]
    assert all(line.startswith("hint: ") for line in lines[1::2])
    assert done.err == "4 skills can be served; 1 error, 3 warnings\n"


@pytest.mark.parametrize("option", [["--json"], ["--format", "json"], ["--format=json"]], ids=" ".join)
def test_check_prints_json_with_exactly_these_keys(here: Path, cli: Cli, option: list[str]) -> None:
    done = cli("check", "skills", *option)
    assert done.code == 1
    assert [list(problem) for problem in done.json] == [PROBLEM_KEYS] * 4
    assert done.json[0] == {
        "path": "broken/SKILL.md",
        "line": 2,
        "field": "name",
        "rule": "name-format",
        "severity": "error",
        "message": "`Broken Name` is not lowercase letters, digits and single hyphens (1-64 characters)",
        "hint": "write `name: broken`, the name of the folder it lives in",
    }
    assert done.err == "4 skills can be served; 1 error, 3 warnings\n"


def test_check_of_good_skills_is_silent_on_stdout_and_exits_with_0(good: Path, cli: Cli) -> None:
    done = cli("check", "good")
    assert (done.code, done.raw) == (0, b"")
    assert done.err == "2 skills can be served; 0 errors, 0 warnings\n"
    assert cli("check", "good", "--json").json == []
    assert cli("check", "good", "--strict").code == 0


def test_warnings_count_only_with_strict(good: Path, cli: Cli) -> None:
    write_skill(good / "good", "odd", name="other")
    assert cli("check", "good").code == 0
    done = cli("check", "good", "--strict")
    assert done.code == 1
    assert "(warning: name-folder)" in done.out


def test_check_takes_several_folders_and_says_which_each_problem_is_in(here: Path, cli: Cli) -> None:
    write_skill(here / "good", "refunds-desk")
    write(here / "more" / "bad", {"SKILL.md": b"---\nname: bad\n---\n"})
    done = cli("check", "good", "skills", "more", "--json")
    assert done.code == 1
    errors = [problem["path"] for problem in done.json if problem["severity"] == "error"]
    assert errors == ["more/bad/SKILL.md", "skills/broken/SKILL.md"]


def test_check_of_a_skill_itself_names_its_own_files(here: Path, cli: Cli) -> None:
    done = cli("check", "skills/broken", "--json")
    assert [problem["path"] for problem in done.json] == ["SKILL.md"]


@pytest.mark.parametrize("verb", ["check", "list"])
def test_a_folder_without_skills_is_fine_but_gets_a_hint(good: Path, cli: Cli, verb: str) -> None:
    (good / "empty").mkdir()
    done = cli(verb, "empty")
    assert (done.code, done.raw) == (0, b"")
    assert "a skill is a folder with a `SKILL.md` in it" in done.err
    assert cli(verb, "empty", "--json").json == []


@pytest.mark.parametrize("arguments", [["check"], ["list"], ["serve"], ["show", "x", "--from"]], ids=" ".join)
def test_a_folder_that_is_not_there_is_wrong_usage(good: Path, cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments, "no-such-folder")
    assert (done.code, done.raw) == (2, b"")
    assert done.err.startswith("error: the folder `no-such-folder` does not exist\nhint: ")
    (good / "no-such-folder").touch()
    assert "`no-such-folder` is a file" in cli(*arguments, "no-such-folder").err


def test_one_missing_folder_among_others_is_wrong_usage(good: Path, cli: Cli) -> None:
    assert cli("check", "good", "no-such-folder").code == 2


def test_links_to_elsewhere_are_followed_only_when_asked(good: Path, cli: Cli) -> None:
    elsewhere = write_skill(good / "elsewhere", "linked")
    (good / "good" / "linked").symlink_to(elsewhere)
    without = cli("check", "good", "--json")
    assert [problem["rule"] for problem in without.json] == ["link-outside"]
    assert "`--follow-links`" in without.json[0]["hint"]
    assert cli("check", "good", "--follow-links", "--json").json == []
    names = [skill["name"] for skill in cli("list", "good", "--follow-links", "--json").json]
    assert names == ["linked", "refunds", "returns"]


# list


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
    assert done.err == "1 problem keeps skills from being served; `skillwire check skills` shows them\n"
    write(here / "skills/broken-too", {"SKILL.md": b"no frontmatter\n"})
    done = cli("list", "skills")
    assert done.err == "2 problems keep skills from being served; `skillwire check skills` shows them\n"


def test_a_description_stays_on_its_line_and_cannot_colour_a_terminal(good: Path, cli: Cli) -> None:
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


# show and read: which skill is meant

WAYS = [
    ["./skills/acme/refunds"],
    ["skills/acme/refunds"],
    ["skills/acme/refunds/"],
    ["skill://acme/refunds/SKILL.md", "--from", "skills"],
    ["skill://acme/refunds", "--from", "skills"],
    ["acme/refunds", "--from", "skills"],
    ["refunds", "--from", "skills"],
    ["refunds", "--from", "./skills"],
    ["refunds", "--from", "more", "--from", "skills"],
    ["refunds", "--from", "more,skills"],
]


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_a_skill_is_found_by_folder_uri_path_or_name(here: Path, cli: Cli, way: list[str]) -> None:
    write_skill(here / "more", "unrelated")
    shown = cli("show", *way)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines()[0] == "refunds"
    read = cli("read", *way)
    assert (read.code, read.raw) == (0, skill_md("refunds"))


@pytest.mark.parametrize("skill", ["refunds", "acme/refunds", "skill://acme/refunds/SKILL.md"])
def test_without_from_a_skill_is_looked_for_in_skills_dir(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, skill: str
) -> None:
    write_skill(here / "more", "unrelated")
    monkeypatch.setenv("SKILLS_DIR", f"{here / 'more'},{here / 'skills'}")
    assert cli("show", skill).code == 0
    assert cli("read", skill).raw == skill_md("refunds")
    assert len(cli("list", "--json").json) == 5


def test_a_folder_named_wins_over_skills_dir(here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill(here / "more", "unrelated")
    monkeypatch.setenv("SKILLS_DIR", str(here / "more"))
    assert [skill["name"] for skill in cli("list", "skills/acme", "--json").json] == ["refunds"]
    assert cli("show", "unrelated").code == 0
    assert cli("show", "unrelated", "--from", "skills").code == 1


@pytest.mark.parametrize(
    "arguments",
    [["list"], ["serve"], ["check"], ["show", "refunds"], ["read", "refunds"], ["visibility", "refunds"]],
    ids=" ".join,
)
@pytest.mark.parametrize("value", [None, "", "  "], ids=repr)
def test_no_source_at_all_is_wrong_usage(
    good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str], value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv("SKILLS_DIR", value)
    done = cli(*arguments)
    assert (done.code, done.raw) == (2, b"")
    assert re.match("error: .*\nhint: .*`SKILLS_DIR`", done.err)
    assert ("--from" in done.err) is (len(arguments) > 1)


def test_a_list_of_nothing_but_commas_names_no_source(good: Path, cli: Cli) -> None:
    for arguments in (["list", ","], ["check", " , ,"]):
        done = cli(*arguments)
        assert done.code == 2
        assert "no source of skills is named" in done.err


@pytest.mark.parametrize("verb", ["show", "read", "visibility"])
def test_a_word_that_is_both_a_folder_and_a_name_is_wrong_usage(here: Path, cli: Cli, verb: str) -> None:
    write_skill(here, "refunds")
    done = cli(verb, "refunds", "--from", "skills")
    assert (done.code, done.raw) == (2, b"")
    assert "`refunds` is both a folder and the name of a skill" in done.err
    assert "`./refunds`" in done.err
    assert "`skill://acme/refunds/SKILL.md`" in done.err
    if verb != "visibility":  # which asks for a folder that is served
        assert cli(verb, "./refunds", "--from", "skills").code == 0
    assert cli(verb, "skill://acme/refunds/SKILL.md", "--from", "skills").code == 0


@pytest.mark.parametrize("verb", ["show", "read", "visibility"])
def test_a_name_that_two_skills_share_is_wrong_usage_and_lists_both(here: Path, cli: Cli, verb: str) -> None:
    done = cli(verb, "twin", "--from", "skills")
    assert (done.code, done.raw) == (2, b"")
    assert "`twin` is the name of 2 skills" in done.err
    assert "`twins/one/twin`, `twins/two/twin`" in done.err
    assert cli(verb, "twins/one/twin", "--from", "skills").code == 0


@pytest.mark.parametrize("verb", ["show", "read", "visibility"])
def test_an_unknown_skill_suggests_the_closest_three_names(good: Path, cli: Cli, verb: str) -> None:
    for name in ("refund-a", "refund-b", "refund-c", "refund-d", "zebra"):
        write_skill(good / "many", name)
    done = cli(verb, "refund-x", "--from", "many")
    assert (done.code, done.raw) == (1, b"")
    assert done.err.startswith("error: there is no skill `refund-x`\nhint: did you mean ")
    suggested = re.findall(r"`(refund-[a-d])`", done.err)
    assert len(set(suggested)) == len(suggested) == 3
    assert "zebra" not in done.err


def test_an_unknown_skill_like_no_other_gets_a_hint_where_to_look(here: Path, cli: Cli) -> None:
    done = cli("show", "zzzz", "--from", "skills")
    assert done.code == 1
    assert "`skillwire list`" in done.err
    assert "`--from FOLDER`" in done.err


@pytest.mark.parametrize("verb", ["show", "read", "visibility"])
@pytest.mark.parametrize("way", [["./skills/broken"], ["broken", "--from", "skills"]], ids=" ".join)
def test_a_broken_skill_shows_its_problems(here: Path, cli: Cli, verb: str, way: list[str]) -> None:
    done = cli(verb, *way)
    assert (done.code, done.raw) == (1, b"")
    assert done.err.startswith("error: ")
    assert "SKILL.md:2: name: `Broken Name` is not " in done.err
    assert "hint: write `name: broken`" in done.err


def test_a_folder_of_skills_is_no_skill_and_the_hint_says_how_to_look_inside(good: Path, cli: Cli) -> None:
    done = cli("show", "./good")
    assert done.code == 1
    assert "`skillwire list ./good`" in done.err


def test_a_place_to_look_that_is_not_there_is_wrong_usage_even_beside_a_folder(good: Path, cli: Cli) -> None:
    write_skill(good, "here")
    done = cli("show", "here", "--from", "no-such-folder")
    assert done.code == 2
    assert "`no-such-folder` does not exist" in done.err


# show


def test_show_prints_fields_files_and_problems(here: Path, cli: Cli) -> None:
    shown = cli("show", "acme/refunds", "--from", "skills").out
    assert "uri: skill://acme/refunds/SKILL.md\n" in shown
    assert f"from: {(here / 'skills/acme/refunds').resolve()}\n" in shown
    assert "3 files" in shown
    assert [line.split()[-1] for line in shown.splitlines()[-3:]] == [
        "SKILL.md",
        "logo.png",
        "references/policy.md",
    ]
    assert "(warning: name-folder)" in cli("show", "other", "--from", "skills").out


def test_show_prints_the_entry_of_the_listing_as_json(here: Path, cli: Cli) -> None:
    done = cli("show", "other", "--from", "skills", "--json")
    assert list(done.json) == ["uri", "frontmatter", "resources", "origin", "problems"]
    assert done.json["frontmatter"]["name"] == "other"
    assert [list(resource) for resource in done.json["resources"]] == [["uri", "digest", "size"]]
    assert [list(problem) for problem in done.json["problems"]] == [PROBLEM_KEYS]


# read


@pytest.mark.parametrize("option", [[], ["--raw"]], ids=["", "--raw"])
def test_read_prints_the_exact_bytes_into_a_pipe(here: Path, option: list[str]) -> None:
    command = skillwire("read", "./skills/acme/refunds", "logo.png", *option)
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, BLOB, b"")


def test_read_refuses_to_pour_bytes_over_a_terminal(here: Path) -> None:
    code, shown = on_terminal("read", "./skills/acme/refunds", "logo.png")
    assert code == 1
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", shown).decode()
    assert text.startswith("error: `logo.png` is not text (image/png, 256 bytes)")
    assert "hint: add `--raw`" in text
    code, shown = on_terminal("read", "./skills/acme/refunds", "references/policy.md")
    assert (code, shown) == (0, b"# Policy\r\n")


def test_read_insists_when_told_to(here: Path) -> None:
    (here / "skills/acme/refunds/short.bin").write_bytes(b"\xff\x00\xfe")
    assert on_terminal("read", "./skills/acme/refunds", "short.bin", "--raw") == (0, b"\xff\x00\xfe")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("bytes", "SKILL.md"),
        ("bytes", "data/blob.bin"),
        ("bytes", "data/latin1.txt"),
        ("bytes", "data/empty.txt"),
        ("bytes", "ünïcode/naïve.md"),
        ("reserved", "SKILL.md"),
    ],
)
def test_read_prints_the_very_result_of_resources_read(
    served_tree: Path, http_server: HttpServer, cli: Cli, name: str, path: str
) -> None:
    done = cli("read", name, path, "--from", served_tree, "--json")
    assert done.code == 0
    with closing(HttpPeer(VERSIONS[1], http_server.url)) as peer:
        assert done.json == peer.result("resources/read", {"uri": done.json["contents"][0]["uri"]})


def test_read_prints_binary_as_base64_in_json(here: Path, cli: Cli) -> None:
    (content,) = cli("read", "refunds", "logo.png", "--from", "skills", "--json").json["contents"]
    assert base64.b64decode(content["blob"]) == BLOB
    assert content["mimeType"] == "image/png"


@pytest.mark.parametrize(
    "path", ["gone.md", "references", "../odd/SKILL.md", "/etc/passwd", "", "logo.png/", "a\nb"]
)
def test_read_of_what_is_no_file_of_the_skill_fails(here: Path, cli: Cli, path: str) -> None:
    done = cli("read", "refunds", path, "--from", "skills")
    assert (done.code, done.raw) == (1, b"")
    assert done.err.startswith("error: `refunds` has no file `")
    assert "hint: `skillwire show refunds` lists its files" in done.err


def test_a_terminal_is_not_made_to_obey_a_skill(here: Path) -> None:
    write(here / "skills/pwn", {"SKILL.md": skill_md("pwn", body="\x1b]0;pwned\x07\ttab\n")})
    code, shown = on_terminal("read", "skills/pwn")
    assert code == 0
    assert b"\x1b]0;" not in shown
    assert b"\\x1b]0;pwned\\x07\ttab" in shown.replace(b"        ", b"\t") or b"\\x1b]0;pwned\\x07" in shown


@pytest.mark.parametrize("file", ["skills/acme/refunds/SKILL.md", "skills/acme/refunds/references/policy.md"])
def test_a_file_instead_of_a_skill_is_wrong_usage_that_names_its_folder(
    here: Path, cli: Cli, file: str
) -> None:
    done = cli("show", file)
    assert done.code == 2
    assert f"hint: name its folder, `{Path(file).parent}`" in done.err


def test_strict_wants_at_least_one_skill(tmp_path: Path, cli: Cli) -> None:
    assert cli("check", str(tmp_path)).code == 0
    assert cli("check", str(tmp_path), "--strict").code == 1


def test_check_takes_the_folders_of_the_environment(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLS_DIR", "skills")
    assert cli("check").out == cli("check", "skills").out


def test_one_folder_in_two_spellings_is_one_source(here: Path, cli: Cli) -> None:
    assert cli("list", "skills", "./skills", str(here / "skills")).out == cli("list", "skills").out


def test_a_windows_path_is_a_path(here: Path, cli: Cli) -> None:
    assert cli("read", "refunds", "references\\policy.md", "--from", "skills").raw == b"# Policy\n"


# what a source is


def test_several_folders_may_stand_in_one_argument(here: Path, cli: Cli) -> None:
    write_skill(here / "more", "unrelated")
    for argument in ("skills/acme,more", "skills/acme, more", ",skills/acme,,more,"):
        assert [skill["name"] for skill in cli("list", argument, "--json").json] == ["refunds", "unrelated"]


def test_an_existing_path_with_a_comma_wins(good: Path, cli: Cli) -> None:
    write_skill(good / "one,two", "inside")
    write_skill(good / "one", "outside")
    write_skill(good / "two", "outside-too")
    assert [skill["name"] for skill in cli("list", "one,two", "--json").json] == ["inside"]
    shutil.rmtree(good / "one,two")
    assert len(cli("list", "one,two", "--json").json) == 2


@pytest.mark.parametrize("argument", ["C:/x", "C:\\x", "c:x"])
def test_a_drive_letter_makes_a_folder(good: Path, cli: Cli, argument: str) -> None:
    done = cli("list", argument)
    assert done.code == 2
    assert f"the folder `{argument}` does not exist" in done.err


@pytest.mark.parametrize(
    "argument", ["github:a/b", "git+https://host.example/r", "https://host.example/", "s3:x"]
)
def test_a_source_of_an_unknown_kind_is_refused_with_the_known_ones(
    good: Path, cli: Cli, argument: str
) -> None:
    done = cli("list", argument)
    assert (done.code, done.raw) == (2, b"")
    assert f"`{argument}` is no kind of source" in done.err
    assert "hint: known kinds: folder (./skills)" in done.err


def test_a_folder_that_looks_like_another_kind_is_a_folder_when_it_exists(good: Path, cli: Cli) -> None:
    write_skill(good / "github:a" / "b", "inside")
    assert [skill["name"] for skill in cli("list", "github:a/b", "--json").json] == ["inside"]


def test_folders_of_one_name_get_labels_of_their_own(good: Path, cli: Cli) -> None:
    for parent in ("a", "b", "c"):
        write_skill(good / parent / "skills", "same")
    write_skill(good / "skills-2", "same")
    done = cli("list", "a/skills", "b/skills", "skills-2", "c/skills", "--json")
    assert done.code == 0
    uris = [skill["uri"] for skill in done.json]
    assert uris[:2] == ["skill://same/SKILL.md", "skill://skills-2/same/SKILL.md"]
    assert len(set(uris)) == 4


def test_tilde_is_the_home_folder(good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(good))
    assert len(cli("list", "~/good", "--json").json) == 2
    assert cli("show", "~/good/refunds").code == 0


# limits


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ("SKILLWIRE_MAX_SKILL_FILES=2", "skill-files"),
        ("SKILLWIRE_MAX_SKILL_BYTES=100", "skill-bytes"),
        ("SKILLWIRE_MAX_DEPTH=1", "folder-depth"),
        ("SKILLWIRE_MAX_ENTRIES=3", "folder-entries"),
    ],
)
def test_the_environment_moves_a_limit(
    good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, setting: str, rule: str
) -> None:
    write_skill(good / "limited", "deep/skill", {"a.txt": "x" * 200, "b.txt": "x"})
    assert cli("check", "limited", "--strict").code == 0
    monkeypatch.setenv(*setting.split("="))
    done = cli("check", "limited", "--json", "--strict")
    assert done.code == 1
    assert rule in [problem["rule"] for problem in done.json]


def test_a_limit_that_is_just_kept_is_no_problem(
    good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill(good / "limited", "skill", {"a.txt": "x"})
    monkeypatch.setenv("SKILLWIRE_MAX_SKILL_FILES", "2")
    monkeypatch.setenv("SKILLWIRE_MAX_SKILL_BYTES", str(len(skill_md("skill")) + 1))
    monkeypatch.setenv("SKILLWIRE_MAX_DEPTH", "1")
    monkeypatch.setenv("SKILLWIRE_MAX_ENTRIES", "3")
    assert cli("check", "limited", "--strict").code == 0


@pytest.mark.parametrize(
    "variable",
    [
        "SKILLWIRE_MAX_SKILL_FILES",
        "SKILLWIRE_MAX_SKILL_BYTES",
        "SKILLWIRE_MAX_DEPTH",
        "SKILLWIRE_MAX_ENTRIES",
    ],
)
@pytest.mark.parametrize(
    "value",
    ["", "0", "000", "-1", "1.5", "1e3", " 5", "many", "²", "9" * 5000],
    ids=lambda text: repr(text[:9]),
)
def test_a_limit_that_is_no_number_is_wrong_usage(
    good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    done = cli("list", "good")
    assert (done.code, done.raw) == (2, b"")
    assert f"`{variable}`" in done.err
    assert "not a whole number above zero" in done.err


# help and usage

OPTIONS = {
    "serve": [
        "--http",
        "--static",
        "--follow-links",
        "--catalog",
        "--catalog-tokens",
        "--config",
        "--no-config",
        "--token-env",
        "--allow-public",
        "--allow-host",
        "--allow-origin",
    ],
    "check": ["--format", "--json", "--strict", "--follow-links"],
    "list": ["--json", "--follow-links"],
    "show": ["--from", "--json"],
    "read": ["--from", "--json", "--raw"],
    "visibility": ["--from", "--assistant", "--user", "--follow-links", "--config", "--json"],
}


def test_every_verb_has_its_options_listed_here() -> None:
    assert set(OPTIONS) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_mentions_every_option(cli: Cli, verb: str) -> None:
    done = cli(verb, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: skillwire {verb} ")
    for option in OPTIONS[verb]:
        assert re.search(rf"{option}\b", done.out)
    assert re.findall(r"--no-[a-z-]+", done.out) == ["--no-config"] * (verb == "serve")


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_shows_examples(cli: Cli, verb: str) -> None:
    shown = cli(verb, "--help").out
    assert "example" in shown.lower()
    assert f"skillwire {verb} ./skills" in shown


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_verb_with_a_line(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.code, done.err) == (0, "")
    for name, verb in VERBS.items():
        assert re.search(rf"\b{name}\b +{re.escape(verb.help)}", done.out)


def test_the_version_is_told(cli: Cli) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", cli("--version").out)


@pytest.mark.parametrize(
    ("verb", "meant"),
    [
        ("serv", "serve"),
        ("chekc", "check"),
        ("lst", "list"),
        ("raed", "read"),
        ("shwo", "show"),
        ("visible", "visibility"),
    ],
)
def test_an_unknown_verb_suggests_the_one_that_was_meant(cli: Cli, verb: str, meant: str) -> None:
    done = cli(verb, "skills")
    assert (done.code, done.raw) == (2, b"")
    assert done.err == f"error: there is no verb `{verb}`\nhint: did you mean `skillwire {meant}`?\n"


def test_an_unknown_verb_like_no_other_points_at_the_help(cli: Cli) -> None:
    assert "hint: `skillwire --help` lists the verbs" in cli("xyzzy").err


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "good", "--nope"],
        ["check", "good", "--format", "yaml"],
        ["check", "good", "--format"],
        ["check", "good", "--strict=maybe"],
        ["list", "good", "--jsn"],
        ["show"],
        ["show", "refunds", "two"],
        ["read"],
        ["read", "refunds", "SKILL.md", "three"],
        ["serve", "good", "--http"],
        ["serve", "good", "--catalog", "prompts"],
        ["serve", "good", "--catalog-tokens", "many"],
        ["visibility"],
        ["visibility", "refunds", "--from", "good", "--user", "maybe"],
        ["--nope"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_points_at_the_help(good: Path, cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.code, done.raw) == (2, b"")
    assert done.err.startswith("error: ")
    assert "--help`" in done.err


# visibility


CONFIG = ("--config", "config.toml")


def test_visibility_shows_who_a_skill_is_for(here: Path, cli: Cli) -> None:
    done = cli("visibility", "refunds", "--from", "skills", *CONFIG)
    assert (done.code, done.err) == (0, "")
    assert done.out == "skill://acme/refunds/SKILL.md: assistant on, user on (by its frontmatter)\n"
    assert not (here / "config.toml").exists()


def test_visibility_is_decided_and_reset_side_by_side(here: Path, cli: Cli) -> None:
    way = ("visibility", "refunds", "--from", "skills", *CONFIG)
    assert "assistant off, user on (decided by you)" in cli(*way, "--assistant", "off").out
    assert "assistant off, user off (decided by you)" in cli(*way, "--user", "off").out
    assert "assistant off, user off (decided by you)" in cli(*way).out
    assert "assistant on, user off (decided by you)" in cli(*way, "--assistant=reset").out
    assert "assistant on, user on (decided by you)" in cli(*way, "--user=on").out
    assert "assistant on, user on (by its frontmatter)" in cli(*way, "--user=reset").out
    assert (here / "config.toml").read_text() == ""


def test_visibility_prints_json_with_exactly_these_keys(here: Path, cli: Cli) -> None:
    done = cli("visibility", "acme/refunds", "--from", "skills", *CONFIG, "--assistant", "off", "--json")
    expected = {"uri": "skill://acme/refunds/SKILL.md", "assistant": False, "user": True, "customized": True}
    assert done.json == expected
    assert list(done.json) == list(expected)


def test_visibility_of_a_folder_is_decided_for_the_uri_that_it_is_served_under(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = "./skills/acme/refunds"
    assert cli("visibility", folder, *CONFIG, "--json").json["uri"] == "skill://refunds/SKILL.md"
    served = "skill://acme/refunds/SKILL.md"
    assert cli("visibility", folder, "--from", "skills", *CONFIG, "--json").json["uri"] == served
    monkeypatch.setenv("SKILLS_DIR", "skills")
    assert cli("visibility", folder, *CONFIG, "--json").json["uri"] == served
    done = cli("visibility", "./skills/odd", "--from", "skills/acme", *CONFIG)
    assert done.code == 1
    assert done.err.startswith("error: `./skills/odd` is in none of the folders to look in\nhint: ")


def test_visibility_is_kept_in_your_own_file_unless_you_name_another(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "mine"))
    assert cli("visibility", "refunds", "--from", "skills", "--user", "off").code == 0
    assert cli("visibility", "refunds", "--from", "skills", "--json").json["user"] is False
    assert cli("visibility", "refunds", "--from", "skills", *CONFIG, "--json").json["user"] is True


@pytest.mark.parametrize("verb", ["visibility", "serve"])
def test_a_corrupt_configuration_file_is_wrong_usage_and_stays_as_it_is(
    good: Path, cli: Cli, verb: str
) -> None:
    (good / "config.toml").write_text("[visibility\n")
    way = (
        ["visibility", "refunds", "--from", "good", "--user", "off"]
        if verb == "visibility"
        else ["serve", "good"]
    )
    done = cli(*way, *CONFIG)
    assert (done.code, done.raw) == (2, b"")
    assert done.err.startswith("error: the configuration file `config.toml` cannot be used: ")
    assert "hint: mend it" in done.err
    assert (good / "config.toml").read_text() == "[visibility\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--config", "a", "--no-config"], "`--config` and `--no-config` contradict each other"),
        (["--catalog-tokens", "-1"], "`--catalog-tokens` is -1"),
    ],
)
def test_serving_options_that_make_no_sense_are_wrong_usage(
    good: Path, cli: Cli, arguments: list[str], told: str
) -> None:
    done = cli("serve", "good", *arguments)
    assert done.code == 2
    assert done.err.startswith(f"error: {told}\nhint: ")


@pytest.mark.parametrize("variable", ["SKILLWIRE_MAX_FILE_SIZE_MB", "MAX_FILE_SIZE_MB"])
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "much", ""])
def test_a_file_size_that_is_no_number_is_wrong_usage(
    good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    done = cli("serve", "good")
    assert done.code == 2
    assert done.err.startswith(f"error: `{variable}` is `{value}`, which is not a whole number above zero\n")


def test_a_configuration_file_that_was_named_and_is_not_there_is_told(good: Path) -> None:
    done = subprocess.run(
        skillwire("serve", "good", *CONFIG),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert b"the configuration file `config.toml` does not exist; nothing is configured" in done.stderr


# the process


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "skills"],
        ["check", "skills", "--json"],
        ["list", "skills"],
        ["show", "./skills/odd"],
        ["read", "./skills/odd"],
        ["visibility", "./skills/odd"],
        ["show", "nothing", "--from", "skills"],
        ["--help"],
        ["check", "--help"],
        ["no-such-verb"],
    ],
    ids=" ".join,
)
def test_only_serving_loads_the_mcp_sdk(here: Path, arguments: list[str]) -> None:
    program = (
        "import sys; from skillwire.cli.app import run; run(sys.argv[1:]);"
        "loaded = {name.partition('.')[0] for name in sys.modules};"
        "sys.exit(str(loaded & {'mcp', 'mcp_types', 'pydantic', 'uvicorn', 'starlette', 'httpx2'}))"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert done.stderr.splitlines()[-1] == b"set()"


@pytest.mark.parametrize(
    "arguments", [["check", "skills", "--json"], ["list", "skills"], ["--help"]], ids=" ".join
)
def test_a_reader_that_had_enough_gets_no_traceback(here: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            skillwire(*arguments), stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
        )
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


# progress


class Terminal(io.StringIO):
    """A stderr that people look at."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("skillwire.cli.progress.time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def test_a_quick_scan_shows_no_progress(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with scanning() as report:
        report(256)
        clock.now += 0.9
        report(512)
    assert terminal.getvalue() == ""


def test_a_slow_scan_shows_how_far_it_is(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with scanning() as report:
        report(256)
        clock.now += 1.1
        report(512)
        assert "looking for skills" in terminal.getvalue()
        report(1024)
    shown = terminal.getvalue()
    assert "1,024 files and folders" in shown
    assert shown.endswith("\x1b[2K")  # and it takes itself away


def test_progress_starts_with_what_was_seen_already(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with scanning() as report:
        clock.now += 1.1
        report(768)
    assert "768 files and folders" in terminal.getvalue()


def test_progress_goes_away_when_a_scan_fails(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())

    def fail() -> None:
        with scanning() as report:
            clock.now += 1.1
            report(1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert terminal.getvalue().endswith("\x1b[2K")


def test_a_slow_scan_into_a_pipe_shows_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", pipe := io.StringIO())
    with scanning() as report:
        clock.now += 100
        report(1_000_000)
    assert pipe.getvalue() == ""
