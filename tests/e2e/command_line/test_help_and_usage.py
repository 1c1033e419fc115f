"""Help to learn from, and what happens to those who did not read it."""

import re
from pathlib import Path

import pytest

from tests.support.command_line import COMMANDS, Cli

CONFIG = ("--config", "--with-config", "--no-config")
OPTIONS = {
    "serve": [
        "--http",
        "--static",
        "--prefix",
        "--follow-links",
        "--only",
        "--exclude",
        "--catalog",
        "--catalog-tokens",
        "--tools",
        "--prompt-content",
        "--prompts",
        "--prompt-tokens",
        "--archives",
        "--list-nonconforming",
        "--legacy-uris",
        "--contract",
        "--tolerant",
        "--block-key",
        "--config",
        "--with-config",
        "--no-config",
        "--drive",
        "--token-env",
        "--allow-public",
        "--allow-host",
        "--allow-origin",
    ],
    "bridge": [
        "--trust",
        "--only",
        "--exclude",
        "--http",
        "--catalog",
        "--catalog-tokens",
        "--prompt-content",
        "--list-nonconforming",
        "--allow",
        "--server-token-env",
        "--token-env",
        "--allow-public",
        "--allow-host",
        "--allow-origin",
    ],
    "check": [
        "--format",
        "--json",
        "--strict",
        "--contract",
        "--block-key",
        "--fix",
        "--yes",
        "--changed-since",
        "--follow-links",
        *CONFIG,
    ],
    "list": [
        *("--json", "--filter", "--paths", "--problems", "--no-pager", "--follow-links"),
        *(*CONFIG, "--allow", "--token-env"),
    ],
    "show": ["--from", "--json", *CONFIG, "--allow", "--token-env"],
    "read": ["--from", "--json", "--raw", *CONFIG, "--allow", "--token-env"],
    "servers": ["--probe", "--forget", "--allow", "--token-env", "--json"],
    "login": [
        "--scope",
        "--no-browser",
        "--client-id",
        "--client-secret-env",
        "--port",
        "--timeout",
        "--allow-private",
        "--allow",
    ],
    "logout": [],
    "verify": [
        "--surfaces",
        "--require-digests",
        "--no-drafts",
        "--timeout",
        "--token-env",
        "--allow",
        "--json",
    ],
    "diff": ["--from", "--allow", "--token-env", "--summary", "--no-pager", "--json"],
    "approve": ["--from", "--yes", "--no-pager", "--allow", "--token-env", "--json"],
    "revoke": ["--yes"],
    "pull": [
        *("--all", "--only", "--from", "--force", "--into-client-folder", "--max-bytes"),
        *("--allow", "--token-env", "--json"),
    ],
    "cache": ["--json"],
    "sources": ["--label", "--prefix", "--token-env", "--config", "--json"],
    "publish": ["--out", "--json", "--follow-links", "--only", "--exclude", *CONFIG],
    "project": ["--out", "--check", "--json", "--block-key", "--follow-links", *CONFIG],
    "graph": ["--format", "--json", "--block-key", "--follow-links", *CONFIG],
    "new": ["--contract", "--block-key"],
    "schema": ["--contract", "--block-key"],
    "visibility": [
        "--from",
        "--assistant",
        "--user",
        "--follow-links",
        "--config",
        "--with-config",
        "--json",
    ],
    "drive": ["--client", "--token-env", "--json"],
    "install": [
        "--client",
        "--scope",
        "--name",
        "--yes",
        "--dry-run",
        "--print",
        "--replace",
        "--config",
        "--with-config",
        "--no-config",
    ],
    "uninstall": ["--client", "--name", "--scope", "--yes", "--dry-run"],
}


def test_every_verb_has_its_options_listed_here() -> None:
    assert set(OPTIONS) == set(COMMANDS)


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_of_a_command_mentions_every_option(cli: Cli, verb: str) -> None:
    done = cli(verb, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: skillwire {verb} ")
    for option in OPTIONS[verb]:
        assert re.search(rf"{option}\b", done.out)
    switches = {
        **{each: ["--no-config"] for each, options in OPTIONS.items() if "--no-config" in options},
        "login": ["--no-browser"],
        "serve": ["--no-drafts", "--no-config", "--no-cache", "--no-well-known"],
        "install": ["--no-config"],
        "verify": ["--no-drafts"],
        "bridge": ["--no-drafts", "--no-well-known"],
        "list": ["--no-pager", "--no-config"],
        "diff": ["--no-pager"],
        "approve": ["--no-pager"],
    }
    expected = switches.get(verb, [])
    assert re.findall(r"--no-[a-z-]+", done.out) == expected


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_help_of_a_verb_shows_examples(cli: Cli, verb: str) -> None:
    shown = cli(verb, "--help").out
    assert "example" in shown.lower()
    without_folders = {"schema": "--contract", "uninstall": "--client"}
    shows = without_folders.get(verb, r"(add |tree |purge )?(\./skills|http://127|github)")
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
