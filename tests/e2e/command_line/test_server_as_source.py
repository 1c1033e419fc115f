"""Another MCP server as a source, on the command line."""

from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.peers import MODERN, HttpServer, StdioPeer, skillwire

REFUNDS = "acme/billing/refunds"


def label_of(server: HttpServer) -> str:
    return server.url.removeprefix("http://").replace(":", "-").replace("/", "-")


def test_a_server_is_checked_beside_a_folder(good: Path, cli: Cli, http_server: HttpServer) -> None:
    checked = cli("check", "good", f"mcp+{http_server.url}")
    assert checked.code == 0
    assert "skills can be served" in checked.err


def test_unreachable_server_is_reported_by_check(good: Path, cli: Cli) -> None:
    checked = cli("check", "good", "mcp+http://127.0.0.1:1/mcp")
    assert checked.code == 1
    assert "`127.0.0.1-1-mcp` does not answer" in checked.out


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("mcp+http://host.example/mcp", "use `https`"),
        ("mcp+https://me:s3cret@host.example/mcp", "--token-env"),
        ("mcp+https:///mcp", "no valid host"),
    ],
)
def test_an_address_that_cannot_be_is_wrong_usage(good: Path, cli: Cli, address: str, told: str) -> None:
    done = cli("check", address)
    assert (done.code, done.raw) == (2, b"")
    assert told in done.err
    assert "s3cret" not in done.err


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
        told = peer.stderr()
        assert "Traceback" not in told
        assert f"`{label_of(http_server)}` is a server that you trust: its skills go to models" in told
