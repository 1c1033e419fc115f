"""`skillwire sources`: what is served every time, kept in the configuration."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli, on_terminal
from tests.support.git_fetchers import plain_git, skill
from tests.support.git_server import Origin
from tests.support.skills import write_skill


@pytest.fixture
def config(good: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(good / "config"))
    monkeypatch.setenv("SKILLWIRE_CACHE_DIR", str(good / "cache"))
    plain_git(monkeypatch)
    return good / "config/skillwire/config.toml"


def written(config: Path) -> Any:
    return tomllib.loads(config.read_text())


def names(cli: Cli, *arguments: str) -> list[str]:
    return [each["name"] for each in cli("list", *arguments, "--json").json]


def test_a_source_is_added_listed_served_and_removed(config: Path, good: Path, cli: Cli) -> None:
    assert cli("sources").raw == b""
    assert cli("sources", "add", "good").code == 0
    assert written(config) == {"sources": [{"source": str(good / "good")}]}
    (row,) = cli("sources", "list", "--json").json
    assert row == {
        "label": "good",
        "kind": "folder",
        "source": str(good / "good"),
        "given_by": "configuration",
        "state": "there",
    }
    assert names(cli) == ["refunds", "returns"]
    assert cli("sources", "remove", "good").code == 0
    assert written(config) == {}


def test_what_is_named_is_looked_at_alone(config: Path, good: Path, cli: Cli) -> None:
    write_skill(good / "more", "other")
    cli("sources", "add", "good")
    assert names(cli, "more") == ["other"]


def test_configured_sources_join_named_ones_only_on_request(config: Path, good: Path, cli: Cli) -> None:
    write_skill(good / "more", "other")
    cli("sources", "add", "good")
    assert names(cli, "more", "--with-config") == ["other", "refunds", "returns"]
    assert names(cli, "--no-config", "more") == ["other"]
    assert cli("check", "more").err.startswith("1 skill ")
    assert cli("check", "more", "--with-config").err.startswith("3 skills ")
    assert "1 skill published" in cli("publish", "more", "--out", "one").err
    assert "3 skills published" in cli("publish", "more", "--with-config", "--out", "all").err
    assert cli("graph", "more").err.startswith("1 skill;")
    assert cli("graph", "more", "--with-config").err.startswith("3 skills;")
    for command in ("show", "read"):
        assert cli(command, "refunds", "--from", "more").code == 1
        assert cli(command, "refunds", "--from", "more", "--with-config").code == 0
        assert cli(command, "refunds", "--no-config").code == 2


def test_the_environment_and_the_configuration_belong_together(
    config: Path, good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLS_DIR", "more")
    write_skill(good / "more", "other")
    cli("sources", "add", "good")
    assert names(cli) == ["other", "refunds", "returns"]
    assert names(cli, "--no-config") == ["other"]


def test_no_config_reports_the_restrictions_that_it_ignores(config: Path, good: Path, cli: Cli) -> None:
    assert cli("list", "good", "--no-config").err == ""
    config.parent.mkdir(parents=True)
    config.write_text("[limits]\nbytes = 10\n[visibility.'skill://a/SKILL.md']\nuser = false\n")
    done = cli("list", "good", "--no-config")
    assert done.code == 0
    assert done.err == (
        f"`--no-config` ignores the configuration file `{config}`, "
        "also its limits and the visibility of 1 skill\n"
    )
    config.write_text("[[sources]\n")
    assert cli("list", "good", "--no-config").err == ""
    assert cli("list", "good").code == 2


@pytest.mark.parametrize("option", ["--with-config", "--config=other.toml"])
def test_options_of_the_configuration_that_contradict_are_refused(
    config: Path, cli: Cli, option: str
) -> None:
    done = cli("list", "good", "--no-config", option)
    assert done.code == 2
    assert "and `--no-config` contradict each other" in done.err


def test_sources_of_the_environment_are_shown_and_not_removable(
    config: Path, good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLS_DIR", "good")
    write_skill(good / "more", "other")
    cli("sources", "add", "more")
    assert [row["given_by"] for row in cli("sources", "--json").json] == ["environment", "configuration"]
    assert names(cli) == ["refunds", "returns", "other"]
    done = cli("sources", "remove", "good")
    assert done.code == 2
    assert "no source `good`" in done.err


def test_options_are_kept_and_used(config: Path, good: Path, cli: Cli) -> None:
    assert cli("sources", "add", "good", "--label", "mine", "--prefix", "acme/team").code == 0
    assert written(config)["sources"] == [
        {"source": str(good / "good"), "label": "mine", "prefix": "acme/team"}
    ]
    uris = [each["uri"] for each in cli("list", "--json").json]
    assert uris == ["skill://acme/team/refunds/SKILL.md", "skill://acme/team/returns/SKILL.md"]


def test_a_repository_is_fetched_by_update(config: Path, good: Path, cli: Cli) -> None:
    origin = Origin(good / "origin")
    commit = origin.commit(skill("first"))
    cli("sources", "add", f"git+file://{origin.folder}", "--label", "repo")
    assert cli("sources", "--json").json[0]["state"] == "not fetched yet"
    done = cli("sources", "update")
    assert (done.code, done.out) == (0, f"repo\tfetched, {commit[:12]}\n")
    assert cli("sources", "--json").json[0]["state"] == f"fetched, {commit[:12]}"
    assert names(cli) == ["first"]
    origin.folder.rename(good / "away")
    done = cli("sources", "update", "--json")
    assert done.code == 1
    assert done.json[0]["error"]
    assert names(cli) == ["first"]  # the last good copy


@pytest.mark.parametrize("login", ["me:hunter2", "hunter2", "hunter2:"])
def test_a_token_in_an_address_is_never_written(config: Path, cli: Cli, login: str) -> None:
    done = cli("sources", "add", f"git+https://{login}@host.example/r.git")
    assert done.code == 2
    assert "--token-env" in done.err
    assert "hunter2" not in done.err
    assert not config.exists()


def test_a_missing_token_affects_only_its_source(config: Path, good: Path, cli: Cli) -> None:
    assert cli("sources", "add", "git+https://host.example/r.git", "--token-env", "NOT_SET").code == 0
    assert written(config)["sources"][0]["token-env"] == "NOT_SET"
    assert cli("sources", "add", "good").code == 0
    assert cli("sources").code == 0
    done = cli("list", "--json")
    assert [each["name"] for each in done.json] == ["refunds", "returns"]
    assert "1 problem keeps skills from being served" in done.err
    assert "`NOT_SET` is empty or not set" in cli("check").out
    done = cli("sources", "update")
    assert done.code == 1
    assert "`NOT_SET` is empty or not set" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add"], "requires exactly one source"),
        (["add", "good", "good"], "requires exactly one source"),
        (["add", "nowhere"], "`nowhere` does not exist"),
        (["add", "git+file:///no/such/repository"], "`git+file:///no/such/repository` does not exist"),
        (["add", "s3:x"], "is not a known kind of source"),
        (["add", "github:a"], "hint: for example `github:owner/repo`"),
        (["add", "good", "--prefix", "../x"], "the prefix `../x`"),
        (["add", "good", "--label", "a/b"], "the label `a/b`"),
        (["remove"], "name the source to remove"),
        (["remove", "nobody"], "has no source `nobody`"),
        (["update", "nobody"], "there is no source `nobody`"),
        (["list", "--label", "x"], "`--label` is only for `sources add`"),
        (["paint"], "paint"),
    ],
)
def test_wrong_usage_is_explained(config: Path, cli: Cli, arguments: list[str], said: str) -> None:
    done = cli("sources", *arguments)
    assert (done.code, done.raw) == (2, b"")
    assert said in done.err
    assert not config.exists()


def test_the_same_source_is_not_added_twice(config: Path, cli: Cli) -> None:
    cli("sources", "add", "good")
    before = config.read_bytes()
    assert cli("sources", "add", "./good").code == 2
    assert config.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sources = 5\n", "`sources` is not a list of `[[sources]]` tables"),
        ("sources = ['./x']\n", "`sources` is not a list of `[[sources]]` tables"),
        ("[[sources]]\nlabel = 'x'\n", "`source` of source number 1 is not a string"),
        ("[[sources]]\nsource = './x'\ntoken-env = 5\n", "`token-env` of source number 1 is not a string"),
        ("allowed-origins = 'x'\n", "`allowed-origins` is not a list of strings"),
        ("[limits]\nfile = 5\n", "`file`"),
        ("[limits]\nfiles = 0\n", "the limit `files` is not a whole number above 0"),
        ("[limits]\nfiles = true\n", "the limit `files` is not a whole number above 0"),
        ("limits = 3\n", "`limits` is not a table"),
    ],
)
def test_an_invalid_configuration_is_refused_and_not_overwritten(
    config: Path, cli: Cli, text: str, reason: str
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(text)
    for arguments in (["sources", "add", "good"], ["sources"], ["serve", "good"], ["list"]):
        done = cli(*arguments)
        assert done.code == 2, arguments
        assert reason in done.err
    assert config.read_text() == text


def test_limits_of_the_configuration_hold_and_the_environment_wins(
    config: Path, good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill(good / "good", "large", {f"{number}.md": "x" for number in range(5)})
    config.parent.mkdir(parents=True)
    config.write_text(f"[limits]\nfiles = 3\n[[sources]]\nsource = '{good / 'good'}'\n")
    assert names(cli) == ["refunds", "returns"]
    monkeypatch.setenv("SKILLWIRE_MAX_SKILL_FILES", "10")
    assert names(cli) == ["large", "refunds", "returns"]


def test_a_skill_of_a_configured_source_can_be_read(config: Path, cli: Cli) -> None:
    cli("sources", "add", "good", "--prefix", "acme")
    assert cli("show", "refunds", "--json").json["uri"] == "skill://acme/refunds/SKILL.md"
    assert cli("read", "refunds").code == 0
    assert cli("visibility", "refunds", "--json").json["uri"] == "skill://acme/refunds/SKILL.md"


def test_another_configuration_has_its_own_sources(config: Path, good: Path, cli: Cli) -> None:
    write_skill(good / "more", "other")
    other = good / "other.toml"
    assert cli("sources", "add", "more", "--config", other).code == 0
    assert cli("visibility", "other", "--config", other, "--user", "off").code == 0
    assert "skill://other/SKILL.md" in written(other)["visibility"]


def test_limits_hold_for_what_is_named_too(config: Path, good: Path, cli: Cli) -> None:
    config.parent.mkdir(parents=True)
    config.write_text("[limits]\nbytes = 10\n")
    assert cli("check", "good").code == 1


def test_a_terminal_shows_a_table(config: Path, cli: Cli) -> None:
    cli("sources", "add", "good")
    code, shown = on_terminal("sources", columns=160)
    assert code == 0
    assert b"folder, configuration, there" in shown


@pytest.mark.parametrize("text", ["sources = []\n", "sources = [{source = '/nowhere'}]\n"])
def test_sources_in_a_list_written_by_hand_stay_in_it(config: Path, good: Path, cli: Cli, text: str) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(f"# mine\n{text}")
    before = written(config)["sources"]
    assert cli("sources", "add", "good").code == 0
    assert written(config)["sources"] == [*before, {"source": str(good / "good")}]
    assert config.read_text().startswith("# mine\n")
    assert cli("sources", "remove", "good").code == 0
    assert written(config).get("sources", []) == before


def test_a_label_that_was_chosen_is_kept(config: Path, good: Path, cli: Cli) -> None:
    write_skill(good / "more", "other")
    cli("sources", "add", "more", "--label", "good")
    listed = cli("list", "good", "--json").json
    assert len(listed) == 2
    rows = {row["source"]: row["label"] for row in cli("sources", "--json").json}
    assert rows[str(good / "more")] == "good"


def test_a_relative_folder_begins_where_the_file_is(config: Path, good: Path, cli: Cli) -> None:
    write_skill(config.parent / "mine", "other")
    config.write_text("[[sources]]\nsource = 'mine'\n")
    assert names(cli) == ["other"]
    assert cli("sources", "remove", "mine").code == 0


@pytest.mark.parametrize("action", ["list", "update"])
@pytest.mark.parametrize("name", ["good", "./good", "mine"])
def test_an_action_accepts_a_folder_as_it_was_added(config: Path, cli: Cli, action: str, name: str) -> None:
    cli("sources", "add", "./good", "--label", "mine")
    done = cli("sources", action, name)
    assert (done.code, done.out.split("\t")[0]) == (0, "mine")


def test_updating_a_folder_says_that_nothing_is_fetched(config: Path, cli: Cli) -> None:
    cli("sources", "add", "good")
    done = cli("sources", "update")
    assert (done.code, done.out) == (0, "good\tthere, nothing to fetch\n")
    assert done.err == "0 sources fetched\n"


@pytest.mark.parametrize(
    "arguments", [["sources", "remove", "good"], ["sources", "add", "x"], ["cache", "remove"]]
)
def test_json_is_refused_where_nothing_is_printed(config: Path, cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments, "--json")
    assert done.code == 2
    assert "prints no JSON" in done.err
