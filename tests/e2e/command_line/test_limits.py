"""Limits that the environment moves."""

from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.skills import skill_md, write_skill


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
    assert "not a whole number above 0" in done.err
