"""What the contract's resources say of themselves, in the JSON of every transport and protocol version."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_types.methods import SERVER_RESULTS
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from tests.support.contracts import POLICY, block, write_contract_skill
from tests.support.peers import VERSIONS, HttpPeer, HttpServer, Peer, StdioPeer, skillwire
from tests.support.skills import write

MARKS = {"readOnlyHint": True, "idempotentHint": True}
DOCUMENT = "resource://skills/refunds/document"
REFERENCE = "resource://skills/refunds/references/policy"
ALL = {
    "resource://catalog/skills_index",
    "resource://catalog/skills/refunds",
    DOCUMENT,
    REFERENCE,
}
SERVERS = {
    "fastmcp": "from fastmcp import FastMCP\nmcp = FastMCP('bills')\n",
    "mcpserver": "from mcp.server.mcpserver import MCPServer\nmcp = MCPServer('bills')\n",
}
ATTACHED = """
from skillwire import ServeOptions, attach
from skillwire.contract import ContractOptions
attach(mcp, {root!r}, options=ServeOptions(additions=[ContractOptions()]))
mcp.run({run})
"""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("team")
    references = {"policy": {"path": POLICY}}
    inner = block("refunds", references=references, capabilities=[DOCUMENT, REFERENCE], tags=["billing"])
    write(write_contract_skill(root, "refunds", inner), {POLICY: "# Policy\n"})
    return root


@pytest.fixture(scope="module")
def peers(team: Path) -> Iterator[Mapping[tuple[str, str], Peer]]:
    """Clients of `skillwire serve`, and of servers that skills were attached to, on every version."""
    commands = {"stdio": skillwire("serve", team, "--contract")} | {
        name: [
            sys.executable,
            "-c",
            made + ATTACHED.format(root=str(team), run="show_banner=False" * (name == "fastmcp")),
        ]
        for name, made in SERVERS.items()
    }
    with HttpServer(team, "--contract", "--http", "0") as server:
        found: dict[tuple[str, str], Any] = {
            (name, version): StdioPeer(version, command)
            for name, command in commands.items()
            for version in VERSIONS
        }
        found |= {("http", version): HttpPeer(version, server.url) for version in VERSIONS}
        yield found
        for each in found.values():
            each.close()


@pytest.fixture(
    params=[(server, version) for server in ("stdio", "http", *SERVERS) for version in VERSIONS], ids="-".join
)
def contract_peer(request: pytest.FixtureRequest, peers: Mapping[tuple[str, str], Peer]) -> Peer:
    return peers[request.param]


def listed(peer: Peer) -> dict[str, Any]:
    found = {each["uri"]: each for each in peer.result("resources/list")["resources"]}
    return {uri: each for uri, each in found.items() if uri.startswith("resource://")}


def test_marks_are_in_meta_and_no_annotations_are_empty(contract_peer: Peer) -> None:
    found = listed(contract_peer)
    assert set(found) == ALL
    for resource in found.values():
        assert MARKS.items() <= resource["_meta"].items()
        assert "annotations" not in resource
    assert {"skill_id": "refunds", "ref_id": "policy", "path": POLICY}.items() <= found[REFERENCE][
        "_meta"
    ].items()
    assert {"version": "1.0.0", "tags": ["billing"]}.items() <= found[DOCUMENT]["_meta"].items()


def test_reads_have_the_same_marks(contract_peer: Peer) -> None:
    for uri in (DOCUMENT, REFERENCE):
        (content,) = contract_peer.result("resources/read", {"uri": uri})["contents"]
        assert MARKS.items() <= content["_meta"].items()


def test_tools_have_their_marks_in_annotations(contract_peer: Peer) -> None:
    tools = {each["name"]: each for each in contract_peer.result("tools/list")["tools"]}
    assert MARKS.items() <= tools["load-skill"]["annotations"].items()


@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
def test_no_protocol_version_defines_the_marks_for_resources(version: str) -> None:
    """If a version does, they belong in `annotations` there."""
    model: Any = SERVER_RESULTS["resources/list", version]
    resource = {"uri": "resource://x", "name": "x", "annotations": {**MARKS, "priority": 1.0}}
    result = {"resultType": "complete", "ttlMs": 1, "cacheScope": "public", "resources": [resource]}
    found = json.loads(model.model_validate(result).model_dump_json(by_alias=True, exclude_none=True))
    assert found["resources"][0]["annotations"] == {"priority": 1.0}
