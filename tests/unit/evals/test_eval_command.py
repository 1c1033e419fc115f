"""`skillwire eval`: what it prints, and its exit codes."""

import json
import shutil
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.support.command_line import Cli
from tests.support.skills import skill_md, write, write_skill

BILLS = "Writes invoices to a customer. Use for bills and money that is owed."


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKILLWIRE_CACHE_DIR", str(tmp_path / "cache"))
    cases = [
        {"query": "is this chargeback justified?", "should_trigger": True},
        {"query": "a customer wants money for a kettle", "should_trigger": True},
        {"query": "write the bill", "should_trigger": False},
    ]
    text = skill_md("refunds", "Decides about returns and chargebacks.")
    write(tmp_path / "skills/refunds", {"SKILL.md": text, "evals/triggers.json": json.dumps(cases)})
    write(tmp_path / "skills/invoices", {"SKILL.md": skill_md("invoices", BILLS)})
    return tmp_path


def test_a_report_names_confusions_rates_and_what_it_is(cli: Cli) -> None:
    done = cli("eval", "skills")
    assert done.code == 0
    assert "3 cases for 1 skill, searched among 2" in done.out
    assert "a proxy by words, not a model" in done.out
    assert "refunds → invoices: 1 request" in done.out
    assert "only invoices has in its name or description: customer, money" in done.out
    assert "Used when it should be: 1 of 2, 50 % (9 % to 91 %)" in done.out
    assert "Used when it should not be: 0 of 1" in done.out


def test_without_cases_it_says_how_to_write_the_first_one(cli: Cli, here: Path) -> None:
    done = cli("eval", "skills", "--skill", "invoices")
    assert (done.code, done.raw) == (1, b"")
    assert "write the first ones to `skills/invoices/evals/triggers.json`" in done.err
    assert "`skillwire eval skills`" in done.err
    example = done.err[done.err.index("[") : done.err.rindex("]") + 1]
    write(here / "skills/invoices", {"evals/triggers.json": example})
    assert len(cli("eval", "skills", "--skill", "invoices", "--json").json["cases"]) == 2


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--min-trigger-rate", "0.5"], 0, ""),
        (["--min-trigger-rate", "0.51"], 1, "the trigger rate is below 0.51: 1 of 2, 50 %"),
        (["--max-false-rate", "0"], 0, ""),
        (["--max-false-rate", "0", "--cases", "more.json"], 1, "the false rate is above 0: 1 of 2"),
    ],
)
def test_thresholds_decide_the_exit_code(
    cli: Cli, here: Path, options: list[str], code: int, said: str
) -> None:
    case = {"skill": "refunds", "query": "returns and chargebacks", "should_trigger": False}
    write(here, {"more.json": json.dumps([case])})
    done = cli("eval", "skills", *options)
    assert done.code == code
    assert said in done.err
    assert ("a proxy by words, not a model" in done.err) == bool(said)


def test_a_threshold_without_cases_for_it_is_not_met(cli: Cli, here: Path) -> None:
    write(here / "skills/refunds", {"evals/triggers.json": '[{"query": "a bill", "should_trigger": false}]'})
    done = cli("eval", "skills", "--min-trigger-rate", "0.1")
    assert (done.code, "the trigger rate is below 0.1: no cases" in done.err) == (1, True)


@pytest.mark.parametrize("option", ["--min-trigger-rate", "--max-false-rate"])
@pytest.mark.parametrize("rate", ["90", "-0.1", "nan"])
def test_a_rate_is_a_number_from_0_to_1(cli: Cli, option: str, rate: str) -> None:
    done = cli("eval", "skills", f"{option}={rate}")
    assert (done.code, "hint: use a number from 0 to 1" in done.err) == (2, True)


def test_a_skill_with_an_error_makes_the_report_incomplete(cli: Cli, here: Path) -> None:
    write_skill(here / "skills", "broken", name="Not A Name")
    done = cli("eval", "skills", "--json")
    assert (done.code, done.json["complete"], len(done.json["cases"])) == (1, False, 3)
    assert "1 error" in done.err


def test_a_bad_case_is_reported_and_the_others_are_used(cli: Cli, here: Path) -> None:
    write(here / "skills/refunds", {"evals/more.json": '[{"query": "x"}]'})
    done = cli("eval", "skills", "--json")
    assert (done.code, len(done.json["cases"]), done.json["complete"]) == (1, 3, False)
    assert "skills/refunds/evals/more.json" in done.err
    assert "`should_trigger` is missing (error: eval-format)" in done.err
    assert [each["rule"] for each in done.json["problems"]] == ["eval-format"]


def test_problems_of_named_files_keep_their_paths(cli: Cli, here: Path) -> None:
    write(here, {"more.json": '[{"query": "x"}]'})
    done = cli("eval", "skills", "--cases", "more.json")
    assert (done.code, done.err.startswith("more.json: [0].should_trigger")) == (1, True)


def test_a_skill_that_models_may_not_load_is_reported(cli: Cli, here: Path) -> None:
    text = (here / "skills/refunds/SKILL.md").read_text()
    text = text.replace("name: refunds\n", "name: refunds\ndisable-model-invocation: true\n")
    write(here / "skills/refunds", {"SKILL.md": text})
    done = cli("eval", "skills", "--json")
    assert (done.code, done.json["rates"]["trigger"]) == (0, 0.0)
    assert "models may not load this skill" in done.err


def test_a_fixed_description_shows_as_a_difference(cli: Cli, here: Path) -> None:
    (here / "before.json").write_bytes(cli("eval", "skills", "--json").raw)
    text = skill_md("refunds", "Decides whether a customer gets money back for returns and chargebacks.")
    write(here / "skills/refunds", {"SKILL.md": text})
    found: Any = cli("eval", "skills", "--compare", "before.json", "--json").json["comparison"]
    assert (found["cases"], found["before"], found["after"]) == (3, 0.6667, 1.0)
    assert found["fixed"] == [{"id": "triggers#2", "skill": "refunds"}]
    assert (found["broken"], found["gone"]) == ([], 0)
    done = cli("eval", "skills", "--compare", "before.json")
    assert "67 % passed, now 100 %, +33 points" in done.out
    assert "fixed: refunds" in done.out


def test_the_budget_shows_what_clients_show_of_each_skill(cli: Cli, here: Path) -> None:
    write(here / "skills/long", {"SKILL.md": skill_md("long", "Long. Use when needed. " + "x" * 1100)})
    done = cli("eval", "skills", "--level", "budget", "--skill", "long", "--json")
    (found,) = done.json["skills"]
    verdicts = {each["client"]: each["verdict"] for each in found["clients"]}
    assert (verdicts["vscode"], found["skill"]) == ("shortened", "long")
    shown = cli("eval", "skills", "--level", "budget").out
    assert "of 3 skills shown whole" in shown
    assert "vscode, installed as a folder: shortened" in shown
    assert shown.splitlines()[2].startswith("  long: whole in")


def test_a_report_folder_is_written_and_named(cli: Cli, here: Path) -> None:
    done = cli("eval", "skills", "--json", "--out", "report")
    assert (done.code, "open `report/index.html` in a browser" in done.err) == (0, True)
    assert json.loads((here / "report/report.json").read_text()) == done.json


def test_patterns_select_skills(cli: Cli, here: Path) -> None:
    write_skill(
        here / "skills", "team/tides", {"evals/a.json": '[{"query": "tides", "should_trigger": true}]'}
    )
    found = cli("eval", "skills", "--skill", "team/*", "--json").json
    assert [each["skill"] for each in found["cases"]] == ["tides"]
    for name in ("nope", "nope/*"):
        done = cli("eval", "skills", "--skill", name)
        assert (done.code, done.raw, "hint: " in done.err) == (2, b"", True)


def test_cases_of_skills_in_an_archive_are_used(cli: Cli, here: Path) -> None:
    shutil.make_archive(str(here / "packed"), "zip", here / "skills")
    assert len(cli("eval", "packed.zip", "--json").json["cases"]) == 3


def test_a_folder_without_skills_is_an_error(cli: Cli, here: Path) -> None:
    (here / "empty").mkdir()
    done = cli("eval", "empty")
    assert (done.code, done.raw) == (1, b"")
    assert "no skills here" in done.err


def test_nothing_leaves_the_machine(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> NoReturn:
        raise AssertionError("a connection was opened")

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert cli("eval", "skills", "--out", "report").code == 0
    assert cli("eval", "skills", "--level", "budget").code == 0
