"""An MCP server over streamable HTTP: `/mcp`, `/healthz`, and the walls around them."""

import socket
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from skillwire.server.address import HostPolicy
from skillwire.server.guard import HEALTH_PATH, HostGuard, TokenGuard, nobody
from skillwire.server.http_lane import HttpLane
from skillwire.server.lane import Lane
from skillwire.server.message_guard import MessageGuard
from skillwire.server.protocol import http_protocol
from skillwire.server.signals import on_stop_signal
from skillwire.server.streams import StreamCloser

MCP_PATH = "/mcp"
_MAX_SESSIONS = 1000
_MAX_CONNECTIONS = 1000
_SOCKETS = "skillwire.server.socket_protocol:BoundedSocket"
"""By name: a server without WebSockets need not load it."""
_LAST_ANSWERS = 1
"""Seconds that open requests have after the signal to stop. A stream that never ends gets no more."""


@dataclass(frozen=True, slots=True)
class Annex:
    """What else the application holds, behind the same walls."""

    routes: tuple[BaseRoute, ...] = ()
    open_paths: frozenset[str] = frozenset()
    """Paths that need no token, because what stands there asks for it in its own way."""
    vouches: Callable[[Scope], bool] = nobody
    """Whether a request without the token has shown otherwise that it knows it."""
    credentials: bool = False
    """Whether pages of allowed origins may send cookies."""
    connections: int = 0
    """Connections that it keeps open."""
    message_bytes: int | None = None
    """How large a message on a WebSocket may be; None where there are no WebSockets."""
    running: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Entered for as long as the application runs."""
    close: Callable[[], None] = lambda: None
    """Called when the server is to end: what waits must wait no more."""


class Application:
    """The whole application, and how to end what it would never end itself."""

    def __init__(self, app: ASGIApp, streams: StreamCloser) -> None:
        self._app = app
        self.close = streams.close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def http_app(
    server: Server[Any],
    policy: HostPolicy,
    token: str | None = None,
    annex: Annex | None = None,
    lane: Lane | None = None,
) -> Application:
    """Return the whole application. Both protocol eras share one path."""
    more = annex or Annex()
    routes: list[BaseRoute] = [Route(HEALTH_PATH, _healthy, methods=["GET"]), *more.routes]
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        json_response=True,
        stateless_http=False,
        max_sessions=_MAX_SESSIONS,
        # Our own guard stands around everything, not just this path.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        # The SDK puts them beside its own, whatever their kind, though it names only one.
        custom_starlette_routes=cast("list[Route]", routes),
    )
    app = streams = StreamCloser(MessageGuard(app, MCP_PATH))
    if lane is not None:
        app = HttpLane(app, lane, MCP_PATH)
    if token is not None:
        app = TokenGuard(app, token, open_paths=more.open_paths, vouches=more.vouches)
    if policy.origins:  # a browser asks before it sends, and shows the page only what it may see
        app = CORSMiddleware(
            app,
            allow_origins=sorted(policy.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            allow_credentials=more.credentials,
            expose_headers=["Mcp-Session-Id"],
        )
    return Application(HostGuard(_During(app, more), policy), streams)


async def serve_http(
    app: Application, listening: socket.socket, announce: Callable[[], None], annex: Annex | None = None
) -> None:
    """Serve until a signal to stop arrives; `announce` is called when the first request can be answered."""
    more = annex or Annex()
    serving = Serving(app, more, announce)

    def stop() -> None:
        app.close()
        more.close()
        serving.stop()

    async with on_stop_signal(stop):
        await serving.serve(sockets=[listening])


def _config(app: ASGIApp, annex: Annex) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=http_protocol(),
        ws="none" if annex.message_bytes is None else _SOCKETS,
        ws_max_size=annex.message_bytes or 0,
        ws_ping_interval=None,  # sessions look for signs of life themselves
        ws_per_message_deflate=False,  # it keeps more memory for each connection than its messages have
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_MAX_CONNECTIONS + annex.connections,
        timeout_graceful_shutdown=_LAST_ANSWERS,
    )


async def _healthy(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class _During:
    """Lets the annex run for as long as the application does."""

    def __init__(self, app: ASGIApp, annex: Annex) -> None:
        self._app = app
        self._annex = annex

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            async with self._annex.running():
                await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class Serving(uvicorn.Server):
    """uvicorn without its own signal handling, which would end the process with the signal's exit code."""

    def __init__(self, app: ASGIApp, annex: Annex, announce: Callable[[], None]) -> None:
        super().__init__(_config(app, annex))
        self._announce = announce

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._announce()

    def stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
