"""Another MCP server as a source, on the command line."""

from pathlib import Path

from tests.support.command_line import Cli
from tests.support.peers import MODERN, HttpServer, StdioPeer, skillwire

REFUNDS = "acme/billing/refunds"


def label_of(server: HttpServer) -> str:
    return server.url.removeprefix("http://").replace(":", "-").replace("/", "-")


def test_verbs_that_take_a_source_take_a_server(good: Path, cli: Cli, http_server: HttpServer) -> None:
    source, label = f"mcp+{http_server.url}", label_of(http_server)
    theirs = {skill["uri"] for skill in cli("list", "good", source, "--json").json}
    assert {"skill://refunds/SKILL.md", f"skill://{label}/{REFUNDS}/SKILL.md"} <= theirs
    shown = cli("show", "refunds", "--from", source, "--json").json
    root = f"skill://{label}/{REFUNDS}"
    uris = {file["uri"] for file in shown["resources"]}
    assert uris == {f"{root}/SKILL.md", f"{root}/references/policy.md"}
    assert cli("read", "refunds", "references/policy.md", "--from", source).raw == b"# Policy\n"
    assert cli("read", "bytes", "data/blob.bin", "--from", source).raw == bytes(range(256))


def test_a_server_that_cannot_be_reached_is_a_problem_beside_the_others(good: Path, cli: Cli) -> None:
    done = cli("list", "good", "mcp+http://127.0.0.1:1/mcp")
    assert (done.code, "refunds" in done.out) == (0, True)
    checked = cli("check", "good", "mcp+http://127.0.0.1:1/mcp")
    assert checked.code == 1
    assert "`127.0.0.1-1-mcp` does not answer" in checked.out


def test_a_configured_server_is_listed_without_asking_it(good: Path, cli: Cli, tmp_path: Path) -> None:
    config = ("--config", tmp_path / "config.toml")
    added = cli("sources", "add", "mcp+https://host.invalid/mcp?key=1", "--token-env", "NONE", *config)
    assert added.code == 0
    (row,) = cli("sources", "--json", *config).json
    assert (row["label"], row["kind"]) == ("host.invalid-mcp", "server")
    assert (row["source"], row["state"]) == ("mcp+https://host.invalid/mcp", "asked when it is served")


def test_a_server_is_served_beside_a_folder(good: Path, http_server: HttpServer) -> None:
    command = skillwire("serve", "--no-config", good / "good", f"mcp+{http_server.url}")
    with StdioPeer(MODERN, command) as peer:
        uri = f"skill://{label_of(http_server)}/{REFUNDS}/references/policy.md"
        assert peer.result("resources/read", {"uri": uri})["contents"][0]["text"] == "# Policy\n"
        loaded = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": "bytes"}})
        assert loaded["isError"] is False
        assert peer.close() == 0
        assert "Traceback" not in peer.stderr()
