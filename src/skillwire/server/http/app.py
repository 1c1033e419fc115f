"""Build the ASGI application for MCP over streamable HTTP, with its guards, and run it with uvicorn."""

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any, cast

import anyio
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from skillwire.server.build import cached_skills
from skillwire.server.http.access_log import AccessLog
from skillwire.server.http.address import HostPolicy
from skillwire.server.http.byte_budget import BudgetGuard, ByteBudget
from skillwire.server.http.cache import ResponseCacheMiddleware
from skillwire.server.http.connections import Connections, GuardedConfig, HttpLimits
from skillwire.server.http.middleware import (
    HEALTH_PATH,
    HostGuard,
    MessageGuard,
    SessionLimit,
    StreamCloser,
    TokenGuard,
)
from skillwire.server.http.routes import HttpMount
from skillwire.server.response_cache import ResponseCache
from skillwire.server.signals import on_stop_signal

MCP_PATH = "/mcp"
_HTTPTOOLS, _H11, _SOCKETS = (
    "skillwire.server.http.httptools_protocol:BoundedHttptoolsProtocol",
    "skillwire.server.http.h11_protocol:BoundedH11Protocol",
    "skillwire.server.http.websocket_protocol:BoundedWebSocketProtocol",
)
"""Protocol classes for uvicorn, given by name, so that only the protocol in use is loaded."""
_LAST_ANSWERS = 1
"""Seconds in which open requests can finish after the server was told to stop."""
_TICKS = 10
"""Ticks between two sweeps of all connections. uvicorn ticks ten times a second."""


class Application:
    """The ASGI application with its limits. `close` ends its open streams."""

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
    mount: HttpMount | None = None,
    *,
    cache: ResponseCache | bool = True,
    limits: HttpLimits | None = None,
    access_log: bool = False,
) -> Application:
    """Return the ASGI application of a server, for every protocol version.

    It answers MCP at `/mcp` and `/mcp/`, the health check at `/healthz`, and the routes of `mount`. By
    default, frequent requests are answered from the server's own cache, unless you added middleware or
    handlers to the server. With `cache`, pass another cache, or False for none. With
    `access_log`, print a line on stderr for each request.
    """
    more, bounds = mount or HttpMount(), limits or HttpLimits()
    budget = ByteBudget(bounds.buffered_bytes)
    routes: list[BaseRoute] = [Route(HEALTH_PATH, _health, methods=["GET"]), *more.routes]
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        json_response=True,
        stateless_http=False,
        max_sessions=None,  # `SessionLimit` limits sessions without refusing new clients
        # `HostGuard` protects all paths, not just this one.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        # The SDK accepts every kind of route, although its signature names only one.
        custom_starlette_routes=cast("list[Route]", routes),
    )
    app = MessageGuard(SessionLimit(app, MCP_PATH, bounds.sessions), MCP_PATH)
    streams = StreamCloser(app)
    app = BudgetGuard(streams, budget)
    if cache is True:
        app = ResponseCacheMiddleware(app, partial(_cache_of, server), MCP_PATH, budget)
    elif cache is not False:
        app = ResponseCacheMiddleware(app, cache, MCP_PATH, budget)
    if token is not None:
        app = TokenGuard(app, token, open_paths=more.open_paths, is_authorized=more.is_authorized)
    if policy.origins:  # browsers send a preflight request, and enforce the response
        app = CORSMiddleware(
            app,
            allow_origins=sorted(policy.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            allow_credentials=more.credentials,
            expose_headers=["Mcp-Session-Id"],
        )
    app = _WithoutSlash(HostGuard(_MountLifespan(app, more), policy))
    return Application(AccessLog(app) if access_log else app, streams, bounds, budget)


class _WithoutSlash:
    """Answers `/mcp/` as `/mcp`. Clients often cannot follow a redirect of a request with a body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == f"{MCP_PATH}/":
            scope = {**scope, "path": MCP_PATH, "raw_path": MCP_PATH.encode()}
        await self._app(scope, receive, send)


def _cache_of(server: Server[Any]) -> ResponseCache | None:
    cached = cached_skills(server)
    return None if cached is None else cached.cache


async def serve_http(
    app: Application,
    listening: socket.socket,
    announce: Callable[[], None],
    mount: HttpMount | None = None,
    *,
    stop: anyio.Event | None = None,
) -> None:
    """Serve until `stop` is set or this call is cancelled.

    `announce` is called once requests are accepted. If Skillwire owns the process, SIGINT and SIGTERM also
    stop the server.
    """
    more = mount or HttpMount()
    serving = GracefulServer(app, more, announce)

    def end() -> None:
        app.close()
        more.close()
        serving.stop()

    async def end_when_set(stop: anyio.Event) -> None:
        await stop.wait()
        end()

    async with on_stop_signal(end), anyio.create_task_group() as tasks:
        if stop is not None:
            tasks.start_soon(end_when_set, stop)
        try:
            await serving.serve(sockets=[listening])
        except anyio.get_cancelled_exc_class():
            end()
            with anyio.CancelScope(shield=True):
                await serving.leave(listening)
            raise
        tasks.cancel_scope.cancel()


def _config(app: Application, mount: HttpMount) -> GuardedConfig:
    config = GuardedConfig(
        app,
        http=_H11 if find_spec("httptools") is None else _HTTPTOOLS,
        ws="none" if mount.message_bytes is None else _SOCKETS,
        ws_max_size=mount.message_bytes or 0,
        ws_ping_interval=None,  # Drive sessions check whether the client is alive
        ws_per_message_deflate=False,  # compression takes more memory per connection than the messages
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_LAST_ANSWERS,
    )
    config.guard = Connections(app.limits, mount.connections)
    config.budget = app.budget
    return config


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


class _MountLifespan:
    """Runs a mount while the application runs."""

    def __init__(self, app: ASGIApp, mount: HttpMount) -> None:
        self._app = app
        self._mount = mount

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            async with self._mount.running():
                await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class GracefulServer(uvicorn.Server):
    """uvicorn, with connection limits and an announcement at startup, but without its signal handling.

    uvicorn's signal handling would end the process with the signal's exit code.
    """

    def __init__(self, app: Application, mount: HttpMount, announce: Callable[[], None]) -> None:
        config = _config(app, mount)
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

    async def leave(self, listening: socket.socket) -> None:
        """Close every connection and the port after a cancellation."""
        if self.started:
            await self.shutdown([listening])
        listening.close()
