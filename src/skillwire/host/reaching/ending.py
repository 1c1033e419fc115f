"""Noticing that the other end of a connection is gone: a client of the SDK says so only when it is asked."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from skillwire.host.reaching.unreadable import made_readable


@asynccontextmanager
async def noticing(
    transport: AbstractAsyncContextManager[Any], ended: Callable[[], None]
) -> AsyncGenerator[Any]:
    """Yield the streams of a transport; `ended` is called when nothing can come from there any more."""
    async with transport as (read, write):
        yield _Noticed(read, ended), write


class _Noticed:
    """A stream of messages that says when it is at its end, and what of it cannot be read."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream, self._ended = stream, ended

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return made_readable(await self._stream.__anext__())
        except StopAsyncIteration:
            self._ended()
            raise

    def __getattr__(self, name: str) -> Any:
        """Return whatever else the SDK wants of a stream: that of the stream itself."""
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
        self._ended()
        await self._stream.__aexit__(kind, error, traceback)
