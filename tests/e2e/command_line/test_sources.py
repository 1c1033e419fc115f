"""What counts as a source on the command line."""

import shutil
from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.skills import write_skill


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
    "argument", ["s3:x", "ftp://host.example/", "mailto:me", "mcp+ftp://host.example/mcp"]
)
def test_an_unknown_kind_of_source_is_refused(good: Path, cli: Cli, argument: str) -> None:
    done = cli("list", argument)
    assert (done.code, done.raw) == (2, b"")
    assert f"`{argument}` is not a known kind of source" in done.err
    for kind in ("archive (./skills.zip)", "folder (./skills)", "repository (github:owner/repo)"):
        assert kind in done.err


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("github:a/b/../../c", "`../../c` is not a folder in the repository"),
        ("github:a", "owner"),
        ("git+ext::sh -c id", "is not `github:owner/repo"),
        ("git+https://host.example/r#/etc", "path"),
        ("http://host.example/", "https"),
        ("https://me:secret@host.example/", ""),
    ],
)
def test_an_address_that_cannot_be_is_wrong_usage(good: Path, cli: Cli, argument: str, reason: str) -> None:
    done = cli("list", argument)
    assert (done.code, done.raw) == (2, b"")
    assert reason in done.err
    assert "hint: " in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize("argument", ["~nobody-of-this-name/x", "~nobody-of-this-name/x,./b", "a" * 5000])
def test_a_path_that_cannot_be_is_wrong_usage(good: Path, cli: Cli, argument: str) -> None:
    for verb in ("list", "serve"):
        done = cli(verb, argument)
        assert (done.code, done.raw) == (2, b"")
        assert "is not a path: " in done.err
        assert "hint: " in done.err


def test_a_local_path_with_a_host_name_is_a_folder(good: Path, cli: Cli) -> None:
    write_skill(good / "github.com/acme", "inside")
    assert [skill["name"] for skill in cli("list", "github.com/acme", "--json").json] == ["inside"]
    assert "`github.com/none` does not exist" in cli("list", "github.com/none").err


def test_an_archive_is_listed_like_its_folder(good: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLWIRE_CACHE_DIR", str(good / "cache"))
    shutil.make_archive("packed", "zip", "good")
    assert [skill["name"] for skill in cli("list", "packed.zip", "--json").json] == ["refunds", "returns"]
    (good / "broken.zip").write_bytes(b"PK but not really")
    done = cli("check", "broken.zip")
    assert done.code == 1
    assert "broken.zip" in done.out
    assert "the archive `none.tar.gz` does not exist" in cli("list", "none.tar.gz").err


def test_an_existing_folder_wins_over_another_kind_of_source(good: Path, cli: Cli) -> None:
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
