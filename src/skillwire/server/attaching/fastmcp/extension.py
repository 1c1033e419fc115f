"""The Skills extension on a FastMCP server, and the handlers that FastMCP has no hook for."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, cast

import mcp_types as types
from fastmcp import FastMCP
from fastmcp.server.context import Context as FastMCPContext
from fastmcp.server.extensions import MethodBinding, ServerExtension
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from opentelemetry.trace import get_current_span
from pydantic import BaseModel

from skillwire.core.record import SkillRecord
from skillwire.features.base import Call, Feature
from skillwire.protocol.messages import (
    COMPLETE,
    DIRECTORY_READ,
    EXTENSION,
    LISTEN,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_META,
    RESOURCES_READ,
    SKILL_META,
    SKILLS_GET,
    SKILLS_LIST,
)
from skillwire.protocol.translate import file_resource
from skillwire.safe_text import quoted
from skillwire.server.attaching.fastmcp.hidden import reads_only_here
from skillwire.server.attaching.fastmcp.holder import Selection, SkillHolder
from skillwire.server.attaching.fastmcp.view import View, view_of
from skillwire.server.attaching.merge import OriginalHandler
from skillwire.server.attaching.taken import without_tool_names
from skillwire.server.build import PRIVATE, Context, Handler, Params, join_instructions, respond
from skillwire.server.notifications import SUBSCRIBE, UNSUBSCRIBE, can_notify

_Wrapper: TypeAlias = Callable[[OriginalHandler | None, Context, Any], Awaitable[Any]]


class Hooks:
    """Wraps handlers of the low-level server inside a FastMCP server."""

    def __init__(self, server: FastMCP[Any], view: Callable[[], Awaitable[View]]) -> None:
        # Private in FastMCP, but there is no public API to add handlers.
        inner: Any = server._mcp_server  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        self._server = cast("Server[Any]", inner)
        self._fastmcp = server
        self._view = view
        self._ours: dict[str, Handler] = {}
        self._register_client: Callable[[Context], None] = lambda _context: None
        self._server.middleware.insert(0, self._complete_handshake)

    def install(self, view: View) -> None:
        """Wrap the server's current handlers, and let the view's notifier handle subscriptions.

        Call it again after handlers were added.
        """
        wrappers: dict[str, _Wrapper] = {
            RESOURCES_LIST: self._list_resources,
            RESOURCES_READ: self._read_resource,
            PROMPTS_LIST: self._list_prompts,
            PROMPTS_GET: self._get_prompt,
            COMPLETE: self._complete,
        }
        for method, wrapper in wrappers.items():
            entry = self._server.get_request_handler(method)
            if entry is None or entry.handler is not self._ours.get(method):
                self._ours[method] = partial(wrapper, None if entry is None else OriginalHandler(entry))
                self._server.add_request_handler(method, Params, self._ours[method])
        self._register_client = view.notifier.register_client
        notifier: Any = view.notifier
        self._server.add_request_handler(SUBSCRIBE, types.SubscribeRequestParams, notifier.subscribe)
        self._server.add_request_handler(UNSUBSCRIBE, types.UnsubscribeRequestParams, notifier.unsubscribe)
        self._server.add_request_handler(LISTEN, types.SubscriptionsListenRequestParams, notifier.listen)

    async def _list_resources(self, theirs: OriginalHandler | None, context: Context, _params: Any) -> Any:
        """List files of skills in the same form as every Skillwire server.

        FastMCP's own list omits sizes and contains additional metadata. Documents about the skills of one
        provider are replaced by documents about all skills.
        """
        assert theirs is not None, "FastMCP lists resources"
        result, view = await theirs(context, context.params or {}), await self._view()
        files, partial_documents = view.library.catalog.files, _partial_documents(view)
        items = [
            file_resource(item["uri"], served.entry, served.file)
            if (served := files.get(item["uri"])) is not None
            else item
            for item in result["resources"]
            if item["uri"] not in partial_documents
        ]
        if partial_documents and result.get("nextCursor") is None:
            items += view.resources.listed_documents()
        return {**result, "resources": items}

    async def _read_resource(self, theirs: OriginalHandler | None, context: Context, _params: Any) -> Any:
        """Answer for documents about all skills, refuse hidden and shadowed files, and pass on other reads.

        If FastMCP refuses another file of a skill whose `SKILL.md` is visible, Skillwire serves the file.
        """
        assert theirs is not None, "FastMCP reads resources"
        params, (view, selection, hidden) = context.params or {}, await self._visible()
        uri = str(params.get("uri"))
        if uri in view.resources.documents:
            return await respond(RESOURCES_READ, selection.methods[RESOURCES_READ], PRIVATE, context)
        owner = view.resources.find_owner(uri)
        if view.is_shadowed(uri) or (owner is not None and owner.uri in hidden):
            raise MCPError(types.INVALID_PARAMS, f"no file is served at {quoted(uri)}", {"uri": uri})
        if selection.cached is not None and await self._reads_ours(view, owner, uri):
            cached = await selection.cached.find(context, bare=True)
            if cached is not None:  # typed, so that the SDK adds the same fields as to FastMCP's own results
                return types.ReadResourceResult.model_validate(cached, by_name=False)
        try:
            return await theirs(context, params)
        except MCPError:
            if owner is None or owner.uri == uri:
                raise
            # If a skill is visible, all its files are visible, even if FastMCP has enabled only some of them.
            return await respond(RESOURCES_READ, selection.methods[RESOURCES_READ], PRIVATE, context)

    async def _reads_ours(self, view: View, owner: SkillRecord | None, uri: str) -> bool:
        """Return whether FastMCP would only pass a read on to Skillwire, unseen by middleware and hooks.

        Then the response cache may answer. It may not if the host traces requests, because FastMCP records
        every resource that it reads.
        """
        if owner is None or view.nested or get_current_span().is_recording():
            return False
        return await reads_only_here(self._fastmcp, view.mounted[0].holder, uri)

    async def _get_prompt(self, theirs: OriginalHandler | None, context: Context, _params: Any) -> Any:
        """Refuse prompts of skills that the client may not see."""
        assert theirs is not None, "FastMCP has prompts"
        params, (view, _, hidden) = context.params or {}, await self._visible()
        name = str(params.get("name"))
        if (known := view.prompts().get(name)) is not None and _below(known[0], known[1].uri) in hidden:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {quoted(name)}")
        return await theirs(context, params)

    async def _list_prompts(self, theirs: OriginalHandler | None, context: Context, _params: Any) -> Any:
        """List all prompts except those of hidden skills, with the skill URIs that this server publishes."""
        assert theirs is not None, "FastMCP lists prompts"
        result, (view, _, hidden) = await theirs(context, context.params or {}), await self._visible()
        known = view.prompts()
        for item in result["prompts"]:
            meta: dict[str, Any] = item.get("_meta") or {}
            if item["name"] in known and SKILL_META in meta:
                prefix, skill = known[item["name"]]
                moved = [_below(prefix, uri) for uri in skill.uris()]
                item["_meta"] = {**meta, SKILL_META: moved[0], RESOURCES_META: moved}
        gone = {name for name, (prefix, skill) in known.items() if _below(prefix, skill.uri) in hidden}
        return {**result, "prompts": [item for item in result["prompts"] if item["name"] not in gone]}

    async def _complete(self, theirs: OriginalHandler | None, context: Context, _params: Any) -> Any:
        (_, selection, _), call = await self._visible(), Call(context.params or {})
        if theirs is None or any(feature.claims(COMPLETE, call) for feature in selection.features):
            return await respond(COMPLETE, selection.methods[COMPLETE], PRIVATE, context)
        return await theirs(context, call.params)

    async def _complete_handshake(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Declare the extension where the SDK omits it (S1), and add the instructions about skills.

        At every message except `initialize`, register the client for notifications.
        """
        result = await call_next(ctx)
        if ctx.method != "initialize":  # the current notifier may be newer than this client's session
            self._register_client(ctx)
        if ctx.method not in {"initialize", "server/discover"} or result is None:
            return result
        handshake = cast("dict[str, Any]", _as_dict(result))
        capabilities = handshake["capabilities"]
        capabilities.setdefault("extensions", {}).setdefault(EXTENSION, {"directoryRead": True})
        if ctx.method == "initialize":  # these capabilities were collected before the handlers were added
            capabilities.setdefault("resources", {})["subscribe"] = can_notify(ctx)
            capabilities.setdefault("completions", {})
        view, _, hidden = await self._visible()
        features: list[Feature] = []
        for holder in view.own:
            shown = (await holder.selections.without(hidden)).features
            features += shown if await self._has_skill_tools(holder) else without_tool_names(shown)
        if text := join_instructions(handshake.get("instructions"), features):
            handshake["instructions"] = text
        return handshake

    async def _has_skill_tools(self, holder: SkillHolder) -> bool:
        """Return whether the client can see the tools that load skills."""
        async with FastMCPContext(fastmcp=self._fastmcp):
            return await holder.has_skill_tools()

    async def _visible(self) -> tuple[View, Selection, frozenset[str]]:
        """Return the view, the skills that the requesting client may see, and the URIs of hidden skills."""
        view = await self._view()
        async with FastMCPContext(fastmcp=self._fastmcp):
            return view, *await view.select_visible(self._fastmcp)


def _as_dict(result: object) -> Any:
    dumped = isinstance(result, BaseModel)
    return result.model_dump(by_alias=True, mode="json", exclude_none=True) if dumped else result


def _partial_documents(view: View) -> set[str]:
    """Return the URIs of documents that describe the skills of only one provider.

    If there are several providers, the view has documents about all of their skills.
    """
    prefixed = view.mounted if view.nested else ()
    return {_below(mounted.prefix, uri) for mounted in prefixed for uri in view.resources.documents}


def _below(prefix: str, uri: str) -> str:
    scheme, separator, path = uri.partition("://")
    return f"{scheme}{separator}{prefix}/{path}" if prefix else uri


class SkillsExtension(ServerExtension):
    """The Skills extension for all skills that a server publishes.

    A client sees only the skills that FastMCP shows to it.
    """

    identifier = EXTENSION
    auto_register = True

    def __init__(self) -> None:
        self._view: View | None = None
        self._hooks: Hooks | None = None
        self._running = False
        self._tasks: list[asyncio.Task[None]] = []
        self._close: Callable[[], None] = lambda: None

    def clone(self) -> "SkillsExtension":
        return SkillsExtension()

    def settings(self) -> dict[str, Any]:
        return {"directoryRead": True}

    def methods(self) -> Sequence[MethodBinding]:
        methods = (SKILLS_LIST, SKILLS_GET, DIRECTORY_READ)
        return [MethodBinding(method, Params, self._handler(method)) for method in methods]

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Follow all libraries, and notify clients of changes, while the server runs."""
        self._running = True
        try:
            self._follow_libraries(await self.view())
            yield
        finally:
            self._running = False
            await self._stop_following()

    async def view(self) -> View:
        """Return the skills that the server publishes now.

        Other servers may be mounted into the server at any time.
        """
        before, self._view = self._view, await view_of(self.server, self._view)
        await self._view.refresh()
        if before is not None and before is not self._view:
            before.notifier.stop_listening()
            if self._running:
                await self._stop_following()
                self._follow_libraries(self._view)
        return self._view

    def _follow_libraries(self, view: View) -> None:
        """Start tasks that follow every library and notify clients. Wraps the server's handlers first.

        A library that FastMCP already follows is not followed a second time.
        """
        if self._hooks is None:
            self._hooks = Hooks(self.server, self.view)
        self._hooks.install(view)
        libraries = (mounted.holder.library for mounted in view.mounted)
        works = (view.notifier.run(), *(library.follow() for library in libraries))
        self._tasks = [asyncio.create_task(work) for work in works]
        self._close = view.notifier.close

    async def _stop_following(self) -> None:
        self._close()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _requires_live_resource(self, uri: str) -> bool:
        """Return True for files of skills. FastMCP must not cache them: reads must match the list (S19)."""
        return self._view is not None and self._view.library.catalog.serves(uri)

    def _handler(self, method: str) -> Callable[[Context, Params], Awaitable[dict[str, Any]]]:
        async def handle(context: Context, _params: Params) -> dict[str, Any]:
            view = await self.view()
            async with FastMCPContext(fastmcp=self.server):
                selection, _ = await view.select_visible(self.server)
            if selection.cached is not None and (found := await selection.cached.find(context)) is not None:
                return found
            return await respond(method, selection.methods[method], PRIVATE, context)

        return handle
