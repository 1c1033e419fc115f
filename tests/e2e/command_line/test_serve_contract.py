"""`skillwire serve --contract`: what has to be right before a server starts."""

from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.contracts import block, write_contract_skill
from tests.support.skills import write


@pytest.fixture
def team(tmp_path: Path) -> Path:
    write_contract_skill(tmp_path / "skills", "orders")
    return tmp_path / "skills"


def test_a_strict_start_fails_with_all_errors(team: Path, cli: Cli) -> None:
    write_contract_skill(team, "one", block("one", version=1.0))
    write_contract_skill(team, "two", block("two", capabilities=...))
    write(team / "three", {"SKILL.md": "no frontmatter"})
    done = cli("serve", team, "--contract", "--static")
    assert (done.code, done.raw) == (1, b"")
    for told in (
        "one/SKILL.md: x-skillwire.version: ",
        "two/SKILL.md: x-skillwire.capabilities: ",
        "three/SKILL.md:1: the first line",
    ):
        assert told in done.err
    assert "error: nothing is served: 3 errors against the contract (see above); `--tolerant` " in done.err


def test_tolerant_needs_the_contract(team: Path, cli: Cli) -> None:
    done = cli("serve", team, "--tolerant")
    assert done.code == 2
    assert done.err.startswith("error: `--tolerant` requires `--contract`\nhint: ")
