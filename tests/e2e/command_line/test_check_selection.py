"""`skillwire check` with selected rules, other severities and a baseline."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tests.support.git_server import git
from tests.support.skills import write, write_skill

BASELINE = ("check", "skills", "--baseline", "old.json")


@pytest.fixture
def skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a skill that has an error, one with warnings, and a good one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "skills"
    write_skill(folder, "good")
    write(folder / "broken", {"SKILL.md": "---\nname: broken\n---\n"})
    text = "---\nname: odd\ndescription: x\n---\n\n[a](a.md), [b](b.md)\n"
    write(folder / "odd", {"SKILL.md": text})
    return folder


def rules(found: Any) -> list[str]:
    return [each["rule"] for each in found]


def test_only_selected_rules_are_reported(skills: Path, cli: Cli) -> None:
    assert rules(cli("check", "skills", "--json").json) == [
        "description-missing",
        "link-missing",
        "link-missing",
    ]
    done = cli("check", "skills", "--json", "--select", "link")
    assert (done.code, rules(done.json)) == (0, ["link-missing"] * 2)
    done = cli("check", "skills", "--json", "--ignore", "link,name")
    assert (done.code, rules(done.json)) == (1, ["description-missing"])
    done = cli("check", "skills", "--severity", "link-missing=error,description=off")
    assert done.code == 1
    assert done.out.count("(error: link-missing)") == 2
    assert done.err == "2 skills can be served; 2 errors, 0 warnings\n"


def test_rules_that_are_not_checked_are_named(skills: Path, cli: Cli) -> None:
    notice = "the selected rules are checked only with `--contract`"
    assert notice in cli("check", "skills", "--select", "contract").err
    for options in (
        ["--select", "contract", "--contract"],
        ["--select", "contract,link"],
        ["--ignore", "all"],
    ):
        assert notice not in cli("check", "skills", *options).err


@pytest.mark.parametrize("kind", ["text", "json", "sarif", "github"])
def test_every_format_reports_the_same_selection(skills: Path, cli: Cli, kind: str) -> None:
    done = cli("check", "skills", "--format", kind, "--ignore", "link", "--severity", "description=warning")
    assert done.code == 0
    assert "link-missing" not in done.out
    assert "description-missing" in done.out
    assert "error" not in done.out.replace('"level": "error"', "error")


def test_an_unknown_rule_is_wrong_usage(skills: Path, cli: Cli) -> None:
    done = cli("check", "skills", "--select", "link-mising")
    assert (done.code, done.raw) == (2, b"")
    assert done.err == (
        "error: `--select`: there is no rule `link-mising`\nhint: did you mean `link-missing`?\n"
    )


def test_the_configuration_file_selects_rules_too(skills: Path, cli: Cli) -> None:
    config = skills.parent / "skillwire.toml"
    config.write_text('[check]\nignore = ["description"]\nbaseline = "old.json"\n')
    assert cli("check", "skills", "--config", config, "--write-baseline").code == 0
    assert len(json.loads((skills.parent / "old.json").read_text())["problems"]) == 2
    assert cli("check", "skills", "--config", config, "--json").json == []
    assert rules(cli("check", "skills", "--config", config, "--ignore", "link", "--json").json) == [
        "description-missing"
    ]


# A baseline


def test_old_problems_are_counted_and_new_ones_reported(skills: Path, cli: Cli) -> None:
    done = cli(*BASELINE, "--write-baseline")
    assert (done.code, done.raw) == (0, b"")
    assert "`old.json`: 3 problems written\n" in done.err
    file = skills / "odd/SKILL.md"
    file.write_text(file.read_text().replace("---\n\n[a]", "---\n\nMore text.\n\n[c](c.md) [a]"))
    for kind in ("text", "json", "sarif", "github"):
        done = cli(*BASELINE, "--strict", "--format", kind)
        assert done.code == 1
        assert "`old.json`: 3 old problems not reported\n" in done.err
        assert done.out.count("c.md") == 1
        assert "a.md" not in done.out
    assert [each["name"] for each in cli("list", "skills", "--json").json] == ["good", "odd"]


def test_a_baseline_holds_wherever_the_check_runs(
    skills: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*BASELINE, "--write-baseline").code == 0
    assert cli("check", "skills/odd", "--baseline", "old.json", "--json").json == []
    assert cli("check", skills, "--baseline", skills.parent / "old.json", "--json").json == []
    monkeypatch.chdir(skills / "odd")
    done = cli("check", ".", "--baseline", "../../old.json", "--json")
    assert (done.json, done.err.count("no longer")) == ([], 0)


def test_entries_that_no_longer_occur_are_named_and_pruned(skills: Path, cli: Cli) -> None:
    cli(*BASELINE, "--write-baseline")
    write_skill(skills, "broken")
    done = cli(*BASELINE)
    assert done.code == 0
    assert (
        "`old.json`: 1 entry no longer occurs, such as "
        "`skills/broken/SKILL.md: description: description-missing`; `--prune` removes old entries\n"
    ) in done.err
    for partial in (["--select", "link"], ["--changed-since", "HEAD"]):
        git("init", "-q", cwd=skills.parent)
        git("add", "-A", cwd=skills.parent)
        git("commit", "-q", "--allow-empty", "-m", "skills", cwd=skills.parent)
        assert "no longer" not in cli(*BASELINE, *partial).err
    assert "1 entry removed" in cli(*BASELINE, "--prune").err
    assert "no longer" not in cli(*BASELINE).err
    write(skills / "broken", {"SKILL.md": "---\nname: broken\n---\n"})
    assert rules(cli(*BASELINE, "--json").json) == ["description-missing"]


def test_a_part_of_the_skills_keeps_the_other_entries(skills: Path, cli: Cli) -> None:
    cli(*BASELINE, "--write-baseline")
    before = (skills.parent / "old.json").read_bytes()
    for part in (["skills/odd"], ["skills", "--select", "link"]):
        for change in ("--write-baseline", "--prune"):
            assert cli("check", *part, "--baseline", "old.json", change).code == 0
            assert (skills.parent / "old.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--write-baseline"], "`--write-baseline` requires `--baseline`"),
        (["--prune"], "`--prune` requires `--baseline`"),
        (["--baseline", "gone.json"], "the baseline `gone.json` does not exist"),
        (["--baseline", "gone.json", "--prune", "--write-baseline"], "contradict each other"),
        (["--baseline", "gone/old.json", "--write-baseline"], "cannot write the baseline"),
        (["--baseline", "skills/good/SKILL.md"], "it is not JSON"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_wrong_usage(
    skills: Path, cli: Cli, options: list[str], reason: str
) -> None:
    done = cli("check", "skills", *options)
    assert (done.code, done.raw) == (2, b"")
    assert reason in done.err
    assert "hint: " in done.err


def test_a_source_that_fails_is_never_an_old_problem(skills: Path, cli: Cli) -> None:
    (skills.parent / "bad.zip").write_bytes(b"no archive")
    done = cli("check", "bad.zip", "--select", "name", "--baseline", "old.json", "--write-baseline", "--json")
    assert (done.code, rules(done.json)) == (1, ["source-failed"])
    assert json.loads((skills.parent / "old.json").read_text())["problems"] == []
