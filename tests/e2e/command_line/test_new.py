"""`skillwire new`: a skill that passes every check as it stands."""

from pathlib import Path

import pytest

from tests.support.command_line import Cli


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["refunds", "skills/deep/refunds", "./refunds"])
def test_a_new_skill_passes_the_check_of_its_kind(cli: Cli, name: str) -> None:
    done = cli("new", name)
    assert (done.code, done.out) == (0, f"{Path(name) / 'SKILL.md'}\n")
    assert f"`skillwire check {Path(name)}`" in done.err
    assert cli("check", name, "--strict", "--json").json == []
    assert cli("check", name, "--contract").code == 1


def test_a_new_skill_has_an_eval_case_that_passes(cli: Cli, here: Path) -> None:
    cli("new", "refunds")
    done = cli("eval", "refunds", "--json", "--min-trigger-rate", "1")
    assert (done.code, [case["passed"] for case in done.json["cases"]]) == (0, [True])
    assert "evals" not in cli("show", "./refunds").out


def test_existing_eval_cases_are_kept(cli: Cli, here: Path) -> None:
    (here / "refunds/evals").mkdir(parents=True)
    (here / "refunds/evals/evals.json").write_text("[]")
    assert cli("new", "refunds").code == 0
    assert (here / "refunds/evals/evals.json").read_text() == "[]"


@pytest.mark.parametrize("key", [[], ["--block-key", "x-acme"]], ids=["default", "own"])
def test_a_new_skill_with_the_block_keeps_the_contract(cli: Cli, key: list[str]) -> None:
    done = cli("new", "skills/refunds", "--contract", *key)
    assert done.code == 0
    assert " ".join(["skillwire check skills/refunds --contract", *key]) in done.err
    assert cli("check", "skills", "--contract", "--strict", "--json", *key).json == []
    assert cli("project", "skills", "--out", "upload", *key).code == 0


@pytest.mark.parametrize("key", ["", " ", "name", "metadata", "k" * 2000])
def test_a_key_that_no_block_can_have_is_wrong_usage(cli: Cli, here: Path, key: str) -> None:
    done = cli("new", "refunds", "--contract", "--block-key", key)
    assert (done.code, done.raw) == (2, b"")
    assert done.err.startswith("error: ")
    assert "hint: name a" in done.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("verb", ["check", "graph"])
def test_the_key_is_looked_at_wherever_it_is_given(cli: Cli, verb: str) -> None:
    cli("new", "refunds", "--contract")
    assert cli(verb, "refunds", "--block-key", "name").code == 2


def test_what_is_there_is_never_overwritten(cli: Cli, here: Path) -> None:
    cli("new", "refunds")
    (here / "refunds/SKILL.md").write_text("mine")
    done = cli("new", "refunds")
    assert (done.code, done.raw) == (2, b"")
    assert done.err.startswith("error: `refunds/SKILL.md` already exists\nhint: ")
    assert (here / "refunds/SKILL.md").read_text() == "mine"
    (here / "file").touch()
    assert "`file` already exists" in cli("new", "file").err


def test_an_invalid_name_is_refused_with_a_valid_one(cli: Cli, here: Path) -> None:
    done = cli("new", "skills/Refund Desk")
    assert (done.code, done.raw) == (2, b"")
    assert "`Refund Desk` is not lowercase letters" in done.err
    assert "hint: `skillwire new skills/refund-desk`" in done.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("name", ["claude-helper", "3d-models"])
def test_some_names_are_refused_only_with_the_contract(cli: Cli, here: Path, name: str) -> None:
    done = cli("new", name, "--contract")
    assert done.code == 2
    assert f"`{name}`" in done.err
    assert list(here.iterdir()) == []
    assert cli("new", name).code == 0
