"""The URLs of servers: redirects, a slash at the end, and URLs with parts missing."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from skillwire import Host, Target
from skillwire.config.source_kinds import canonical_place, explicit_server

pytestmark = pytest.mark.anyio


@contextmanager
def redirecting(received: list[tuple[str, str]]) -> Generator[str]:
    """A server that redirects `/mcp/` to `/mcp`, where it knows no method. Yields its origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            received.append((self.path, asked["method"]))
            error = {"code": -32601, "message": "unknown here"}
            body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "error": error}).encode()
            self.send_response(307 if self.path == "/mcp/" else 200)
            self.send_header("location", "/mcp")
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def failure_of(url: str) -> str:
    async with Host([Target("acme", url=url)]) as host:
        (problem,) = (await host.discover()).problems
    return problem.message


async def test_a_redirect_on_the_same_origin_is_followed() -> None:
    received: list[tuple[str, str]] = []
    with redirecting(received) as origin:
        assert "unknown here" in await failure_of(f"{origin}/mcp/")
    assert received
    assert {path for path, _ in received} == {"/mcp", "/mcp/"}
    assert [method for path, method in received if path == "/mcp/"] == [
        method for path, method in received if path == "/mcp"
    ]


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://acme.example/mcp", "mcp+https://acme.example/mcp"),
        ("https://acme.example/mcp/", "mcp+https://acme.example/mcp"),
        ("https://acme.example/a/MCP/?b=/mcp/", "mcp+https://acme.example/a/MCP?b=/mcp/"),
        ("mcp+https://acme.example/mcp/", "mcp+https://acme.example/mcp/"),
    ],
)
def test_a_slash_is_stored_only_after_an_explicit_prefix(url: str, stored: str) -> None:
    assert explicit_server(url) == stored
    assert canonical_place(url) == stored
