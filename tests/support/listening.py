"""Clients that receive notifications, in the same form for both protocol eras."""

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from anyio.lowlevel import checkpoint
from mcp import Client
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from tests.support.peers import PATIENCE

LISTS = ("tools", "prompts", "resources")


class NotificationLog:
    """Collects notifications: `tools`, `prompts`, `resources`, or the URI that was updated."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._more = anyio.Event()

    def add(self, what: str) -> None:
        self.all.append(what)
        self._more.set()
        self._more = anyio.Event()

    async def until(self, *wanted: str) -> None:
        """Wait until each of these was heard, however often."""
        await self.until_true(lambda: set(wanted) <= set(self.all), f"{wanted}, heard {self.all}")

    async def until_true(self, condition: Callable[[], bool], waiting_for: str = "") -> None:
        with anyio.move_on_after(PATIENCE):
            while not condition():
                await self._more.wait()
            return
        raise AssertionError(f"waited in vain for {waiting_for}")

    def take(self) -> list[str]:
        """Return all that was heard, sorted, and begin anew."""
        taken, self.all = sorted(self.all), []
        return taken

    async def handle(self, message: Any) -> None:
        """Take a notification of the 2025 versions."""
        match message:
            case types.ToolListChangedNotification():
                self.add("tools")
            case types.PromptListChangedNotification():
                self.add("prompts")
            case types.ResourceListChangedNotification():
                self.add("resources")
            case types.ResourceUpdatedNotification():
                self.add(str(message.params.uri))
            case _:
                await checkpoint()

    def take_event(self, event: ServerEvent) -> None:
        """Take an event of a `subscriptions/listen` stream."""
        match event:
            case ToolsListChanged():
                self.add("tools")
            case PromptsListChanged():
                self.add("prompts")
            case ResourcesListChanged():
                self.add("resources")
            case ResourceUpdated(uri):
                self.add(uri)


@asynccontextmanager
async def listening(
    server: Any, mode: Any, uris: Collection[str] = ()
) -> AsyncGenerator[tuple[Client, NotificationLog]]:
    """Yield a client that subscribes to all lists and to `uris`, with the notifications it receives."""
    heard = NotificationLog()
    # On 2026-07-28 the client hands its notifications to both; one of them is enough.
    handler = heard.handle if mode == "legacy" else None
    async with Client(server, mode=mode, message_handler=handler) as client:
        if mode == "legacy":
            for uri in uris:
                await client.session.send_request(
                    types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)), types.EmptyResult
                )
            yield client, heard
            return
        async with (
            client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=list(uris),
            ) as events,
            anyio.create_task_group() as tasks,
        ):

            async def collect() -> None:
                async for event in events:
                    heard.take_event(event)

            tasks.start_soon(collect)
            yield client, heard
            tasks.cancel_scope.cancel()
