"""The Skills extension on a FastMCP server. It comes with the provider, and goes along to where that goes."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

from fastmcp.server.context import Context as FastMCPContext
from fastmcp.server.extensions import MethodBinding, ServerExtension

from skillwire.model.entry import Json
from skillwire.model.errors import NotServedError
from skillwire.server.fastmcp.background import background
from skillwire.server.fastmcp.hooks import Hooks
from skillwire.server.fastmcp.view import View, view_of
from skillwire.server.handlers import Context, Params, respond
from skillwire.surfaces.base import Answer, Call, Method
from skillwire.wire.messages import DIRECTORY_READ, EXTENSION, SKILLS_GET, SKILLS_LIST, Freshness


class SkillsExtension(ServerExtension):
    """Answers for every skill that its server publishes, and shows a client no more than FastMCP does."""

    identifier = EXTENSION
    auto_register = True

    def __init__(self) -> None:
        self._view: View | None = None
        self._hooks: Hooks | None = None

    def clone(self) -> "SkillsExtension":
        return SkillsExtension()

    def settings(self) -> dict[str, Any]:
        return {"directoryRead": True}

    def methods(self) -> Sequence[MethodBinding]:
        guarded = {SKILLS_LIST: self._list, SKILLS_GET: self._get, DIRECTORY_READ: self._directory}
        return [
            MethodBinding(method, Params, self._handler(method, each)) for method, each in guarded.items()
        ]

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Tell clients of changes for as long as the server runs that this is the root of."""
        view = await self.view()
        if self._hooks is None:
            self._hooks = Hooks(self.server, self.view)
        self._hooks.install(view)
        async with background(view.announcer.run()):
            try:
                yield
            finally:
                view.announcer.close()

    async def view(self) -> View:
        """Return all skills that the server publishes, as they are now."""
        self._view = await view_of(self.server, self._view)
        await self._view.catch_up()
        return self._view

    def _requires_live_resource(self, uri: str) -> bool:
        """Whether FastMCP may not answer from a cache: what is read must be what is listed (S19)."""
        return self._view is not None and self._view.library.catalog.serves(uri)

    def _handler(
        self, method: str, guarded: Callable[[View, Method, Call], Awaitable[Answer]]
    ) -> Callable[[Context, Params], Awaitable[dict[str, Any]]]:
        async def handle(context: Context, _params: Params) -> dict[str, Any]:
            view = await self.view()

            async def answer(call: Call) -> Answer:
                async with FastMCPContext(fastmcp=self.server):
                    return await guarded(view, view.methods[method], call)

            return await respond(method, answer, Freshness(), context)

        return handle

    async def _list(self, _view: View, method: Method, call: Call) -> Answer:
        answer = await method(call)
        entries = cast("list[dict[str, Json]]", answer.result["skills"])
        shown: list[Json] = [entry for entry in entries if await self._shows(str(entry["uri"]))]
        return replace(answer, result={**answer.result, "skills": shown})

    async def _get(self, _view: View, method: Method, call: Call) -> Answer:
        uri = call.text("uri")
        if not await self._shows(uri):
            raise NotServedError(uri, "skill")
        return await method(call)

    async def _directory(self, view: View, method: Method, call: Call) -> Answer:
        uri = call.text("uri")
        answer = await method(call)
        if not await self._shows_some(view, uri):
            raise NotServedError(uri, "directory")
        children = cast("list[Mapping[str, Json]]", answer.result["resources"])
        shown: list[Json] = [
            dict(child) for child in children if await self._shows_some(view, str(child["uri"]))
        ]
        return replace(answer, result={**answer.result, "resources": shown})

    async def _shows(self, uri: str) -> bool:
        """Whether FastMCP lets this client see a resource: it may be switched off, or not for everybody."""
        found = await self.server.get_resource(uri) or await self.server.get_resource_template(uri)
        return found is not None

    async def _shows_some(self, view: View, uri: str) -> bool:
        """Whether the client may see a file or folder: something of a skill that it sees, or a way to one."""
        served = view.library.catalog.files.get(uri)
        if served is not None:
            return await self._shows(served.entry.uri)
        for entry in view.library.catalog.entries.values():
            inside, around = uri.startswith(f"{entry.root}/"), f"{entry.root}/".startswith(f"{uri}/")
            if (inside or around) and await self._shows(entry.uri):
                return True
        return False
