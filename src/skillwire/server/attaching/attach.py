"""Attach skills to an existing server of the MCP SDK or of FastMCP."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import ListenHandler, SubscriptionBus

from skillwire.errors import ConflictError, InvalidValueError
from skillwire.features.base import all_extensions, all_methods
from skillwire.library.library import Library
from skillwire.protocol.messages import LISTEN
from skillwire.server.attaching.cached import SERVER_INFO, CachedResponses
from skillwire.server.attaching.merge import ATTACH_ONCE_HINT, Merger, OriginalHandler
from skillwire.server.attaching.taken import (
    TakenNames,
    problems_changed,
    show_taken_names,
    without_tool_names,
)
from skillwire.server.build import PRIVATE, Context, Handler, Params, handler, join_instructions
from skillwire.server.cached_requests import CACHED_METHODS, MODERN_VERSION
from skillwire.server.notifications import SUBSCRIBE, UNSUBSCRIBE, ChangeNotifier, can_notify
from skillwire.server.serve_options import ServeOptions, all_features

if TYPE_CHECKING:
    from skillwire.authoring.skill import Skill


def attach_to(
    server: object,
    library: Library,
    prompts: "Mapping[str, Skill]",
    options: ServeOptions,
    bus: SubscriptionBus | None = None,
) -> None:
    """Serve a library from an existing server of the SDK or of FastMCP.

    `bus` carries the events of an SDK server that answers `subscriptions/listen` with a handler of its own.
    Raises `InvalidValueError` if such a server has no `bus`, for a scheme on a FastMCP server, and for any
    other object. Raises `ConflictError` if the server already declares the Skills extension, or answers one
    of its methods.
    """
    if (lowlevel := _lowlevel(server)) is not None:
        Attached(lowlevel, library, prompts, options, bus)
    elif _is_fastmcp(server):
        if options.scheme is not None:
            rule = "cannot be changed on a FastMCP server, which keeps its own list of URIs"
            fix = "leave it out, or serve the skills with `skillwire serve` or `SkillServer`"
            raise InvalidValueError("the scheme", options.scheme, rule, fix)
        provider = import_module("skillwire.server.attaching.fastmcp.provider")
        provider.attach_to_fastmcp(server, library, prompts, options)
    else:
        fix = "attach them to a `Server` or `MCPServer` of the official SDK, or to a `FastMCP`"
        rule = "is not a server that skills can be attached to"
        raise InvalidValueError("the value", repr(server), rule, fix)


class Attached:
    """Adds skills to one SDK server. The server's own handlers keep working."""

    def __init__(
        self,
        server: Server[Any],
        library: Library,
        prompts: "Mapping[str, Skill]",
        options: ServeOptions,
        bus: SubscriptionBus | None,
    ) -> None:
        self._server = server
        self._features = all_features(library, options, prompts)
        self._extensions = all_extensions(self._features)
        if taken := self._extensions.keys() & server.extensions.keys():
            raise ConflictError(f"the server already declares `{min(taken)}`; {ATTACH_ONCE_HINT}")
        self._taken = TakenNames()
        show_taken_names(self._features, self._taken)
        self._merger = Merger(self._features, PRIVATE, self._taken)
        self._cached = CachedResponses(self._features)
        self._notifier = ChangeNotifier(library, self._features, bus or _bus_of(server))
        self._taken.on_change = self._notify_of_problems
        self._theirs: dict[str, OriginalHandler] = {}
        self._ours: dict[str, Handler] = {}
        self.install()
        server.extensions.update(self._extensions)
        self._middleware = self._complete_handshake
        server.middleware.append(self._middleware)
        server.lifespan = self._wrap_lifespan(server.lifespan)

    def install(self) -> None:
        """Install the handlers for skills. They call the server's current handlers for the same methods."""
        methods = all_methods(self._features)
        for method in (*methods, SUBSCRIBE, UNSUBSCRIBE, LISTEN):
            entry = self._server.get_request_handler(method)
            if entry is not None and entry.handler is not self._ours.get(method):
                self._theirs[method] = OriginalHandler(entry)
        for method, answer in methods.items():
            if method in self._theirs:
                self._put(method, Params, self._merger.handler(method, answer, self._theirs))
            else:
                self._put(method, Params, handler(method, answer, PRIVATE))
        self._put(SUBSCRIBE, types.SubscribeRequestParams, self._subscribe)
        self._put(UNSUBSCRIBE, types.UnsubscribeRequestParams, self._unsubscribe)
        self._put(LISTEN, types.SubscriptionsListenRequestParams, self._listen)

    def _put(self, method: str, params: type[types.RequestParams], ours: Handler) -> None:
        """Install `ours` as the handler for `method`. Record it, so that `install` does not wrap it again."""
        self._ours[method] = ours
        self._server.add_request_handler(method, params, ours)

    def _wrap_lifespan(
        self, lifespan: Callable[[Server[Any]], AbstractAsyncContextManager[Any]]
    ) -> Callable[[Server[Any]], AbstractAsyncContextManager[Any]]:
        """Wrap the server's lifespan, so that the library follows its sources while the server runs."""

        @asynccontextmanager
        async def wrapped(server: Server[Any]) -> AsyncGenerator[Any]:
            self.install()  # handlers may have been registered after the skills were attached
            async with self._notifier.running(), lifespan(server) as state:
                yield state

        return wrapped

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> Any:
        theirs = self._theirs.get(SUBSCRIBE)
        if theirs is None or self._notifier.serves(str(params.uri)):
            return await self._notifier.subscribe(context, params)
        return await theirs(context, context.params or {})

    async def _unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> Any:
        theirs = self._theirs.get(UNSUBSCRIBE)
        if theirs is None or self._notifier.serves(str(params.uri)):
            return await self._notifier.unsubscribe(context, params)
        return await theirs(context, context.params or {})

    async def _listen(self, context: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        theirs = self._theirs.get(LISTEN)
        return await self._notifier.listen(context, params, None if theirs is None else theirs.entry.handler)

    async def _complete_handshake(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Add instructions, and capabilities that the SDK omits, to the handshake (S1).

        After the handshake, register the client for notifications. Answer requests for skills from the
        response cache.
        """
        if ctx.method in CACHED_METHODS and (cached := await self._find_cached(ctx)) is not None:
            return cached
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            self._notifier.register_client(ctx)
        if ctx.method not in {"initialize", "server/discover"} or not isinstance(result, dict):
            return result
        capabilities = result["capabilities"]
        if ctx.method == "initialize":
            # The server's options may be older than the skills, and the SDK omits extensions here.
            declared = self._server.get_capabilities().model_dump(by_alias=True, exclude_none=True)
            for key, value in declared.items():
                capabilities.setdefault(key, value)
            capabilities["extensions"] = dict(self._server.extensions)
            if can_notify(ctx):
                for kind in self._notifier.lists & capabilities.keys():
                    capabilities[kind]["listChanged"] = True
            if "resources" in capabilities and (SUBSCRIBE not in self._theirs):
                capabilities["resources"]["subscribe"] = can_notify(ctx)
        ours = await self._merger.has_skill_tools(self._theirs, ctx)
        features = self._features if ours else without_tool_names(self._features)
        if text := join_instructions(result.get("instructions"), features):
            result["instructions"] = text
        return result

    async def _find_cached(self, ctx: Context) -> dict[str, Any] | None:
        """Return the result of a request from the response cache, or None if a handler must answer it.

        The server's own middleware has already seen the request, unless it was added after the skills. Then
        the cache is not used. It is also not used if the server has replaced the handler or adds caching
        fields of its own, or if the request may be for the server's own handler.
        """
        method, server = ctx.method, self._server
        if server.middleware[-1] is not self._middleware or method in server.cache_hints:
            return None
        entry = server.get_request_handler(method)
        if entry is None or entry.handler is not self._ours[method]:
            return None
        if method in self._theirs and not self._merger.claims(method, ctx.params or {}):
            return None
        result = await self._cached.find(ctx)
        if result is not None and ctx.protocol_version == MODERN_VERSION:
            result["_meta"] = {**(result.get("_meta") or {}), SERVER_INFO: server.server_info_stamp}
        return result

    def _notify_of_problems(self) -> None:
        problems_changed(self._features, self._notifier)


def _bus_of(server: Server[Any]) -> SubscriptionBus | None:
    """Return the bus of a server's own events, so that one stream carries all events.

    Return None if the server has no handler for `subscriptions/listen`. Raises `InvalidValueError` if the
    handler is not the SDK's.
    """
    entry = server.get_request_handler(LISTEN)
    if entry is None:
        return None
    if not isinstance(entry.handler, ListenHandler):
        rule = "is answered by the server in its own way, so clients would not be notified of changed skills"
        fix = "pass the bus that its events are published on: `attach(server, skills, bus=bus)`"
        raise InvalidValueError("the method", LISTEN, rule, fix)
    # The SDK has no public API to get the bus from its handler.
    return entry.handler._bus  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _lowlevel(server: object) -> Server[Any] | None:
    """Return a low-level server, or the one inside an `MCPServer`. Return None for any other object."""
    candidates: list[object] = [server, getattr(server, "_lowlevel_server", None)]
    return next((cast("Server[Any]", each) for each in candidates if isinstance(each, Server)), None)


def _is_fastmcp(server: object) -> bool:
    """Return whether `server` is a `FastMCP`, without importing FastMCP, which may not be installed."""
    return any(
        f"{kind.__module__}.{kind.__name__}" == "fastmcp.server.server.FastMCP"
        for kind in type(server).__mro__
    )
