"""The Skills extension on a FastMCP server. It comes with the provider, and goes along to where that goes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastmcp.server.context import Context as FastMCPContext
from fastmcp.server.extensions import MethodBinding, ServerExtension

from skillwire.server.fastmcp.hooks import Hooks
from skillwire.server.fastmcp.view import View, view_of
from skillwire.server.handlers import PRIVATE, Context, Params, respond
from skillwire.wire.messages import DIRECTORY_READ, EXTENSION, SKILLS_GET, SKILLS_LIST


class SkillsExtension(ServerExtension):
    """Answers for every skill that its server publishes, and shows a client no more than FastMCP does."""

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
        """Tell clients of changes for as long as the server runs that this is the root of."""
        self._running = True
        try:
            self._attend(await self.view())
            yield
        finally:
            self._running = False
            await self._leave()

    async def view(self) -> View:
        """Return all skills that the server publishes now. Other servers may be mounted in it at any time."""
        before, self._view = self._view, await view_of(self.server, self._view)
        await self._view.catch_up()
        if before is not None and before is not self._view:
            before.announcer.retire()
            if self._running:
                await self._leave()
                self._attend(self._view)
        return self._view

    def _attend(self, view: View) -> None:
        """Follow every library, and tell of its changes. What FastMCP follows, too, is followed once."""
        if self._hooks is None:
            self._hooks = Hooks(self.server, self.view)
        self._hooks.install(view)
        libraries = (place.holder.library for place in view.places)
        works = (view.announcer.run(), *(library.follow() for library in libraries))
        self._tasks = [asyncio.create_task(work) for work in works]
        self._close = view.announcer.close

    async def _leave(self) -> None:
        self._close()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _requires_live_resource(self, uri: str) -> bool:
        """Whether FastMCP may not answer from a cache: what is read must be what is listed (S19)."""
        return self._view is not None and self._view.library.catalog.serves(uri)

    def _handler(self, method: str) -> Callable[[Context, Params], Awaitable[dict[str, Any]]]:
        async def handle(context: Context, _params: Params) -> dict[str, Any]:
            view = await self.view()
            async with FastMCPContext(fastmcp=self.server):
                seen, _ = await view.seen_on(self.server)
            return await respond(method, seen.methods[method], PRIVATE, context)

        return handle
