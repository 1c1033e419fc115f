"""Which skill a person means: a folder, a URI, a path or a name."""

import re
from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.skills import skill_md, write_skill

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
def test_an_argument_both_folder_and_name_is_wrong_usage(here: Path, cli: Cli, verb: str) -> None:
    write_skill(here, "refunds")
    done = cli(verb, "refunds", "--from", "skills")
    assert (done.code, done.raw) == (2, b"")
    assert "`refunds` is both a folder and the name of a skill" in done.err
    assert "`./refunds`" in done.err
    assert "`skill://acme/refunds/SKILL.md`" in done.err
    if verb != "visibility":  # which asks for a folder that is served
        assert cli(verb, "./refunds", "--from", "skills").code == 0
    assert cli(verb, "skill://acme/refunds/SKILL.md", "--from", "skills").code == 0


def test_folder_that_is_the_named_skill_is_not_ambiguous(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLS_DIR", str(here / "skills"))
    shown = cli("show", "skills/acme/refunds")  # the path, and the label `skills` with the path of the skill
    assert (shown.code, shown.out.splitlines()[0]) == (0, "refunds")


@pytest.mark.parametrize(
    "skill",
    [
        "/acme/refunds/skill.md",
        "./refunds/SKILL.md",
        "skills:refunds",
        "skills:acme/refunds",
        "acme/refunds/SKILL.md",
    ],
)
@pytest.mark.parametrize("by_variable", [False, True])
def test_spellings_in_the_text_of_a_skill_are_found(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, skill: str, *, by_variable: bool
) -> None:
    where = [] if by_variable else ["--from", "skills"]
    if by_variable:
        monkeypatch.setenv("SKILLS_DIR", str(here / "skills"))
    if not by_variable or ":" not in skill:  # without a source, `label:name` is a server's skill
        assert cli("read", skill, *where).raw == skill_md("refunds")
        assert cli("show", skill, *where).code == 0


@pytest.mark.parametrize("verb", ["show", "read", "visibility"])
def test_a_shared_name_is_wrong_usage_and_lists_both_skills(here: Path, cli: Cli, verb: str) -> None:
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


def test_an_unknown_skill_gets_a_hint_where_to_look(here: Path, cli: Cli) -> None:
    done = cli("show", "zzzz", "--from", "skills")
    assert done.code == 1
    assert "`skillwire list`" in done.err
    assert "`--from SOURCE`" in done.err


@pytest.mark.parametrize("verb", ["show", "read", "visibility"])
@pytest.mark.parametrize("way", [["./skills/broken"], ["broken", "--from", "skills"]], ids=" ".join)
def test_a_broken_skill_shows_its_problems(here: Path, cli: Cli, verb: str, way: list[str]) -> None:
    done = cli(verb, *way)
    assert (done.code, done.raw) == (1, b"")
    assert done.err.startswith("error: ")
    assert "SKILL.md:2: name: `Broken Name` is not " in done.err
    assert "hint: write `name: broken`" in done.err


def test_a_folder_of_skills_gets_the_hint_to_list_it(good: Path, cli: Cli) -> None:
    done = cli("show", "./good")
    assert done.code == 1
    assert "`skillwire list ./good`" in done.err


def test_a_missing_source_is_wrong_usage_even_beside_a_folder(good: Path, cli: Cli) -> None:
    write_skill(good, "here")
    done = cli("show", "here", "--from", "no-such-folder")
    assert done.code == 2
    assert "`no-such-folder` does not exist" in done.err
