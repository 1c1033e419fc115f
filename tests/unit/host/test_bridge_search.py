"""Searching through a bridge: only what is approved now is found, over stdio and over HTTP."""

import os
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from skillwire.library import Audience
from tests.support.bridges import open_bridge
from tests.support.hosts import Person, open_host
from tests.support.links import Wire
from tests.support.peers import MODERN, PATIENCE, HttpPeer, HttpServer, Message, Peer, StdioPeer, skillwire
from tests.support.scripted import ScriptedServer
from tests.support.skills import write, write_skill

Env = Mapping[str, str]
Open = Callable[[str, Env], AbstractContextManager[Peer]]


class StdioClient(StdioPeer):
    """A client that does not look at notifications while it waits for a response."""

    def exchange(self, message: Message) -> Message:
        received = super().exchange(message)
        while "id" not in received:
            received = self.receive()
        return received


@contextmanager
def over_stdio(url: str, env: Env) -> Generator[Peer]:
    with StdioClient("2025-11-25", skillwire("bridge", url), env) as peer:
        yield peer
        assert peer.close() == 0
        assert "Traceback" not in peer.stderr()


@contextmanager
def over_http(url: str, env: Env) -> Generator[Peer]:
    with HttpServer(url, "--http", "127.0.0.1:0", env=env, command="bridge") as server:
        peer = HttpPeer(MODERN, server.url)
        yield peer
        peer.close()
        assert "Traceback" not in "".join(server.log)


@pytest.fixture
def env(tmp_path: Path) -> Env:
    return {**os.environ, "HOME": str(tmp_path), "SKILLWIRE_STATE_DIR": str(tmp_path / "state")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("refunds", "returns"):
        write_skill(tmp_path / "skills", name)
    return tmp_path / "skills"


@pytest.fixture
def upstream(folder: Path, env: Env) -> Iterator[HttpServer]:
    with HttpServer(folder, "--no-config", "--http", "127.0.0.1:0", env=env) as server:
        yield server


def found_by(peer: Peer, query: str) -> list[str]:
    answer = peer.result("tools/call", {"name": "search-skills", "arguments": {"query": query}})
    assert answer["isError"] is False, answer
    assert answer["structuredContent"]["total"] == len(answer["structuredContent"]["results"])
    names = [each["name"] for each in answer["structuredContent"]["results"]]
    assert all(name.startswith("127.0.0.1-") for name in names), names  # the label of the server
    return [name.rpartition("/")[2] for name in names]


def until_found(peer: Peer, query: str, expected: Sequence[str]) -> None:
    """Search until the bridge has noticed a change. Nothing unexpected may ever be found meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while (found := found_by(peer, query)) != expected:
        assert time.monotonic() < deadline, found


def approve(skill: str, url: str, env: Env) -> None:
    run("approve", skill, "--from", url, "--yes", env=env)


def run(*arguments: str, env: Env) -> None:
    subprocess.run(
        skillwire(*arguments),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
        env=dict(env),
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("connect", [over_stdio, over_http])
def test_bridge_finds_exactly_the_skills_that_are_approved_now(
    connect: Open, upstream: HttpServer, folder: Path, env: Env
) -> None:
    label = upstream.url.removeprefix("http://").replace(":", "-").replace("/", "-")
    with connect(upstream.url, env) as peer:
        assert len(peer.result("skills/list", {})["skills"]) == 2
        assert found_by(peer, "refunds returns") == []
        assert found_by(peer, "refnds") == []  # not even as a correction
        approve(f"{label}:refunds", upstream.url, env)
        until_found(peer, "refunds returns", ["refunds"])
        (name,) = found_by(peer, "refunds")
        arguments = {"name": f"{label}/{name}"}
        loaded = peer.result("tools/call", {"name": "load-skill", "arguments": arguments})
        assert loaded["isError"] is False
        approve(f"{label}:returns", upstream.url, env)
        until_found(peer, "refunds returns", ["refunds", "returns"])
        write(folder, {"refunds/new.md": "A file that no one has approved.\n"})
        until_found(peer, "refunds returns", ["returns"])
        approve(f"{label}:refunds", upstream.url, env)
        until_found(peer, "refunds returns", ["refunds", "returns"])
        assert found_by(peer, "new.md") == ["refunds"]
        run("revoke", f"{label}:returns", "--yes", env=env)
        until_found(peer, "refunds returns", ["refunds"])


def test_approved_skill_is_found_once_its_notification_came(upstream: HttpServer, env: Env) -> None:
    label = upstream.url.removeprefix("http://").replace(":", "-").replace("/", "-")
    with StdioPeer("2025-11-25", skillwire("bridge", upstream.url), env) as peer:
        assert found_by(peer, "refunds") == []
        approve(f"{label}:refunds", upstream.url, env)
        while peer.receive().get("method") != "notifications/prompts/list_changed":
            pass
        assert found_by(peer, "refunds") == ["refunds"]


@pytest.mark.anyio
async def test_bridge_and_host_return_the_same_order() -> None:
    words = ["refund", "invoice", "slide", "chart"]
    scripts = {label: ScriptedServer() for label in ("acme", "desk")}
    for number in range(24):
        text = " ".join(words[(number * step) % 4] for step in range(1, 2 + number % 3))
        fields: Mapping[str, Any] = {"when_to_use": f"For {text}."}
        scripts["acme" if number % 3 else "desk"].publish(f"s{number:02}", fields=fields)
    wires = {label: Wire(script.server()) for label, script in scripts.items()}
    async with open_bridge(wires, trusted=scripts) as bridge, open_host("auto", Person(), **scripts) as host:
        for query in ("refund", "invoice slide", "chart refund", "s05", "invoise slides"):
            ours = await host.search(query, limit=50, audience=Audience.MODELS)
            theirs = await bridge.library.search(query, limit=50, audience=Audience.MODELS)
            assert ours.total == theirs.total > 0, query
            names = [each.name.replace(":", "/") for each in ours.results]
            assert names == [each.name for each in theirs.results]
