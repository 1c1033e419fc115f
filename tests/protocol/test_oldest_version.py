"""`initialize` with protocol 2024-11-05, and with versions that do not exist, over both transports."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.peers import VERSIONS, HttpPeer, HttpServer, Message, Peer, StdioPeer, skillwire
from tests.support.skills import write_skill

OLDEST, NEWEST_WITH_HANDSHAKE = "2024-11-05", "2025-11-25"
REFUNDS = "skill://refunds/SKILL.md"
REQUESTS: list[tuple[str, Message]] = [
    ("skills/list", {}),
    ("skills/get", {"uri": REFUNDS}),
    ("resources/read", {"uri": REFUNDS}),
    ("resources/read", {"uri": "skill://refunds/blob.bin"}),
    ("resources/read", {"uri": "skill://nothing/SKILL.md"}),
    ("resources/directory/read", {"uri": "skill://refunds"}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/subscribe", {"uri": REFUNDS}),
    ("tools/list", {}),
    ("tools/call", {"name": "load-skill", "arguments": {"name": "refunds"}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "refunds"}),
    ("ping", {}),
]
INFO = {"name": "old", "version": "1"}

over_both = pytest.mark.parametrize("transport", ["stdio", "http"])


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    write_skill(tmp_path, "refunds", {"blob.bin": bytes(range(256))})
    return tmp_path


@pytest.fixture
def opened() -> Generator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connect(opened: ExitStack, transport: str, version: str, skills: Path, *options: str) -> Peer:
    if transport == "stdio":
        command = skillwire("serve", skills, "--no-config", *options)
        return opened.enter_context(StdioPeer(version, command))
    server = opened.enter_context(HttpServer(skills, "--no-config", "--http", "127.0.0.1:0", *options))
    peer = HttpPeer(version, server.url)
    opened.callback(peer.close)
    return peer


def without_id(answer: Mapping[str, Any]) -> Message:
    return {key: value for key, value in answer.items() if key != "id"}


@over_both
def test_the_oldest_version_is_accepted_and_named(opened: ExitStack, transport: str, skills: Path) -> None:
    peer = connect(opened, transport, OLDEST, skills)
    assert peer.handshake["protocolVersion"] == OLDEST == VERSIONS[-1]
    assert peer.handshake["serverInfo"]["name"] == "skillwire"
    assert "skill://refunds/SKILL.md" in peer.handshake["instructions"]
    assert peer.result("skills/list")["skills"][0]["uri"] == REFUNDS


@over_both
def test_the_oldest_version_gets_the_answers_of_later_versions(
    opened: ExitStack, transport: str, skills: Path
) -> None:
    old = connect(opened, transport, OLDEST, skills)
    uncached = connect(opened, transport, OLDEST, skills, "--no-cache")
    later = connect(opened, transport, NEWEST_WITH_HANDSHAKE, skills)
    for method, params in REQUESTS:
        expected = without_id(later.request(method, params))
        assert without_id(uncached.request(method, params)) == expected
        for _ in range(3):  # computed, computed and stored, stored
            assert without_id(old.request(method, params)) == expected


@over_both
@pytest.mark.parametrize("version", ["2024-10-07", "9999-01-01", "", "1.0"])
def test_an_unknown_version_is_answered_with_the_newest_handshake(
    opened: ExitStack, transport: str, version: str, skills: Path
) -> None:
    peer = connect(opened, transport, version, skills)
    answer = peer.exchange(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO},
        }
    )
    assert answer["result"]["protocolVersion"] == NEWEST_WITH_HANDSHAKE


def test_an_old_http_client_may_omit_the_version_header(opened: ExitStack, skills: Path) -> None:
    peer = connect(opened, "http", OLDEST, skills)
    assert isinstance(peer, HttpPeer)
    assert peer.handshake["protocolVersion"] == OLDEST
    session = {"mcp-session-id": peer.session_headers["mcp-session-id"]}
    request = {"jsonrpc": "2.0", "id": 7, "method": "skills/list"}
    for headers in (session, {**session, "mcp-protocol-version": OLDEST}):
        answer = peer.http.post(peer.url, json=request, headers=headers)
        assert answer.status_code == 200
        assert answer.json()["result"]["skills"][0]["uri"] == REFUNDS


def test_the_transport_of_the_oldest_version_is_not_served(opened: ExitStack, skills: Path) -> None:
    peer = connect(opened, "http", OLDEST, skills)
    assert isinstance(peer, HttpPeer)
    events = {"accept": "text/event-stream"}
    assert peer.http.get(peer.url.replace("/mcp", "/sse"), headers=events).status_code == 404
