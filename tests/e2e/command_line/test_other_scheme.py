"""Commands of the using side, with a server whose skills are under another scheme."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.client_files import Machine
from tests.support.command_line import Cli
from tests.support.peers import HttpServer
from tests.support.skills import skill_md, write_skill

PREFIX = "github://owner/repo/skills/"
REFUNDS = f"{PREFIX}acme/refunds/SKILL.md"
SCHEME = ("--scheme", "github", "--authority", "owner/repo/skills")


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    write_skill(tmp_path / "skills", "acme/refunds", {"references/policy.md": "# Policy\n"})
    return tmp_path / "skills"


@pytest.fixture
def server(skills: Path) -> Iterator[HttpServer]:
    with HttpServer(skills, "--no-config", "--http", "127.0.0.1:0", *SCHEME) as running:
        yield running


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: HttpServer) -> Machine:
    machine = Machine.at(tmp_path)
    machine.own(".cursor/mcp.json", {"mcpServers": {"domain": {"url": server.url}}})
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.setenv("SKILLWIRE_STATE_DIR", str(machine.home / "state"))
    monkeypatch.chdir(machine.repository)
    return machine


def test_skills_are_listed_shown_and_read(machine: Machine, cli: Cli) -> None:
    (row,) = cli("list", "domain", "--json").json
    assert (row["name"], row["uri"], row["dialect"], row["problems"]) == ("refunds", REFUNDS, "final", [])
    assert cli("show", "domain:refunds", "--json").json["uri"] == REFUNDS
    for name in ("domain:refunds", f"domain:{REFUNDS}"):
        assert cli("read", name).raw == skill_md("refunds")
    assert cli("read", f"domain:{REFUNDS}", "references/policy.md").raw == b"# Policy\n"


def test_verify_finds_no_fault(machine: Machine, cli: Cli) -> None:
    for options in ((), ("--surfaces",)):
        done = cli("verify", "domain", *options)
        assert done.code == 0, done.err
        assert f"{REFUNDS}: 2 files, " in done.out
        assert "verified: 1 of 1 skill as listed" in done.err


def test_an_approval_is_for_the_uri_and_ends_with_it(
    machine: Machine, cli: Cli, skills: Path, server: HttpServer
) -> None:
    assert cli("approve", "domain:refunds", "--yes").code == 0
    assert [each["uri"] for each in cli("approve", "--json").json] == [REFUNDS]
    assert cli("show", "domain:refunds", "--json").json["approval"] == "approved"
    address = server.base.removeprefix("http://")
    server.stop()
    with HttpServer(skills, "--no-config", "--http", address):
        shown = cli("show", "domain:refunds", "--json").json
        assert (shown["uri"], shown["approval"]) == ("skill://acme/refunds/SKILL.md", "unknown")
    with HttpServer(skills, "--no-config", "--http", address, *SCHEME):
        assert cli("show", "domain:refunds", "--json").json["approval"] == "approved"


def test_pulled_files_have_the_same_bytes(machine: Machine, cli: Cli, tmp_path: Path) -> None:
    assert cli("pull", "domain:refunds", str(tmp_path / "out")).code == 0
    (main,) = (tmp_path / "out").rglob("SKILL.md")
    assert main.read_bytes() == skill_md("refunds")
    assert (main.parent / "references/policy.md").read_bytes() == b"# Policy\n"
