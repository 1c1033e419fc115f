"""One connection to a server, and the task that owns it: it enters the connection, and it leaves it."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import anyio
from mcp import Client
from mcp.client.session import MessageHandlerFnT

from skillwire.host.reaching.connecting import UnreachableError, reason
from skillwire.host.reaching.listening import Listener
from skillwire.model.display import quoted

_PATIENCE = 30.0
"""Seconds until a server that does not introduce itself is given up."""
_FAREWELL = 5.0
"""Seconds to take leave of a server in peace."""


class Connect(Protocol):
    """How a connection is made."""

    def __call__(
        self, *, on_message: MessageHandlerFnT, on_end: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Client]:
        """Return a connection. Entering raises `UnreachableError`."""
        ...


class Connection:
    """A connection that is being made, stands, or is over. It is never made again."""

    def __init__(self, label: str, connect: Connect, tell: Callable[[], None]) -> None:
        """`tell` is called for whatever the server says of changes, and when the connection is over."""
        self._label, self._connect, self._tell = label, connect, tell
        self.listener = Listener(tell)
        self.over = False
        self.stood = False
        """Whether the server ever answered."""
        self.excess = ""
        """What the server sent too much of, if that is why it is over."""
        self._client: Client | None = None
        self._trouble: UnreachableError | None = None
        self._opened, self._ended = anyio.Event(), anyio.Event()
        self._scope = anyio.CancelScope()
        # Not of whoever asks first: a connection outlives that one, and must be left where it was entered.
        self._task = asyncio.create_task(self._own())

    @property
    def gone(self) -> bool:
        """Whether nothing of it is left."""
        return self._task.done()

    async def client(self) -> Client:
        """Return the client as soon as the connection stands. Raises `UnreachableError`."""
        with anyio.move_on_after(_PATIENCE):
            await self._opened.wait()
        if self._client is None:
            self.drop()
            told = f"{quoted(self._label)} does not answer: it did not introduce itself in {_PATIENCE:g} s"
            raise self._trouble or UnreachableError(told)
        return self._client

    def drop(self) -> None:
        """End it at once, without a word."""
        self.over = True
        self._scope.cancel()

    async def close(self) -> None:
        """Take leave of the server, and wait for the end of its process."""
        self._end()
        if self.stood and not self.excess:
            await asyncio.wait([self._task], timeout=_FAREWELL)
        self._scope.cancel()
        await asyncio.wait([self._task])

    def _end(self, excess: str = "") -> None:
        self.over = True
        self.excess = self.excess or excess
        self._ended.set()

    async def _own(self) -> None:
        try:
            with self._scope:
                await self._live()
        except UnreachableError as error:
            self._trouble = error
        except Exception as error:  # noqa: BLE001 - whatever the transport died of: whoever waits is told
            self._trouble = UnreachableError(f"{quoted(self._label)} was lost: {reason(error)}")
        finally:
            self._trouble = self._trouble or UnreachableError(f"{quoted(self._label)} was lost")
            self.over, self._client = True, None
            self._opened.set()
            self._tell()

    async def _live(self) -> None:
        async with (
            self._connect(on_message=self.listener.hear, on_end=self._end) as client,
            anyio.create_task_group() as tasks,
        ):
            self._client, self.stood = client, True
            self._opened.set()
            tasks.start_soon(self.listener.run, client)
            await self._ended.wait()
            tasks.cancel_scope.cancel()
