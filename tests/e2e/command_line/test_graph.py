"""`skillwire graph`: who depends on whom, for people, programs and pictures."""

from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.contracts import block, write_contract_skill


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    needs = {"shop": ["refunds", "orders"], "refunds": ["orders"], "orders": []}
    for name, needed in needs.items():
        write_contract_skill(tmp_path / "skills", name, block(name, depends_on=needed))
    return tmp_path


def test_a_tree_and_the_order_are_shown(team: Path, cli: Cli) -> None:
    done = cli("graph", "skills")
    assert done.code == 0
    assert done.out == "shop\n├── refunds\n│   └── orders\n└── orders\n\norder: orders, refunds, shop\n"
    assert done.err == "3 skills; 0 cycles, 0 unknown ids\n"


def test_cycles_and_unknown_ids_are_shown_and_exit_with_1(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "orders", block("orders", depends_on=["shop", "nobody"]))
    done = cli("graph", "skills")
    assert done.code == 1
    assert "nobody (unknown)" in done.out
    assert done.out.endswith("cycle: orders → shop → orders\n")
    assert done.err == "3 skills; 1 cycle, 1 unknown id\n"
    assert cli("graph", "skills", "--json").json["cycles"] == [["orders", "shop", "orders"]]


@pytest.mark.parametrize(
    ("kind", "first", "some"),
    [("mermaid", "flowchart LR", "n1 --> n0"), ("dot", "digraph skills {", '"refunds" -> "orders";')],
)
def test_pictures_are_drawn_by_others(team: Path, cli: Cli, kind: str, first: str, some: str) -> None:
    lines = cli("graph", "skills", "--format", kind).out.splitlines()
    assert lines[0] == first
    assert f"  {some}" in lines


def test_json_says_everything(team: Path, cli: Cli) -> None:
    told = cli("graph", "skills", "--json").json
    assert told["order"] == ["orders", "refunds", "shop"]
    assert told["skills"][0] == {"id": "orders", "depends_on": [], "dependents": ["refunds", "shop"]}


def test_a_broken_skill_is_still_in_the_graph(team: Path, cli: Cli) -> None:
    write_contract_skill(team / "skills", "shop", block("shop", version=1, depends_on=["refunds"]))
    assert "shop" in cli("graph", "skills").out


def test_a_folder_without_skills_gets_a_hint(team: Path, cli: Cli) -> None:
    (team / "empty").mkdir()
    done = cli("graph", "empty")
    assert (done.code, done.raw) == (0, b"")
    assert "a skill is a folder with a `SKILL.md` in it" in done.err
