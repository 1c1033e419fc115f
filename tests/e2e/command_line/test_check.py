"""`skillwire check`: every problem, where people and programs look for it."""

from pathlib import Path

import pytest

from tests.support.command_line import PROBLEM_KEYS, Cli
from tests.support.skills import write, write_skill


def test_check_prints_every_problem_with_its_place_reason_and_hint(here: Path, cli: Cli) -> None:
    done = cli("check", "skills")
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines.pop(0).startswith("skills/acme/refunds/SKILL.md: body: nothing in the skill mentions ")
    assert lines.pop(0) == "hint: mention it where it is needed, or remove it"
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
    assert done.err == "4 skills can be served; 1 error, 4 warnings\n"


@pytest.mark.parametrize("option", [["--json"], ["--format", "json"], ["--format=json"]], ids=" ".join)
def test_check_prints_json_with_exactly_these_keys(here: Path, cli: Cli, option: list[str]) -> None:
    done = cli("check", "skills", *option)
    assert done.code == 1
    assert [list(problem) for problem in done.json] == [PROBLEM_KEYS] * 5
    assert done.json[1] == {
        "path": "broken/SKILL.md",
        "line": 2,
        "field": "name",
        "rule": "name-format",
        "severity": "error",
        "message": "`Broken Name` is not lowercase letters, digits and single hyphens (1-64 characters)",
        "hint": "write `name: broken`, the name of its folder",
    }
    assert done.err == "4 skills can be served; 1 error, 4 warnings\n"


def test_check_of_good_skills_prints_nothing_on_stdout(good: Path, cli: Cli) -> None:
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


def test_check_names_the_folder_of_each_problem(here: Path, cli: Cli) -> None:
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


@pytest.mark.parametrize(
    "arguments", [["check"], ["list"], ["serve", "--static"], ["show", "x", "--from"]], ids=" ".join
)
def test_a_folder_that_is_not_there_is_wrong_usage(good: Path, cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments, "no-such-folder")
    assert (done.code, done.raw) == (2, b"")
    assert done.err.startswith("error: the folder `no-such-folder` does not exist")
    assert "\nhint: " in done.err
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


# The text of a skill, and the files that it mentions

STEPS = "---\nname: orders\ndescription: Does orders.\n---\n\n# Steps\n\n"
TEXT_RULES = ["link-missing", "link-case", "file-unreferenced", "body-length", "script-mode"]


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A skill with a document, a script and data, in the folder `skills` of the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "skills/orders"
    files = {"references/policy.md": "x", "scripts/total.sh": "echo 1\n", "assets/logo.svg": "<svg/>"}
    return write(folder, {"SKILL.md": STEPS, **files})


@pytest.mark.parametrize("options", [[], ["--contract"]], ids=["plain", "contract"])
def test_texts_are_checked_with_and_without_the_contract(orders: Path, cli: Cli, options: list[str]) -> None:
    body = "Read [the policy](references/polcy.md).\n\nRun `scripts/total.sh`.\n" + "More.\n" * 500
    write(orders, {"SKILL.md": STEPS + body})
    found = [each for each in cli("check", "skills", *options, "--json").json if each["rule"] in TEXT_RULES]
    assert [(each["rule"], each["line"], each["severity"]) for each in found] == [
        ("file-unreferenced", None, "warning"),
        ("body-length", None, "warning"),
        ("link-missing", 8, "warning"),
        ("script-mode", 10, "warning"),
    ]
    (orders / "scripts/total.sh").chmod(0o755)
    left = {each["rule"] for each in cli("check", "skills", *options, "--json").json}
    assert "script-mode" not in left


def test_a_warning_about_a_text_fails_only_with_strict(orders: Path, cli: Cli) -> None:
    write(orders, {"SKILL.md": f"{STEPS}Read [it](references/policy.md), then run `sh scripts/TOTAL.sh`.\n"})
    done = cli("check", "skills")
    assert (done.code, done.err) == (0, "1 skill can be served; 0 errors, 1 warning\n")
    assert done.out.startswith("skills/orders/SKILL.md:8: body: the text refers to `scripts/TOTAL.sh`, but ")
    assert "hint: write `scripts/total.sh`, or rename the file" in done.out
    assert "(warning: link-case)" in done.out
    assert cli("check", "skills", "--strict").code == 1


def test_a_file_that_only_names_itself_is_still_unreferenced(orders: Path, cli: Cli) -> None:
    write(
        orders,
        {"SKILL.md": f"{STEPS}`sh scripts/total.sh`\n", "references/policy.md": "This is policy.md.\n"},
    )
    (found,) = cli("check", "skills", "--json").json
    assert (found["rule"], "`references/policy.md`" in found["message"]) == ("file-unreferenced", True)
    write(orders, {"references/index.md": "See policy.md.\n"})
    (left,) = cli("check", "skills", "--json").json
    assert "`references/index.md`" in left["message"]
    write(orders, {"scripts/total.sh": "cat ../references/*.md\n"})
    assert cli("check", "skills", "--json").json == []


def test_a_link_to_another_skill_is_not_dead(orders: Path, cli: Cli) -> None:
    write_skill(orders.parent, "returns")
    text = "`references/` `scripts/`, [other](../returns/SKILL.md), [gone](../nobody/SKILL.md)\n"
    write(orders, {"SKILL.md": f"{STEPS}{text}"})
    for checked in ("skills", "skills/orders"):
        (found,) = cli("check", checked, "--json").json
        assert "`../nobody/SKILL.md`" in found["message"]


def test_texts_of_several_sources_have_the_label_in_their_path(orders: Path, cli: Cli) -> None:
    write_skill(orders.parents[1] / "more", "plain")
    found = cli("check", "skills", "more", "--json").json
    assert {each["path"] for each in found} == {"skills/orders/SKILL.md"}
    assert {each["rule"] for each in found} == {"file-unreferenced"}


def test_a_server_does_not_report_problems_of_texts(orders: Path, cli: Cli) -> None:
    assert cli("check", "skills", "--json").json != []
    assert cli("show", "skills/orders", "--json").json["problems"] == []
