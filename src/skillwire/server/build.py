"""Surfaces to an MCP server of the official SDK. The boundary where our errors become JSON-RPC errors."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict

from skillwire.model.errors import NotServedError, RequestError, SkillwireError
from skillwire.server.announce import Announcer
from skillwire.surfaces.base import Answer, Call, ListKind, Method, Surface, all_extensions, all_methods
from skillwire.wire.messages import CACHEABLE, Freshness
from skillwire.wire.translate import complete

_log = logging.getLogger(__name__)

_Context: TypeAlias = ServerRequestContext[Any, Any]
_Handler: TypeAlias = Callable[[_Context, types.RequestParams], Awaitable[dict[str, Any]]]

_ECHOED = 2048
"""How long a URI may be to be repeated in an error."""


class _Params(types.RequestParams):
    """Takes anything: each surface looks at its own parameters, and says what is wrong with them."""

    model_config = ConfigDict(extra="allow")


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
        fresh = (freshness or Freshness()) if method in CACHEABLE else None
        server.add_request_handler(method, _Params, _handler(method, answer, fresh))
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


def _handler(name: str, method: Method, freshness: Freshness | None) -> _Handler:
    async def handle(context: _Context, _params: types.RequestParams) -> dict[str, Any]:
        answer = await _answered(name, method, Call(context.params or {}))
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return answer.result
        return complete(
            answer.result, replace(freshness, ttl_ms=0) if freshness and answer.live else freshness
        )

    return handle


async def _answered(name: str, method: Method, call: Call) -> Answer:
    try:
        return await method(call)
    except NotServedError as error:
        data = {"uri": error.uri} if len(error.uri) <= _ECHOED else None
        raise MCPError(types.INVALID_PARAMS, str(error), data) from error
    except RequestError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error
    except SkillwireError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
    except Exception as error:  # anything else would reach older clients in its own words
        _log.exception("`%s` failed", name)
        raise MCPError(types.INTERNAL_ERROR, "internal error; the server's log says more") from error


def _introduce(
    server: Server[Any], surfaces: Sequence[Surface], announcer: Announcer | None
) -> ServerMiddleware[Any]:
    """Complete what a new client is told: instructions as of now, and what the SDK leaves out (S1)."""

    async def middleware(ctx: _Context, call_next: CallNext) -> HandlerResult:
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
        parts = [server.instructions or "", *(surface.instructions() for surface in surfaces)]
        if text := "\n\n".join(part for part in parts if part):
            result["instructions"] = text
        return result

    return middleware
