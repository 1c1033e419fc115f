"""Build an MCP SDK server from features. Translate calls, results and errors between the SDK and features."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict

from skillwire import __version__
from skillwire.errors import NotServedError, RequestError, SkillwireError
from skillwire.features.base import Answer, Call, Feature, ListKind, Method, all_extensions, all_methods
from skillwire.library.library import Library
from skillwire.protocol.messages import CACHEABLE, EXTENSION, Freshness
from skillwire.protocol.translate import complete
from skillwire.server.cached_requests import CACHED_METHODS
from skillwire.server.notifications import ChangeNotifier
from skillwire.server.response_cache import ResponseCache
from skillwire.server.serve_options import NAME, ServeOptions, all_features

TOKEN_PRESENTED = "skillwire.token_shown"  # noqa: S105 - a name
"""ASGI scope key that marks a request with the server's token."""
_log = logging.getLogger(__name__)

Context: TypeAlias = ServerRequestContext[Any, Any]
Handler: TypeAlias = Callable[[Context, Any], Awaitable[Any]]

PRIVATE = Freshness(private=True)
"""The freshness for skills attached to an existing server, where it is unknown which clients may see them
(S12).
"""

_MAX_ECHOED_CHARACTERS = 2048
"""Maximum length of a URI that is repeated in an error."""


class Params(types.RequestParams):
    """Any parameters of a request. Each feature checks its own parameters and reports what is wrong."""

    model_config = ConfigDict(extra="allow")


def handler(name: str, method: Method, freshness: Freshness) -> Handler:
    """Return the SDK handler for the method `name`, for every protocol version."""

    async def handle(context: Context, _params: types.RequestParams) -> dict[str, Any]:
        return await respond(name, method, freshness, context)

    return handle


async def respond(
    name: str, method: Method, freshness: Freshness, context: Context, call: Call | None = None
) -> dict[str, Any]:
    """Return the result of a request, with the fields that its protocol version requires (S12).

    If `call` is given, its parameters replace those of the request.
    """
    params = context.params or {} if call is None else call.params
    answer = await call_method(name, method, Call(params, can_change(context), supports_skills(context)))
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return answer.result
    if name not in CACHEABLE:
        return complete(answer.result, None)
    if context.request is not None and _has_shown_token(context):  # shared caches must not store the result
        freshness = replace(freshness, private=True)
    return complete(answer.result, answer.freshness(freshness))


def can_change(context: Context) -> bool:
    """Return whether a request may change the server.

    A client on stdio belongs to the user. Over HTTP, any local process and pages from allowed origins can
    reach the server. So the request must contain this server's token, or a token that the SDK has verified.
    """
    return context.request is None or _has_shown_token(context)


def _has_shown_token(context: Context) -> bool:
    return shows_token(getattr(context.request, "scope", {}))


def shows_token(scope: Mapping[str, Any]) -> bool:
    """Return whether an HTTP request contains this server's token, or a token that the SDK has verified."""
    return TOKEN_PRESENTED in scope or isinstance(scope.get("user"), AuthenticatedUser)


def supports_skills(context: Context) -> bool:
    """Return whether the client declares the Skills extension, in its handshake or with this request."""
    declared = context.session.client_capabilities
    return declared is not None and EXTENSION in (declared.extensions or {})


async def call_method(name: str, method: Method, call: Call) -> Answer:
    """Call `method` and return its answer. Every exception becomes an `MCPError` with a JSON-RPC code."""
    try:
        return await method(call)
    except NotServedError as error:
        data = {"uri": error.uri} if len(error.uri) <= _MAX_ECHOED_CHARACTERS else None
        raise MCPError(types.INVALID_PARAMS, str(error), data) from error
    except RequestError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error
    except SkillwireError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
    except Exception as error:  # the SDK would send the text of any other error to older clients
        _log.exception("`%s` failed", name)
        raise MCPError(types.INTERNAL_ERROR, "internal error; see the server's log") from error


def build_server(
    features: Sequence[Feature],
    *,
    name: str,
    version: str,
    instructions: str | None = None,
    freshness: Freshness | None = None,
    notifier: ChangeNotifier | None = None,
    cache: ResponseCache | None = None,
) -> Server[Any]:
    """Return a server that answers the methods of `features` on every protocol version (S2).

    With a `notifier`, clients are notified of changes while the server runs. The server then also gets a
    response cache, which is `cache` or a new one, unless `features` is empty.
    """
    server = _SkillsServer(name, version=version, instructions=instructions)
    if notifier is not None:
        server = _build_notifying_server(notifier, name, version, instructions)
    for method, answer in all_methods(features).items():
        server.add_request_handler(method, Params, handler(method, answer, freshness or Freshness()))
    server.extensions.update(all_extensions(features))
    server.middleware.append(_complete_handshake(server, features, notifier))
    if notifier is not None and features:
        made = cache or ResponseCache(features, freshness or Freshness(), name=name, version=version)
        server.cached, server.built_as = CachedSkills(notifier.library, made), _identity(server)
    return server


def cached_skills(server: Server[Any]) -> "CachedSkills | None":
    """Return the library and response cache of a server.

    Return None if `build_server` gave the server no cache, or if the server was changed after it was built.
    Cached responses bypass the SDK, so a server with its own middleware or handlers must not use them.
    """
    if not isinstance(server, _SkillsServer) or server.cached is None:
        return None
    return server.cached if server.built_as == _identity(server) else None


@dataclass(frozen=True, slots=True)
class CachedSkills:
    """The library of a server, and the response cache for it."""

    library: Library
    cache: ResponseCache


class _SkillsServer(Server[Any]):
    """An SDK server with its response cache, and its identity at the time it was built."""

    cached: CachedSkills | None = None
    built_as: tuple[object, ...] = ()


def _identity(server: Server[Any]) -> tuple[object, ...]:
    """Return all properties of a server that affect its responses to cached methods."""
    handlers = (server.get_request_handler(method) for method in CACHED_METHODS)
    info = (server.name, server.version, server.title, server.description, server.website_url, server.icons)
    return *info, dict(server.cache_hints or {}), server.lifespan, *server.middleware, *handlers


def _build_notifying_server(
    notifier: ChangeNotifier, name: str, version: str, instructions: str | None
) -> _SkillsServer:
    """Return a server whose clients can subscribe to changes, on every protocol version."""

    @asynccontextmanager
    async def lifespan(_server: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        async with notifier.running():
            yield {}

    return _SkillsServer(
        name,
        version=version,
        instructions=instructions,
        lifespan=lifespan,
        on_subscribe_resource=notifier.subscribe,
        on_unsubscribe_resource=notifier.unsubscribe,
        on_subscriptions_listen=notifier.listen,
    )


def _complete_handshake(
    server: Server[Any], features: Sequence[Feature], notifier: ChangeNotifier | None
) -> ServerMiddleware[Any]:
    """Return middleware that adds instructions, and capabilities the SDK omits, to the handshake (S1).

    After the handshake, it also registers the client for notifications.
    """

    async def middleware(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized" and notifier is not None:
            notifier.register_client(ctx)
        if ctx.method not in {"initialize", "server/discover"} or not isinstance(result, dict):
            return result
        capabilities = result["capabilities"]
        if ctx.method == "initialize":
            capabilities["extensions"] = dict(server.extensions)
        for kind in ListKind:
            if kind in capabilities:
                capabilities[kind]["listChanged"] = notifier is not None and kind in notifier.lists
        if text := join_instructions(server.instructions, features):
            result["instructions"] = text
        return result

    return middleware


def join_instructions(own: str | None, features: Sequence[Feature]) -> str:
    """Return the instructions for a new client: the server's `own`, then the features' instructions."""
    parts = [own or "", *(feature.instructions() for feature in features)]
    return "\n\n".join(part for part in parts if part)


def skills_server(
    library: Library,
    *,
    name: str = NAME,
    version: str = __version__,
    instructions: str | None = None,
    freshness: Freshness | None = None,
    options: ServeOptions | None = None,
    features: Sequence[Feature] | None = None,
    cache: ResponseCache | None = None,
) -> Server[Any]:
    """Return an MCP server of the official SDK for `library`. `instructions` may name skill URIs (S20).

    While the server runs, the library follows its sources, and clients are notified of changes. Pass
    `features` and `cache` to share them with other code. `options` determine the features unless `features`
    is given.
    """
    if features is None:
        features = all_features(library, options or ServeOptions())
    return build_server(
        features,
        name=name,
        version=version,
        instructions=instructions,
        freshness=freshness,
        notifier=ChangeNotifier(library, features),
        cache=cache,
    )
