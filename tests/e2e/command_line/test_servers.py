"""`skillwire servers`: what the files of other clients name, and what servers offer when they are asked."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.client_files import Machine
from tests.support.command_line import Cli, on_terminal
from tests.support.scripted import ScriptedServer, entry_of, files_of
from tests.support.scripted_site import ScriptedSite

FILES = files_of("good", {"a.md": b"a"})


@pytest.fixture(scope="module")
def site() -> Iterator[ScriptedSite]:
    with ScriptedSite(ScriptedServer([entry_of("good", FILES), {"uri": 7}], FILES)) as running:
        yield running


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A person in a repository, with servers of their own and of the project."""
    machine = Machine.at(tmp_path)
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.chdir(machine.repository)
    return machine


def test_without_any_file_there_is_none(machine: Machine, cli: Cli) -> None:
    done = cli("servers")
    assert (done.code, done.raw) == (0, b"")
    assert "no client on this machine has a server configured" in done.err
    assert cli("servers", "--json").json == {"servers": [], "unreadable": [], "remembered": []}


def test_each_server_is_a_line_in_a_pipe(machine: Machine, cli: Cli) -> None:
    own = machine.own(".cursor/mcp.json", {"mcpServers": {"acme": {"command": "acme", "args": ["a b"]}}})
    shared = machine.shared(".mcp.json", {"mcpServers": {"acme": {"command": "other"}}})
    done = cli("servers")
    assert done.code == 0
    assert [line.split("\t") for line in done.out.splitlines()] == [
        ["acme", "cursor", "ready", "acme 'a b'", str(own)],
        ["acme.project", "project", "asks first (`acme` is taken by Cursor)", "other", str(shared)],
    ]


def test_json_says_all_that_is_known_and_no_secret(
    machine: Machine, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", "s3cret")
    site = {"url": "https://acme.example/mcp?key=${ACME_KEY}", "headers": {"X-Key": "${ACME_KEY}"}}
    path = machine.shared(".mcp.json", {"mcpServers": {"acme": site}})
    done = cli("servers", "--json")
    assert done.json["servers"] == [
        {
            "label": "acme",
            "client": "project",
            "file": str(path),
            "transport": "http",
            "address": "https://acme.example/mcp",
            "state": "asks first",
            "asks_first": True,
            "login": None,
            "probe": None,
        }
    ]
    assert "s3cret" not in done.out + done.err


def test_an_unreadable_file_is_reported_and_hides_no_other(machine: Machine, cli: Cli) -> None:
    machine.own(".cursor/mcp.json", {"mcpServers": {"acme": {"command": "acme"}}})
    broken = machine.own(".claude.json", "{\x1b[31m")
    done = cli("servers")
    assert done.code == 1
    assert done.out.startswith("acme\t")
    assert f"error: cannot read `{broken}`: it is not JSON: " in done.err
    assert "\x1b" not in done.err
    assert cli("servers", "--json").json["unreadable"][0]["client"] == "claude-code"


def test_a_server_that_is_named_is_asked(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    machine.own(".cursor/mcp.json", {"mcpServers": {"acme": {"url": site.url}}})
    done = cli("servers", "acme")
    assert done.code == 0
    assert done.out.split("\t")[2] == "1 skill, extension, directoryRead, final, 1 finding"
    (row,) = cli("servers", site.url, "--json").json["servers"]
    assert row["probe"] == {
        "extension": {"directoryRead": True},
        "directoryRead": True,
        "dialect": "final",
        "skills": 1,
        "findings": 1,
        "error": None,
    }


def test_a_probe_asks_all_that_are_ready(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    servers = {
        "acme": {"url": site.url},
        "gone": {"url": "http://127.0.0.1:1/mcp"},
        "off": {"url": site.url, "disabled": True},
    }
    machine.own(".cursor/mcp.json", {"mcpServers": servers})
    machine.shared(".mcp.json", {"mcpServers": {"program": {"command": "touch", "args": ["ran"]}}})
    done = cli("servers", "--probe")
    assert done.code == 1, "one did not answer"
    states = {line.split("\t")[0]: line.split("\t")[2] for line in done.out.splitlines()}
    assert states["acme"].startswith("1 skill, ")
    assert "does not answer" in states["gone"]
    assert states["off"] == "disabled"
    assert states["program"] == "asks first"
    assert not (machine.repository / "ran").exists()


def test_a_probe_contacts_no_project_server_that_is_not_allowed(
    machine: Machine, cli: Cli, site: ScriptedSite
) -> None:
    machine.shared(".mcp.json", {"mcpServers": {"theirs": {"url": site.url}}})
    site.script.asked.clear()
    assert cli("servers", "--probe").code == 0
    assert site.script.asked == []
    assert cli("servers", "--probe", "--allow", "theirs", "--json").json["servers"][0]["probe"] is not None
    assert cli("servers", "theirs", "--allow", "theirs").out.split("\t")[2].startswith("1 skill")


def test_a_server_without_the_extension_says_so(machine: Machine, cli: Cli) -> None:
    with ScriptedSite(ScriptedServer(declared=None)) as plain:
        done = cli("servers", plain.url)
    assert done.out.split("\t")[2] == "0 skills, no extension"


def test_the_table_fits_on_a_terminal(machine: Machine) -> None:
    servers = {f"server-{'x' * number}": {"command": "y" * 20 * number} for number in range(1, 6)}
    machine.own(".cursor/mcp.json", {"mcpServers": servers})
    code, shown = on_terminal("servers", columns=80)
    assert code == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    assert "Cursor" in lines[0]
    assert "~/.cursor/mcp.json" in lines[0]
    assert all(len(line) <= 80 for line in lines)
    assert [line.split() for line in lines[1:] if line.startswith("server-")] == [
        [name, "ready"] for name in servers
    ]
    assert sum(line.count("y") - line.count("ready") for line in lines[1:]) == 20 * 15


@pytest.mark.rule("H24")
def test_a_server_is_forgotten_with_all_that_was_approved(
    machine: Machine, cli: Cli, site: ScriptedSite
) -> None:
    machine.own(".cursor/mcp.json", {"mcpServers": {"acme": {"url": site.url}}})
    assert cli("approve", "acme:good", "--yes").code == 0
    done = cli("servers", "--forget", "nobody")
    assert done.code == 2
    assert "servers with stored data: `acme`" in done.err
    machine.own(".cursor/mcp.json", {})
    assert (
        "stored data of servers that no file names: `acme`; `skillwire servers --forget LABEL`"
        in cli("servers").err
    )
    assert cli("servers", "--forget", "acme").code == 0
    assert cli("approve", "--json").json == []
    assert "remembered" not in cli("servers").err


def test_nothing_is_remembered_by_looking(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    for arguments in (["servers", "--probe"], ["list", f"mcp+{site.url}"], ["approve"], ["cache"]):
        cli(*arguments)
    assert not list(machine.home.rglob("*.db"))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize(("typed", "runs"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_a_program_of_a_project_is_shown_before_it_runs(
    machine: Machine, typed: bytes, *, runs: bool
) -> None:
    command = {"command": "touch", "args": ["ran", "\x1b[2K"], "env": {"NODE_OPTIONS": "--require ./x"}}
    machine.shared(".mcp.json", {"mcpServers": {"acme": command}})
    code, shown = on_terminal("servers", "acme", typed=typed)
    assert b"touch ran '\\x1b[2K'" in shown
    assert b"with NODE_OPTIONS=--require ./x" in shown
    assert b"run it? [y/N]" in shown
    assert b"\x1b[2K" not in shown
    assert (machine.repository / "ran").exists() is runs
    assert code == (1 if runs else 2), "it is no server, if it runs"


def test_without_a_terminal_no_project_server_is_started(
    machine: Machine, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.shared(".mcp.json", {"mcpServers": {"acme": {"command": "touch", "args": ["ran"]}}})
    for arguments in (["servers", "acme"], ["list", "acme"], ["verify", "acme"], ["show", "acme:x"]):
        done = cli(*arguments)
        assert (done.code, done.raw) == (2, b"")
        assert "hint: check the file; to allow it, add `--allow acme`" in done.err
    assert not (machine.repository / "ran").exists()
    assert cli("servers", "acme", "--allow", "acme").code == 1
    assert (machine.repository / "ran").exists()


def test_a_token_for_a_projects_address_is_asked_about(
    machine: Machine, cli: Cli, site: ScriptedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "s3cret")
    machine.shared(".mcp.json", {"mcpServers": {"acme": {"url": site.url}}})
    done = cli("servers", "acme", "--token-env", "MINE")
    assert done.code == 2
    assert "may send your `MINE` to" in done.err
    assert cli("servers", "acme", "--token-env", "MINE", "--allow", "acme").code == 0


@pytest.mark.parametrize("file", [".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"])
def test_a_project_does_not_lead_into_a_private_network(
    machine: Machine, cli: Cli, site: ScriptedSite, file: str, host: str
) -> None:
    url = site.url.replace("127.0.0.1", host)
    machine.shared(file, {"mcpServers": {"acme": {"url": url}}, "servers": {"acme": {"url": url}}})
    site.script.asked.clear()
    for arguments in (["servers", "acme"], ["list", "acme"], ["verify", "acme"], ["bridge", "acme"]):
        done = cli(*arguments)
        assert (done.code, done.raw) == (2, b"")
        assert f"may reach `{url}`, which is unencrypted `http` in your own network" in done.err
    cli("servers", "--probe")
    assert site.script.asked == []


def test_a_person_may_name_an_address_in_a_private_network(
    machine: Machine, cli: Cli, site: ScriptedSite
) -> None:
    machine.own(".cursor/mcp.json", {"mcpServers": {"mine": {"url": site.url}}})
    machine.shared(".mcp.json", {"mcpServers": {"theirs": {"url": f"{site.url}?x"}}})
    for arguments in (["mine"], [site.url], ["theirs", "--allow", "theirs"]):
        assert cli("servers", *arguments).code == 0, arguments


def test_what_is_allowed_for_one_is_not_for_another(machine: Machine, cli: Cli) -> None:
    servers = {"one": {"command": "true"}, "two": {"command": "touch", "args": ["ran"]}}
    machine.shared(".mcp.json", {"mcpServers": servers})
    assert cli("servers", "one", "two", "--allow", "one").code == 2
    assert not (machine.repository / "ran").exists()
    assert json.loads(cli("servers", "--json").out)["servers"][1]["asks_first"]
