"""`skillwire search` over servers: one ranking for sources and servers, and nothing read from a server."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.client_files import Machine
from tests.support.command_line import Cli
from tests.support.peers import PATIENCE, skillwire
from tests.support.scripted import ScriptedServer
from tests.support.scripted_site import ScriptedSite
from tests.support.skills import write, write_skill

SERVER = """
from skillwire import Skill, SkillServer
SkillServer("s").add(Skill("made", "---\\nname: made\\ndescription: Made of walrus.\\n---\\n# Made\\n")).run()
"""


@pytest.fixture
def script() -> ScriptedServer:
    script = ScriptedServer()
    script.publish("billing/refunds", {"zebra.md": b"zebra"}, body="Walrus text.\n")
    script.publish("orders", fields={"disable-model-invocation": True})
    return script


@pytest.fixture
def site(script: ScriptedServer) -> Iterator[ScriptedSite]:
    with ScriptedSite(script) as running:
        yield running


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: ScriptedSite) -> Machine:
    machine = Machine.at(tmp_path)
    machine.own(".cursor/mcp.json", {"mcpServers": {"acme": {"url": site.url}}})
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.chdir(machine.repository)
    return machine


def test_server_is_searched_by_label_and_by_url(machine: Machine, cli: Cli, site: ScriptedSite) -> None:
    line = "acme:refunds\tskill://billing/refunds/SKILL.md\tDoes refunds."
    done = cli("search", "refunds", "--from", "acme")
    assert (done.code, done.out.splitlines()) == (0, [line])
    done = cli("search", "refunds", "--from", site.url)
    assert (done.code, done.out.count("refunds\tskill://billing/refunds/SKILL.md")) == (0, 1)


@pytest.mark.rule("H11")
def test_no_file_is_read_from_a_server(machine: Machine, cli: Cli, script: ScriptedServer) -> None:
    assert cli("search", "walrus", "--from", "acme").code == 1
    (result,) = cli("search", "zebra", "--from", "acme", "--json").json["results"]
    assert (result["name"], result["fields"], result["snippet"]) == ("acme:refunds", ["files"], "")
    assert script.count("resources/read") == 0


def test_sources_and_servers_share_one_ranking(machine: Machine, cli: Cli) -> None:
    write(Path("skills"), {"own/SKILL.md": "---\nname: own\ndescription: Own.\n---\nAbout refunds.\n"})
    write_skill(Path("skills"), "refunds")
    both = ("--from", "skills", "--from", "acme", "--json")
    found = cli("search", "refunds", *both).json
    assert [each["name"] for each in found["results"]] == ["refunds", "acme:refunds", "own"]
    assert [each["rank"] for each in found["results"]] == [1, 2, 3]
    assert found["total"] == 3
    assert found["results"][2]["snippet"] == "About refunds."


def test_source_alone_has_the_same_order_as_beside_a_server(machine: Machine, cli: Cli) -> None:
    for number in range(12):
        words = " ".join(("chart", "slide", "invoice")[: 1 + number % 3])
        text = f"---\nname: s{number:02}\ndescription: Helps with {words}.\n---\nSome {words}.\n"
        write(Path("skills"), {f"s{number:02}/SKILL.md": text})
    for query in ("chart", "invoice slide", "s05"):
        alone = cli("search", query, "--from", "skills", "--limit", "50", "--json").json["results"]
        beside = cli("search", query, "--from", "skills", "--from", "acme", "--limit", "50", "--json").json
        assert [each["name"] for each in beside["results"]] == [each["name"] for each in alone]


def test_command_after_two_dashes_is_a_server(machine: Machine, cli: Cli) -> None:
    Path("server.py").write_text(SERVER, "utf-8")
    done = cli("search", "walrus", "--", sys.executable, "server.py")
    assert done.code == 0, done.err
    (line,) = done.out.splitlines()
    assert line.split("\t")[0].endswith(":made")


def test_search_for_models_leaves_out_what_people_start(machine: Machine, cli: Cli) -> None:
    assert "acme:orders" in cli("search", "orders", "--from", "acme").out
    assert cli("search", "orders", "--from", "acme", "--for", "models").code == 1


def test_failed_server_is_reported_and_others_are_searched(machine: Machine, cli: Cli) -> None:
    done = cli("search", "refunds", "--from", "acme", "--from", "mcp+http://127.0.0.1:1/mcp")
    assert done.code == 1
    assert done.out.startswith("acme:refunds\t")
    assert "does not answer" in done.err


def test_text_of_a_server_cannot_control_the_terminal(
    machine: Machine, cli: Cli, script: ScriptedServer
) -> None:
    script.publish("refunds", fields={"description": "Refunds.\x1b[31m\u202e\nfake\tline"})
    done = cli("search", "refunds", "--from", "acme")
    assert done.out.isprintable() or set(filter(lambda each: not each.isprintable(), done.out)) <= {
        "\n",
        "\t",
    }
    assert all(line.count("\t") == 2 for line in done.out.splitlines())


def test_search_of_a_folder_loads_no_sdk(tmp_path: Path) -> None:
    write_skill(tmp_path, "refunds")
    code = (
        "import sys; from skillwire.cli.main import run; code = run(sys.argv[1:]);"
        "sys.exit(code or 'mcp' in sys.modules)"
    )
    command = [*skillwire()[:1], "-c", code, "search", "refunds", "--from", str(tmp_path), "--no-config"]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"refunds\t")
