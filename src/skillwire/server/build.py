"""Surfaces to an MCP server of the official SDK."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.server.lowlevel.server import Server

from skillwire.server.announce import Announcer
from skillwire.server.handlers import Context, Params, handler
from skillwire.surfaces.base import ListKind, Surface, all_extensions, all_methods
from skillwire.wire.messages import Freshness


def build_server(
    surfaces: Sequence[Surface],
    *,
    name: str,
    version: str,
    instructions: str | None = None,
    freshness: Freshness | None = None,
    announcer: Announcer | None = None,
) -> Server[Any]:
    """Return a server that answers the methods of `surfaces` on every protocol version (S2).

    With an `announcer`, clients are told of changes for as long as the server runs.
    """
    server: Server[Any] = Server(name, version=version, instructions=instructions)
    if announcer is not None:
        server = _announcing(announcer, name, version, instructions)
    for method, answer in all_methods(surfaces).items():
        server.add_request_handler(method, Params, handler(method, answer, freshness or Freshness()))
    server.extensions.update(all_extensions(surfaces))
    server.middleware.append(_introduce(server, surfaces, announcer))
    return server


def _announcing(announcer: Announcer, name: str, version: str, instructions: str | None) -> Server[Any]:
    """Return a server whose clients can subscribe, each in the way of its version."""

    @asynccontextmanager
    async def lifespan(_server: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        async with announcer.running():
            yield {}

    return Server(
        name,
        version=version,
        instructions=instructions,
        lifespan=lifespan,
        on_subscribe_resource=announcer.subscribe,
        on_unsubscribe_resource=announcer.unsubscribe,
        on_subscriptions_listen=announcer.listen,
    )


def _introduce(
    server: Server[Any], surfaces: Sequence[Surface], announcer: Announcer | None
) -> ServerMiddleware[Any]:
    """Complete what a new client is told: instructions as of now, and what the SDK leaves out (S1)."""

    async def middleware(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized" and announcer is not None:
            announcer.welcome(ctx)
        if ctx.method not in {"initialize", "server/discover"} or not isinstance(result, dict):
            return result
        capabilities = result["capabilities"]
        if ctx.method == "initialize":
            capabilities["extensions"] = dict(server.extensions)
        for kind in ListKind:
            if kind in capabilities:
                capabilities[kind]["listChanged"] = announcer is not None and kind in announcer.lists
        if text := all_instructions(server.instructions, surfaces):
            result["instructions"] = text
        return result

    return middleware


def all_instructions(own: str | None, surfaces: Sequence[Surface]) -> str:
    """Return what a new client is told: the server's own words, then those of the surfaces."""
    parts = [own or "", *(surface.instructions() for surface in surfaces)]
    return "\n\n".join(part for part in parts if part)
