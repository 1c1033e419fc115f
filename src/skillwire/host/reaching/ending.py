"""The messages of a connection, counted on their way, and its end noticed: the SDK's client does neither."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from skillwire.host.reaching.traffic import Traffic

_CANCELLED = "notifications/cancelled"


@asynccontextmanager
async def noticing(
    transport: AbstractAsyncContextManager[Any], traffic: Traffic, ended: Callable[[str], None]
) -> AsyncGenerator[Any]:
    """Yield the streams of a transport; `ended` is called when nothing can come from there any more.

    It gets the reason if the server sent more than it may.
    """
    async with transport as (read, write):
        yield _Incoming(read, traffic, ended), _Outgoing(write, traffic)


class _Stream:
    """A stream of the SDK, with something around it."""

    def __init__(self, stream: Any, traffic: Traffic) -> None:
        self._stream, self._traffic = stream, traffic

    def __getattr__(self, name: str) -> Any:
        """Return anything else the SDK wants of a stream from the stream itself."""
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stream.__aexit__(kind, error, traceback)


class _Incoming(_Stream):
    """What a server sends. It is at its end as soon as that is too much: what still comes is not read."""

    def __init__(self, stream: Any, traffic: Traffic, ended: Callable[[str], None]) -> None:
        super().__init__(stream, traffic)
        self._ended = ended
        self._waiting = anyio.CancelScope()
        traffic.on_trouble = self._stop

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if not self._traffic.trouble:
            try:
                with anyio.CancelScope() as self._waiting:
                    item = await self._stream.__anext__()
                    self._count(item)
                    return item
            except StopAsyncIteration:
                pass
        self._ended(self._traffic.trouble)
        raise StopAsyncIteration

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended(self._traffic.trouble)
        await super().__aexit__(kind, error, traceback)

    def _stop(self) -> None:
        self._waiting.cancel()
        self._ended(self._traffic.trouble)

    def _count(self, item: object) -> None:
        message = item.message if isinstance(item, SessionMessage) else item
        if isinstance(message, JSONRPCRequest):
            self._traffic.requested()
        elif not (isinstance(message, (JSONRPCResponse, JSONRPCError)) and self._traffic.settle(message.id)):
            self._traffic.news(messages=1)


class _Outgoing(_Stream):
    """What is sent to a server. Nothing is, once it is not listened to any more."""

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if self._traffic.trouble:
            raise anyio.ClosedResourceError
        if isinstance(message, JSONRPCRequest):
            self._traffic.ask(message.id, message.method)
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            self._traffic.settle((message.params or {}).get("requestId"))
        await self._stream.send(item)
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._traffic.answered()
