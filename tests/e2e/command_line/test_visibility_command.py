"""`skillwire visibility`: who may start a skill."""

import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import Cli, on_terminal
from tests.support.peers import PATIENCE, skillwire

CONFIG = ("--config", "config.toml")


def test_visibility_shows_who_a_skill_is_for(here: Path, cli: Cli) -> None:
    done = cli("visibility", "refunds", "--from", "skills", *CONFIG)
    assert (done.code, done.err) == (0, "")
    assert done.out == "skill://acme/refunds/SKILL.md: assistant on, user on (from its frontmatter)\n"
    assert not (here / "config.toml").exists()


def test_visibility_is_decided_and_reset_side_by_side(here: Path, cli: Cli) -> None:
    way = ("visibility", "refunds", "--from", "skills", *CONFIG)
    assert "assistant off, user on (set by you)" in cli(*way, "--assistant", "off").out
    assert "assistant off, user off (set by you)" in cli(*way, "--user", "off").out
    assert "assistant off, user off (set by you)" in cli(*way).out
    assert "assistant on, user off (set by you)" in cli(*way, "--assistant=reset").out
    assert "assistant on, user on (set by you)" in cli(*way, "--user=on").out
    assert "assistant on, user on (from its frontmatter)" in cli(*way, "--user=reset").out
    assert (here / "config.toml").read_text() == ""


def test_visibility_prints_json_with_exactly_these_keys(here: Path, cli: Cli) -> None:
    done = cli("visibility", "acme/refunds", "--from", "skills", *CONFIG, "--assistant", "off", "--json")
    expected = {"uri": "skill://acme/refunds/SKILL.md", "assistant": False, "user": True, "customized": True}
    assert done.json == expected
    assert list(done.json) == list(expected)


def test_visibility_of_a_folder_applies_to_its_served_uri(
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
    assert done.err.startswith("error: `./skills/odd` is not in any source that is served\nhint: ")


def test_visibility_is_kept_in_the_personal_file_by_default(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "mine"))
    assert cli("visibility", "refunds", "--from", "skills", "--user", "off").code == 0
    assert cli("visibility", "refunds", "--from", "skills", "--json").json["user"] is False
    assert cli("visibility", "refunds", "--from", "skills", *CONFIG, "--json").json["user"] is True


@pytest.mark.parametrize("verb", ["visibility", "serve"])
def test_a_corrupt_configuration_file_is_wrong_usage(good: Path, cli: Cli, verb: str) -> None:
    (good / "config.toml").write_text("[visibility\n")
    way = (
        ["visibility", "refunds", "--from", "good", "--user", "off"]
        if verb == "visibility"
        else ["serve", "good"]
    )
    done = cli(*way, *CONFIG)
    assert (done.code, done.raw) == (2, b"")
    assert done.err.startswith("error: the configuration file `config.toml` cannot be used: ")
    assert "hint: fix it" in done.err
    assert (good / "config.toml").read_text() == "[visibility\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--config", "a", "--no-config"], "`--config` and `--no-config` contradict each other"),
        (["--catalog-tokens", "-1"], "`--catalog-tokens` is -1, which is negative"),
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
    assert done.err.startswith(f"error: `{variable}` is `{value}`, which is not a whole number above 0\n")


def test_a_missing_named_configuration_file_is_reported(good: Path) -> None:
    done = subprocess.run(
        skillwire("serve", "good", *CONFIG),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert b"the configuration file `config.toml` does not exist; nothing is configured" in done.stderr


def test_a_pattern_changes_every_skill_that_matches(here: Path, cli: Cli) -> None:
    way = ("visibility", "twins/*", "refunds", "--from", "skills", *CONFIG)
    (here / "config.toml").write_text('# mine\n[visibility]\n"skill://x/SKILL.md" = { user = false }\n')
    refused = cli(*way, "--assistant", "off")
    assert refused.code == 2
    assert "hint: add `--yes`" in refused.err
    told = "skill://acme/refunds/SKILL.md: assistant on, user on -> assistant off, user on"
    assert told in refused.err.splitlines()
    done = cli(*way, "--assistant", "off", "--yes", "--json")
    assert [(each["uri"], each["assistant"]) for each in done.json] == [
        ("skill://twins/one/twin/SKILL.md", False),
        ("skill://twins/two/twin/SKILL.md", False),
        ("skill://acme/refunds/SKILL.md", False),
    ]
    assert len(cli("visibility", "*", "--from", "skills", *CONFIG).out.splitlines()) == 4
    assert cli(*way, "--assistant", "reset", "--yes").out.count("from its frontmatter") == 3
    assert '"skill://x/SKILL.md" = { user = false }' in (here / "config.toml").read_text()


def test_a_pattern_without_a_skill_changes_nothing(here: Path, cli: Cli) -> None:
    done = cli("visibility", "refunds", "none-*", "--from", "skills", *CONFIG, "--user", "off", "--yes")
    assert (done.code, "no skill matches `none-*`" in done.err) == (1, True)
    assert not (here / "config.toml").exists()


def test_people_are_asked_before_several_skills_change(here: Path, cli: Cli) -> None:
    way = ("visibility", "twin*", "--from", "skills", *CONFIG)
    code, shown = on_terminal(*way, "--user", "off", typed=b"n\n")
    assert (code, b"change 2 skills? [y/N]" in shown) == (1, True)
    assert not (here / "config.toml").exists()
