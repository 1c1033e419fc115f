"""Help to learn from, and what happens to those who did not read it."""

import re
from pathlib import Path

import pytest

from tests.support.command_line import COMMANDS, Cli
from tests.support.paths import ROOT

PAGE = (ROOT / "docs/command-line.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
"""The section of each command in the documentation."""


def documented(verb: str) -> list[str]:
    return re.findall(r"^\| `(--[a-z-]+)", SECTIONS[verb], re.MULTILINE)


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_lists_exactly_the_documented_options(cli: Cli, verb: str) -> None:
    done = cli(verb, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: skillwire {verb} ")
    shown = re.findall(r"^│ (?:[* ]  )?(--[a-z-]+)", done.out, re.MULTILINE)
    assert sorted(shown) == sorted(documented(verb))


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_fits_into_80_columns(cli: Cli, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, cli(verb, "--help").out.splitlines())) <= 80


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_help_of_a_verb_shows_examples(cli: Cli, verb: str) -> None:
    shown = cli(verb, "--help").out
    assert "example" in shown.lower()
    without_folder = {
        "schema": "--contract",
        "completion": "bash",
        "uninstall": "--client",
        "registry": "log",
        "search": r"[\w ]+ --from \./skills",
    }
    shows = without_folder.get(verb, r"(add |list |remove )?(\./skills|http://127|github)")
    assert re.search(rf"skillwire {verb} {shows}", shown)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_verb_with_a_line(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.code, done.err) == (0, "")
    for name, verb in COMMANDS.items():
        assert re.search(rf"\b{name}\b +{re.escape(verb.help)}", done.out)


def test_the_version_is_printed(cli: Cli) -> None:
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
    assert done.err == f"error: unknown command `{verb}`\nhint: did you mean `skillwire {meant}`?\n"


def test_an_unknown_verb_like_no_other_points_at_the_help(cli: Cli) -> None:
    assert "hint: `skillwire --help` lists the commands" in cli("xyzzy").err


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
        ["serve", "good", "--http=x"],
        ["serve", "good", "--catalog", "prompts"],
        ["serve", "good", "--catalog-tokens", "many"],
        ["project", "good"],
        ["graph", "good", "--format", "svg"],
        ["new"],
        ["schema", "good"],
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


def test_a_source_between_options_is_explained(cli: Cli, good: Path) -> None:
    done = cli("check", "good", "--strict", "other")
    assert done.code == 2
    assert "unexpected argument `other`" in done.err
    assert "side by side" in done.err


def test_help_of_a_command_lists_options_in_groups(cli: Cli) -> None:
    headings = re.findall(r"^╭─ (.+?) ─", cli("serve", "--help").out, re.MULTILINE)
    assert headings[0] == "Arguments"
    assert {"HTTP", "Which skills", "Configuration", "Repository contract", "Live skills"} <= set(headings)
    groups = {command: cli(command, "--help").out for command in ("install", "uninstall", "pack")}
    assert all("╭─ Output " in shown for shown in groups.values())
    assert all("╭─ Clients and entries " in groups[command] for command in ("install", "uninstall"))
    assert "╭─ Result " in groups["pack"]
    assert cli("list", "--help").out.index("╭─ Output ") > cli("list", "--help").out.index("╭─ Servers ")
