"""Changes over HTTP need a session of the page, or a token. On stdio, the client is the user's own."""

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from skillwire import ServeOptions
from skillwire.app.gateway import open_served_library
from skillwire.config.file import ConfigFile
from skillwire.config.source_config import LibraryOptions
from skillwire.pages.serving import PagesPart
from skillwire.server import Address, HostPolicy, http_app, listen, skills_server
from skillwire.server.http.app import GracefulServer
from skillwire.server.http.routes import HttpMount
from tests.support.peers import PATIENCE, VERSIONS, HttpPeer, HttpServer, StdioPeer, skillwire
from tests.support.skills import write_skill
from tests.unit.pages.test_access import CHANGES, CONFIG, TOKEN, URI, VISIBILITY, Browser

ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("changes")
    write_skill(root / "skills", "one")
    return root


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[HttpServer]:
    """A server that may be changed, has no token, and lets pages of another origin call it."""
    options = ("--http", "0", "--allow-config", "--config", home / "open.toml", "--allow-origin", ORIGIN)
    with HttpServer(home / "skills", *options) as server:
        yield server


def tool_names(peer: HttpPeer | StdioPeer) -> set[str]:
    return {tool["name"] for tool in peer.result("tools/list")["tools"]}


def called(peer: HttpPeer | StdioPeer, name: str, arguments: dict[str, object]) -> Any:
    return peer.result("tools/call", {"name": name, "arguments": arguments})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("origin", [None, ORIGIN, "http://127.0.0.1:1", "http://localhost:1"])
def test_without_a_token_no_mcp_client_changes_anything(
    server: HttpServer, home: Path, version: str, origin: str | None
) -> None:
    peer = HttpPeer(version, server.url)
    if origin is not None:
        peer.http.headers["origin"] = origin
    assert not tool_names(peer) & CHANGES.keys()
    for name, arguments in CHANGES.items():
        refused = called(peer, name, arguments)
        assert refused["isError"] is True, name
        assert "--token-env" in refused["content"][0]["text"]
    config = called(peer, "skill-config", {})["structuredContent"]
    assert (config["editable"], config["static"], config["configFile"]) == (False, False, "")
    assert str(home) not in str(config)
    assert not (home / "open.toml").exists()
    peer.close()


def test_page_session_does_not_open_the_mcp_tools(server: HttpServer) -> None:
    with Browser(server.base) as browser:
        assert browser.redeem(server.key()).status_code == 200
        peer = HttpPeer(VERSIONS[0], server.url)
        peer.http.headers |= {
            "x-skillwire-session": browser.identity,
            "authorization": f"Bearer {browser.identity}",
        }
        assert called(peer, "skill-config-static", {"static": True})["isError"] is True
        peer.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_with_a_token_the_tools_of_mcp_work_over_http(home: Path, version: str) -> None:
    environment = {**os.environ, "PAGE_TOKEN": TOKEN}
    options = ("--http", "0", "--allow-config", "--config", home / "token.toml", "--token-env", "PAGE_TOKEN")
    with HttpServer(home / "skills", *options, env=environment) as server:
        assert not any("#key=" in line for line in server.log)
        peer = HttpPeer(version, server.url, TOKEN)
        assert tool_names(peer) >= CHANGES.keys()
        assert called(peer, "skill-config-static", {"static": False})["structuredContent"] == {"done": True}
        assert called(peer, "skill-config", {})["structuredContent"]["editable"] is True
        peer.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_on_stdio_the_tools_of_mcp_work(home: Path, version: str) -> None:
    command = skillwire("serve", home / "skills", "--allow-config", "--config", home / "stdio.toml")
    with StdioPeer(version, command) as peer:
        assert tool_names(peer) >= CHANGES.keys()
        assert called(peer, "skill-config-static", {"static": False})["structuredContent"] == {"done": True}


def test_without_a_session_pages_can_be_read_and_change_nothing(server: HttpServer) -> None:
    with Browser(server.base) as browser:
        assert browser.session()["canLeave"] is False
        config = browser.call(CONFIG, {}).json()
        assert (config["skills"], config["editable"]) == (1, False)
        assert "#key=" in config["unlock"]
        for action, body in CHANGES.items():
            answer = browser.call(f"/ui/call/{action}", body)
            assert (answer.status_code, "#key=" in answer.json()["hint"]) == (403, True), action


def test_key_opens_one_session_and_server_prints_the_next(server: HttpServer) -> None:
    key = server.key()
    with Browser(server.base) as first, Browser(server.base) as second:
        assert first.redeem(key).status_code == 200
        again = second.redeem(key)
        assert (again.status_code, "session" in again.json()) == (401, False)
        assert second.redeem(server.key()).status_code == 200
        for browser in (first, second):
            assert browser.session()["canLeave"] is True
            assert browser.call(CONFIG, {}).json()["editable"] is True
            assert browser.call(VISIBILITY, {"uri": URI, "user": None}).json() == {"done": True}
        first.http.delete("/ui/session", headers={"x-skillwire-session": first.identity})
        assert first.call(VISIBILITY, {"uri": URI, "user": None}).status_code == 403
        assert second.call(VISIBILITY, {"uri": URI, "user": None}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": ORIGIN},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "HTTP://LOCALHOST:1"},
        {"origin": "http://localhost.:1"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_no_other_page_redeems_a_key(server: HttpServer, headers: dict[str, str]) -> None:
    key = server.key()
    answer = httpx2.post(
        f"{server.base}/ui/session", json={"key": key}, headers=headers, trust_env=False, timeout=PATIENCE
    )
    assert answer.status_code == 403
    with Browser(server.base) as browser:  # nor was the key used up
        assert browser.redeem(key).status_code == 200


@pytest.mark.parametrize("key", ["", "x", "None", "null"])
@pytest.mark.parametrize("kind", ["key", "token"])
def test_invalid_key_opens_no_session(server: HttpServer, kind: str, key: str) -> None:
    answer = httpx2.post(f"{server.base}/ui/session", json={kind: key}, trust_env=False)
    assert answer.status_code == 401


def test_a_server_that_may_not_be_changed_prints_no_key(home: Path) -> None:
    with HttpServer(home / "skills", "--http", "0", "--no-config") as server:
        assert not any("key=" in line for line in server.log)


@asynccontextmanager
async def built_in_code(home: Path, token: str | None) -> AsyncGenerator[str]:
    """Yield the address of a server that somebody built with the library."""
    file = ConfigFile(home / "library.toml")
    parts = [PagesPart(editable=True)]
    gateway = open_served_library([str(home / "skills")], LibraryOptions(), file, parts=parts, editable=True)
    await gateway.library.load()
    options = ServeOptions(additions=gateway.additions)
    listening, bound = listen(Address("127.0.0.1", 0))
    app = http_app(skills_server(gateway.library, options=options), HostPolicy(bound), token)
    ready = anyio.Event()
    serving = GracefulServer(app, HttpMount(), ready.set)

    async def serve() -> None:
        await serving.serve(sockets=[listening])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        with anyio.fail_after(PATIENCE):
            await ready.wait()
        yield f"http://{bound.authority}/mcp"
        app.close()
        serving.stop()


@pytest.mark.anyio
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("token", [None, TOKEN])
async def test_server_built_in_code_follows_the_same_rule(
    home: Path, version: str, token: str | None
) -> None:
    def ask(url: str) -> tuple[bool, bool]:
        peer = HttpPeer(version, url, token)
        try:
            listed = tool_names(peer) >= CHANGES.keys()
            return listed, not called(peer, "skill-config-static", {"static": False})["isError"]
        finally:
            peer.close()

    async with built_in_code(home, token) as url:
        allowed = token is not None
        assert await anyio.to_thread.run_sync(ask, url) == (allowed, allowed)
