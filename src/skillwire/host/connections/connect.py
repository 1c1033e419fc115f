"""Open an SDK client for a target: transport, bounded streams, and errors that name the reason."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self, TextIO, cast

import anyio
import httpx2
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from skillwire.errors import LoginRequiredError, SkillwireError, UnavailableError
from skillwire.host.connections.http import http_streams, wants_login
from skillwire.host.connections.sdk_logging import silence_sdk_logging
from skillwire.host.connections.stdio import StderrTail, stdio_streams
from skillwire.host.connections.target import Target
from skillwire.host.connections.traffic import Traffic, TrafficLimits
from skillwire.safe_text import escape_invisible, quoted

_CANCELLED = "notifications/cancelled"
_TIMEOUT = 60.0
"""Seconds for one answer."""
_CLOSE_TIMEOUT = 5.0
"""Seconds to take leave of a server in peace."""
_OURS = (OSError, httpx2.ConnectError, SkillwireError)
"""Failures whose messages come from this machine, and hold no text of a server."""


@asynccontextmanager
async def bounded_streams(
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
        traffic.on_failure = self._stop

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if not self._traffic.failure:
            try:
                with anyio.CancelScope() as self._waiting:
                    item = await self._stream.__anext__()
                    self._count(item)
                    return item
            except StopAsyncIteration:
                pass
        self._ended(self._traffic.failure)
        raise StopAsyncIteration

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended(self._traffic.failure)
        await super().__aexit__(kind, error, traceback)

    def _stop(self) -> None:
        self._waiting.cancel()
        self._ended(self._traffic.failure)

    def _count(self, item: object) -> None:
        message = item.message if isinstance(item, SessionMessage) else item
        if isinstance(message, JSONRPCRequest):
            self._traffic.count_request()
        elif not (
            isinstance(message, (JSONRPCResponse, JSONRPCError)) and self._traffic.finish_request(message.id)
        ):
            self._traffic.count_unsolicited(messages=1)


class _Outgoing(_Stream):
    """What is sent to a server. Nothing is, once it is not listened to any more."""

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if self._traffic.failure:
            raise anyio.ClosedResourceError
        if isinstance(message, JSONRPCRequest):
            self._traffic.ask(message.id, message.method)
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            self._traffic.finish_request((message.params or {}).get("requestId"))
        await self._stream.send(item)
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._traffic.count_response()


__all__ = ["connected", "reason"]


@asynccontextmanager
async def connected(
    target: Target,
    mode: Any = "auto",
    *,
    on_message: MessageHandlerFnT | None = None,
    on_end: Callable[[str], None] = lambda _: None,
    limits: TrafficLimits | None = None,
) -> AsyncGenerator[Client]:
    """Yield a client of the server. Raises `UnavailableError`, with what it last said where that is known.

    `on_message` gets what the server says unasked; `on_end` is called when it can say nothing more, with the
    reason if it sent more than the `limits` allow.
    """
    traffic = Traffic(limits)
    with silence_sdk_logging(), StderrTail() as words, anyio.CancelScope() as leaving:
        client = Client(
            bounded_streams(_transport(target, words.file, traffic), traffic, on_end),
            read_timeout_seconds=_TIMEOUT,
            mode=mode,
            message_handler=on_message,
        )
        try:
            await client.__aenter__()
        except Exception as error:  # whatever it is: there is no connection
            if (wanted := _login_wanted(error)) is not None:
                raise wanted from error
            said = f"; it said: {quoted(last, 300)}" if (last := words.last_line()) else ""
            # Models and clients read this, too.
            why = target.without_secrets(f"{traffic.failure or reason(error)}{said}")
            raise UnavailableError("", f"{quoted(target.label)} does not answer: {why}") from error
        try:
            yield client
        finally:
            leaving.deadline = anyio.current_time() + (0 if traffic.failure else _CLOSE_TIMEOUT)
            try:
                await client.__aexit__(None, None, None)
            except Exception as error:
                why = target.without_secrets(traffic.failure or reason(error))
                raise UnavailableError("", f"{quoted(target.label)} was lost: {why}") from error
    if traffic.failure:
        raise UnavailableError("", f"{quoted(target.label)} was dropped: {traffic.failure}")


def _transport(target: Target, said: TextIO, traffic: Traffic) -> Any:
    if target.url is not None:
        return http_streams(
            target.url,
            traffic,
            target.token,
            target.headers,
            public_only=target.public_only,
            tokens=target.tokens,
            advice=target.advice,
        )
    # It is the person's own command, with the person's variables.
    env = {**os.environ, **target.env}
    return stdio_streams(target.command, traffic, cwd=target.cwd, env=env, errors=said)


def _login_wanted(error: BaseException) -> LoginRequiredError | None:
    """Return the error of a server that requires a login, if it is among the causes."""
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = cast("Any", error).exceptions
        return next((found for each in inner if (found := _login_wanted(each)) is not None), None)
    if isinstance(error, MCPError):
        return wants_login(error)
    return None


def reason(error: BaseException) -> str:
    """Return why there is no connection, in the words of whatever failed; each of them once."""
    return ", ".join(dict.fromkeys(_reasons(error)))


def _reasons(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = cast("Any", error).exceptions
        for each in inner:
            yield from _reasons(each)
    else:
        said = str(error)
        # Most of them repeat what a server answered, and nothing of that is a sentence of this program.
        ours = not said or isinstance(error, _OURS)
        yield escape_invisible(said or type(error).__name__, 300) if ours else quoted(said, 300)
