"""One library behind two servers in this process: with the cache and without, on pipes and on HTTP."""

import json
import os
import select
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.server.lowlevel.server import Server

from skillwire import FolderSource, Library, ServeOptions, Source, __version__
from skillwire.server import Address, Freshness, HostPolicy, http_app, skills_server
from skillwire.server.cached_requests import Question
from skillwire.server.http.app import Application
from skillwire.server.response_cache import ResponseCache
from skillwire.server.serve_options import NAME, all_features
from skillwire.server.stdio.serve import serve_pipes
from tests.support.peers import MODERN, PATIENCE

PREFIX = "io.modelcontextprotocol/"
HOST = (b"host", b"127.0.0.1:8765")
FRESHNESS = Freshness(1234, private=True)

Headers = Sequence[tuple[bytes, bytes]]


class CountingCache(ResponseCache):
    """A response cache that counts what it answered, and what it made without waiting."""

    answered = made = 0

    def get_cached(self, cache_key: Question) -> bytes | None:
        found = super().get_cached(cache_key)
        self.answered += found is not None
        return found

    def answer_now(self, cache_key: Question) -> bytes | None:
        made = super().answer_now(cache_key)
        self.answered += made is not None
        self.made += made is not None
        return made

    async def prepare(self, cache_key: Question) -> bytes | None:
        made = await super().prepare(cache_key)
        self.answered += made is not None
        return made


class PipeClient:
    """A client of a stdio server. It sends the exact bytes that a test specifies."""

    def __init__(
        self, portal: BlockingPortal, server: Server[Any], response_cache: ResponseCache | None
    ) -> None:
        source, self._to = os.pipe()
        self._from, sink = os.pipe()
        self._done = portal.start_task_soon(serve_pipes, source, sink, lambda: server, response_cache)
        self._theirs = source, sink
        self._rest = b""

    def send(self, line: bytes) -> None:
        self.write(line + b"\n")

    def write(self, piece: bytes) -> None:
        """Send what may be a part of a line."""
        os.write(self._to, piece)

    def receive(self) -> Any:
        """Return the next message."""
        while b"\n" not in self._rest:
            assert select.select([self._from], [], [], PATIENCE)[0], "no answer"
            self._rest += os.read(self._from, 1 << 16)
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def ask(self, line: bytes) -> Any:
        """Return what came back for a line that is answered."""
        self.send(line)
        return self.receive()

    def close(self) -> None:
        os.close(self._to)
        self._done.result(PATIENCE)
        for descriptor in (self._from, *self._theirs):
            os.close(descriptor)


class AsgiClient:
    """A client of a whole HTTP application, without the network."""

    def __init__(self, portal: BlockingPortal, app: Application) -> None:
        self._portal, self._app = portal, app
        self._ending = anyio.Event()
        self._started = False
        self._done = portal.start_task_soon(self._run_lifespan)
        while not self._started:
            portal.call(anyio.lowlevel.checkpoint)

    def post(self, headers: Headers, body: bytes, path: str = "/mcp") -> tuple[int, dict[bytes, bytes], Any]:
        """Return the status, the headers and the JSON of an answer."""
        return self._portal.call(self._post, headers, body, path)

    def close(self) -> None:
        self._portal.call(self._ending.set)
        self._done.result(PATIENCE)

    async def _post(self, headers: Headers, body: bytes, path: str) -> tuple[int, dict[bytes, bytes], Any]:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "scheme": "http",
            "server": ("127.0.0.1", 8765),
            "client": ("127.0.0.1", 1),
            "headers": [HOST, *headers, (b"content-length", str(len(body)).encode())],
        }
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])
        sent: list[Any] = []

        async def receive() -> Any:
            return next(messages, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        content = b"".join(each.get("body", b"") for each in sent)
        return sent[0]["status"], dict(sent[0]["headers"]), json.loads(content) if content else None

    async def _run_lifespan(self) -> None:
        begun = False

        async def receive() -> Any:
            nonlocal begun
            if not begun:
                begun = True
                return {"type": "lifespan.startup"}
            await self._ending.wait()
            return {"type": "lifespan.shutdown"}

        async def send(message: Any) -> None:
            assert "failed" not in message["type"], message
            self._started = True

        await self._app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)


@dataclass(frozen=True, slots=True)
class ServerPair:
    """The two servers, and the response cache of the first."""

    library: Library
    response_cache: CountingCache
    with_cache: PipeClient
    without: PipeClient
    posts_with_cache: AsgiClient
    posts_without: AsgiClient

    def close(self) -> None:
        for each in (self.with_cache, self.without, self.posts_with_cache, self.posts_without):
            each.close()


@contextmanager
def both(
    root: Path | Source, options: ServeOptions | None = None, budget: int = 1 << 24
) -> Generator[ServerPair]:
    """Serve a folder, or another source, twice."""
    with start_blocking_portal() as portal:
        library = Library([FolderSource(root) if isinstance(root, Path) else root])
        portal.call(library.load)
        features = all_features(library, options or ServeOptions())
        response_cache = CountingCache(features, FRESHNESS, name=NAME, version=__version__, budget=budget)

        def server() -> Server[Any]:
            return skills_server(library, freshness=FRESHNESS, features=features)

        policy = HostPolicy(Address("127.0.0.1", 8765))
        served = ServerPair(
            library,
            response_cache,
            PipeClient(portal, server(), response_cache),
            PipeClient(portal, server(), None),
            AsgiClient(portal, http_app(server(), policy, cache=response_cache)),
            AsgiClient(portal, http_app(server(), policy, cache=False)),
        )
        yield served
        served.close()


def envelope(**more: object) -> dict[str, Any]:
    """Return the `_meta` of a modern request."""
    plain = {
        f"{PREFIX}protocolVersion": MODERN,
        f"{PREFIX}clientInfo": {"name": "both", "version": "1"},
        f"{PREFIX}clientCapabilities": {},
    }
    return plain | more


def modern(method: str, identity: object = 1, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": {"_meta": envelope(), **params}}


def headers_for(message: Mapping[str, Any]) -> Headers:
    """Return the headers that a modern client sends with a message."""
    params = message.get("params")
    name = cast("dict[str, Any]", params).get("uri") if isinstance(params, dict) else None
    named = (
        [(b"mcp-name", name.encode())]
        if isinstance(name, str) and name.isascii() and name.isprintable()
        else []
    )
    return [
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
        (b"mcp-protocol-version", MODERN.encode()),
        (b"mcp-method", str(message.get("method")).encode()),
        *named,
    ]
