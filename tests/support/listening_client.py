"""Clients that wait for a notification of a change, in the way of their protocol version."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
from mcp import Client

PATIENCE = 20.0
"""Seconds until a test gives up. Never a measure of speed."""


class ListeningClient:
    """A client, and whether it was notified that the list of resources changed."""

    def __init__(self, client: Client, heard: anyio.Event) -> None:
        self.client = client
        self._heard = heard

    async def wait_for_list_change(self) -> None:
        with anyio.fail_after(PATIENCE):
            await self._heard.wait()


@asynccontextmanager
async def listening_client(
    connect: Callable[..., AbstractAsyncContextManager[Client]], mode: Any
) -> AsyncGenerator[ListeningClient]:
    """Yield a client that receives changes. `connect` takes the arguments of `Client` after the server."""
    heard, listening = anyio.Event(), anyio.Event()

    async def on_message(message: Any) -> None:
        if type(message).__name__ == "ResourceListChangedNotification":
            heard.set()

    async def listen(client: Client) -> None:
        async with client.listen(resources_list_changed=True) as events:
            listening.set()
            async for _event in events:
                heard.set()
                return

    async with connect(mode=mode, message_handler=on_message) as client, anyio.create_task_group() as tasks:
        if mode == "auto":
            tasks.start_soon(listen, client)
            await listening.wait()
        yield ListeningClient(client, heard)
        tasks.cancel_scope.cancel()
