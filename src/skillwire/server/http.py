"""An MCP server over streamable HTTP: `/mcp`, `/healthz`, and the guards around them."""

import socket
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
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
from skillwire.server.byte_budget import BudgetGuard, ByteBudget
from skillwire.server.connections import Connections, GuardedConfig, HttpLimits
from skillwire.server.guard import HEALTH_PATH, HostGuard, TokenGuard, nobody
from skillwire.server.http_lane import HttpLane
from skillwire.server.lane import Lane
from skillwire.server.message_guard import MessageGuard
from skillwire.server.session_limit import SessionLimit
from skillwire.server.signals import on_stop_signal
from skillwire.server.streams import StreamCloser

MCP_PATH = "/mcp"
_HTTPTOOLS, _H11, _SOCKETS = (
    "skillwire.server.httptools_protocol:BoundedHttp",
    "skillwire.server.h11_protocol:WatchedHttp",
    "skillwire.server.socket_protocol:BoundedSocket",
)
"""By name: only what is used is loaded."""
_LAST_ANSWERS = 1
"""Seconds that open requests have after the signal to stop. A stream that never ends gets no more."""
_TICKS = 10
"""Between two looks at all connections: uvicorn's server ticks ten times a second."""


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

    def __init__(self, app: ASGIApp, streams: StreamCloser, limits: HttpLimits, budget: ByteBudget) -> None:
        self._app = app
        self.close = streams.close
        self.limits, self.budget = limits, budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def http_app(
    server: Server[Any],
    policy: HostPolicy,
    token: str | None = None,
    annex: Annex | None = None,
    *,
    lane: Lane | None = None,
    limits: HttpLimits | None = None,
) -> Application:
    """Return the ASGI application of a server, for every protocol version."""
    more, bounds = annex or Annex(), limits or HttpLimits()
    budget = ByteBudget(bounds.buffered_bytes)
    routes: list[BaseRoute] = [Route(HEALTH_PATH, _healthy, methods=["GET"]), *more.routes]
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        json_response=True,
        stateless_http=False,
        max_sessions=None,  # `SessionLimit` bounds them, and refuses no new client
        # Our own guard stands around everything, not just this path.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        # The SDK puts them beside its own, whatever their kind, though it names only one.
        custom_starlette_routes=cast("list[Route]", routes),
    )
    app = MessageGuard(SessionLimit(app, MCP_PATH, bounds.sessions), MCP_PATH)
    streams = StreamCloser(app)
    app = BudgetGuard(streams, budget)
    if lane is not None:
        app = HttpLane(app, lane, MCP_PATH, budget)
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
    return Application(HostGuard(_During(app, more), policy), streams, bounds, budget)


async def serve_http(
    app: Application, listening: socket.socket, announce: Callable[[], None], annex: Annex | None = None
) -> None:
    """Serve until a signal to stop. `announce` is called when requests can be answered."""
    more = annex or Annex()
    serving = Serving(app, more, announce)

    def stop() -> None:
        app.close()
        more.close()
        serving.stop()

    async with on_stop_signal(stop):
        await serving.serve(sockets=[listening])


def _config(app: Application, annex: Annex) -> GuardedConfig:
    config = GuardedConfig(
        app,
        http=_H11 if find_spec("httptools") is None else _HTTPTOOLS,
        ws="none" if annex.message_bytes is None else _SOCKETS,
        ws_max_size=annex.message_bytes or 0,
        ws_ping_interval=None,  # sessions look for signs of life themselves
        ws_per_message_deflate=False,  # it keeps more memory for each connection than its messages have
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_LAST_ANSWERS,
    )
    config.guard = Connections(app.limits, annex.connections)
    config.budget = app.budget
    return config


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

    def __init__(self, app: Application, annex: Annex, announce: Callable[[], None]) -> None:
        config = _config(app, annex)
        super().__init__(config)
        self._guard = config.guard
        self._announce = announce

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._announce()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            self._guard.sweep(self.server_state.connections)
        return await super().on_tick(counter)

    def stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
