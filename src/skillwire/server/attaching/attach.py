"""Attach skills to an existing server of the MCP SDK or of FastMCP."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import ListenHandler, SubscriptionBus

from skillwire.authoring.skill import Skill, caller_folder
from skillwire.authoring.skills import Skills
from skillwire.errors import ConflictError, InvalidValueError
from skillwire.features.base import all_extensions, all_methods
from skillwire.protocol.messages import LISTEN
from skillwire.server.attaching.merge import ONE_CALL, Merger, OriginalHandler
from skillwire.server.build import PRIVATE, Context, Handler, Params, all_instructions, handler
from skillwire.server.notifications import SUBSCRIBE, UNSUBSCRIBE, Announcer, reaches
from skillwire.server.serve_options import ServeOptions, all_features
from skillwire.server.skill_server import FOR_HOSTS, Gathered, Servable, SkillServer, gathered

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    AnyServer: TypeAlias = "Server[Any] | MCPServer[Any] | FastMCPServer"


class Attached:
    """One server, and the skills that it serves from now on."""

    def __init__(
        self, server: Server[Any], everything: Gathered, options: ServeOptions, bus: SubscriptionBus | None
    ) -> None:
        self._server = server
        self._surfaces = all_features(everything.library, options, everything.prompts)
        self._extensions = all_extensions(self._surfaces)
        if taken := self._extensions.keys() & server.extensions.keys():
            raise ConflictError(f"the server declares `{min(taken)}` already; {ONE_CALL}")
        self._merger = Merger(self._surfaces, PRIVATE)
        self._announcer = Announcer(everything.library, self._surfaces, bus or _bus_of(server))
        self._theirs: dict[str, OriginalHandler] = {}
        self._ours: dict[str, Handler] = {}
        self.install()
        server.extensions.update(self._extensions)
        server.middleware.append(self._introduce)
        server.lifespan = self._lasting(server.lifespan)

    def install(self) -> None:
        """Put our handlers before those that the server has now."""
        methods = all_methods(self._surfaces)
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
        self._ours[method] = ours
        self._server.add_request_handler(method, params, ours)

    def _lasting(
        self, lifespan: Callable[[Server[Any]], AbstractAsyncContextManager[Any]]
    ) -> Callable[[Server[Any]], AbstractAsyncContextManager[Any]]:
        """Return the server's lifespan with ours around it."""

        @asynccontextmanager
        async def lasting(server: Server[Any]) -> AsyncGenerator[Any]:
            self.install()  # its author may have registered handlers since
            async with self._announcer.running(), lifespan(server) as state:
                yield state

        return lasting

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> Any:
        theirs = self._theirs.get(SUBSCRIBE)
        if theirs is None or self._announcer.serves(str(params.uri)):
            return await self._announcer.subscribe(context, params)
        return await theirs(context, context.params or {})

    async def _unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> Any:
        theirs = self._theirs.get(UNSUBSCRIBE)
        if theirs is None or self._announcer.serves(str(params.uri)):
            return await self._announcer.unsubscribe(context, params)
        return await theirs(context, context.params or {})

    async def _listen(self, context: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        theirs = self._theirs.get(LISTEN)
        return await self._announcer.listen(context, params, None if theirs is None else theirs.entry.handler)

    async def _introduce(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Add to what a new client is told: what we declare, and what the SDK leaves out (S1)."""
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            self._announcer.welcome(ctx)
        if ctx.method not in {"initialize", "server/discover"} or not isinstance(result, dict):
            return result
        capabilities = result["capabilities"]
        if ctx.method == "initialize":
            # The options may have been made before there were skills; and the SDK drops extensions here.
            declared = self._server.get_capabilities().model_dump(by_alias=True, exclude_none=True)
            for key, value in declared.items():
                capabilities.setdefault(key, value)
            capabilities["extensions"] = dict(self._server.extensions)
            if reaches(ctx):
                for kind in self._announcer.lists & capabilities.keys():
                    capabilities[kind]["listChanged"] = True
            if "resources" in capabilities and (SUBSCRIBE not in self._theirs):
                capabilities["resources"]["subscribe"] = reaches(ctx)
        if text := all_instructions(result.get("instructions"), self._surfaces):
            result["instructions"] = text
        return result


def _bus_of(server: Server[Any]) -> SubscriptionBus | None:
    """Return what carries a server's own events, so that a client that listens hears of both."""
    entry = server.get_request_handler(LISTEN)
    if entry is None:
        return None
    if not isinstance(entry.handler, ListenHandler):
        rule = "is answered by the server in its own way, and clients would not hear of changed skills"
        fix = "hand over what its events are published on: `attach(server, skills, bus=bus)`"
        raise InvalidValueError("the method", LISTEN, rule, fix)
    # The SDK has no public way from its handler to the bus that it was made with.
    return entry.handler._bus  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


class FastMCPServer(Protocol):
    """What a `FastMCP` is to a type checker, whether it is installed or not."""

    @property
    def name(self) -> str: ...

    def add_provider(self, provider: Any, *, namespace: str = "") -> None: ...


def attach(
    server: "AnyServer",
    *skills: Servable | SkillServer,
    prompt: str | None = None,
    options: ServeOptions = FOR_HOSTS,
    bus: SubscriptionBus | None = None,
) -> None:
    """Add `skills` to a server that you have: a low-level `Server`, `MCPServer` or `FastMCP`.

    `skills` are values, collections, a `SkillServer`, sources, or folders relative to the calling file. With
    `prompt`, one skill is also a prompt of this name. `ServeOptions()` adds tools, prompts and a list of
    skills for clients without the extension. Pass the `bus` of your own `subscriptions/listen`, if you have
    one.

    Raises `InvalidValueError` or `ConflictError` for skills that cannot be, and `ConflictError` for a server
    that serves skills already.
    """
    base = caller_folder()
    parts: list[Servable] = [each.skills if isinstance(each, SkillServer) else each for each in skills]
    if prompt is not None:
        parts = [_with_prompt(parts, prompt)]
    everything = gathered(parts, label=_name_of(server), base=base)
    lowlevel = _lowlevel(server)
    if lowlevel is not None:
        Attached(lowlevel, everything, options, bus)
    elif _is_fastmcp(server):
        import_module("skillwire.server.attaching.fastmcp.provider").attach_to_fastmcp(
            server, everything, options
        )
    else:
        fix = "attach them to a `Server` or `MCPServer` of the official SDK, or to a `FastMCP`"
        rule = "is nothing that skills can be attached to"
        raise InvalidValueError("the value", repr(server), rule, fix)


def _with_prompt(parts: Sequence[Servable], prompt: str) -> Skills:
    match parts:
        case [Skill() as skill]:
            return Skills().add(skill, prompt=prompt)
        case _:
            fix = "attach several as `Skills().add(skill, prompt=…).add(…)`"
            raise InvalidValueError("the prompt", prompt, "is for one skill", fix)


def _lowlevel(server: object) -> Server[Any] | None:
    """Return a server of the official SDK, or the one inside an `MCPServer`, which has no public name."""
    candidates: list[object] = [server, getattr(server, "_lowlevel_server", None)]
    return next((cast("Server[Any]", each) for each in candidates if isinstance(each, Server)), None)


def _is_fastmcp(server: object) -> bool:
    """Whether it is one, without loading a package that few have."""
    return any(
        f"{kind.__module__}.{kind.__name__}" == "fastmcp.server.server.FastMCP"
        for kind in type(server).__mro__
    )


def _name_of(server: object) -> str:
    name = getattr(server, "name", None)
    return name if isinstance(name, str) and name else "code"
