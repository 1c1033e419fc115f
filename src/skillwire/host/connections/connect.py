"""Connect a client of the MCP SDK to a server. Limits its traffic, and reports why a connection failed."""

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
"""Seconds in which a server must answer a request."""
_CLOSE_TIMEOUT = 5.0
"""Maximum time to close a connection properly, in seconds."""
_EXPOSES = (
    "is not contacted: plain `http` would show {} to everyone on the network; use `https`, or a tunnel that "
    "begins on this machine, such as `ssh -L`"
)
_OURS = (OSError, httpx2.ConnectError, SkillwireError)
"""Exceptions whose messages contain no text from a server."""


@asynccontextmanager
async def bounded_streams(
    transport: AbstractAsyncContextManager[Any], traffic: Traffic, ended: Callable[[str], None]
) -> AsyncGenerator[Any]:
    """Yield a transport's streams with traffic limits.

    `ended` is called when the stream of incoming messages ends. Its argument is the limit that the server
    exceeded, or an empty string.
    """
    async with transport as (read, write):
        yield _Incoming(read, traffic, ended), _Outgoing(write, traffic)


class _Stream:
    """A wrapper around a stream of the SDK."""

    def __init__(self, stream: Any, traffic: Traffic) -> None:
        self._stream, self._traffic = stream, traffic

    def __getattr__(self, name: str) -> Any:
        """Forward all other attributes that the SDK uses to the stream."""
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
    """The messages that a server sends. The stream ends as soon as the server exceeds a limit."""

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
    """The messages to a server. Sending fails once the server has exceeded a limit."""

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if self._traffic.failure:
            raise anyio.ClosedResourceError
        if isinstance(message, JSONRPCRequest):
            self._traffic.start_request(message.id, message.method)
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
    """Yield a client that is connected to the server. `mode` is the protocol mode of the SDK's client.

    Raises `UnavailableError` if the server does not answer or the connection is lost, and before the first
    request if plain `http` would expose a secret. If a program does not
    answer, the error includes the last lines of its stderr. `on_message` receives notifications. `on_end` is
    called when the connection ends, with a reason if the server exceeded `limits`.
    """
    if target.exposed:
        raise UnavailableError("", f"{quoted(target.label)} {_EXPOSES.format(target.exposed)}")
    traffic = Traffic(limits)
    with silence_sdk_logging(), StderrTail() as stderr, anyio.CancelScope() as closing:
        client = Client(
            bounded_streams(_transport(target, stderr.file, traffic), traffic, on_end),
            read_timeout_seconds=_TIMEOUT,
            mode=mode,
            message_handler=on_message,
        )
        try:
            await client.__aenter__()
        except Exception as error:  # any exception means that there is no connection
            if (login_required := _find_login_required(error)) is not None:
                raise login_required from error
            last = ", ".join(quoted(line, 300) for line in stderr.last_lines())
            output = f"; its last output: {last}" if last else ""
            # Models and clients also see this message.
            why = target.without_secrets(f"{traffic.failure or reason(error)}{output}")
            raise UnavailableError("", f"{quoted(target.label)} does not answer: {why}") from error
        try:
            yield client
        finally:
            closing.deadline = anyio.current_time() + (0 if traffic.failure else _CLOSE_TIMEOUT)
            try:
                await client.__aexit__(None, None, None)
            except Exception as error:
                why = target.without_secrets(traffic.failure or reason(error))
                message = f"the connection to {quoted(target.label)} was lost: {why}"
                raise UnavailableError("", message) from error
    if traffic.failure:
        raise UnavailableError("", f"{quoted(target.label)} was disconnected: {traffic.failure}")


def _transport(target: Target, stderr: TextIO, traffic: Traffic) -> Any:
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
    # The user named the command, so it gets the user's environment.
    env = {**os.environ, **target.env}
    return stdio_streams(target.command, traffic, cwd=target.cwd, env=env, errors=stderr)


def _find_login_required(error: BaseException) -> LoginRequiredError | None:
    """Return the `LoginRequiredError` among the causes of an error, or None."""
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = cast("Any", error).exceptions
        return next((found for each in inner if (found := _find_login_required(each)) is not None), None)
    if isinstance(error, MCPError):
        return wants_login(error)
    return None


def reason(error: BaseException) -> str:
    """Return the messages of an exception, or of all exceptions in a group, without repetitions."""
    return ", ".join(dict.fromkeys(_reasons(error)))


def _reasons(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = cast("Any", error).exceptions
        for each in inner:
            yield from _reasons(each)
    else:
        message = str(error)
        # Most messages repeat text from a server. Quote them, so that they do not look like Skillwire's own
        # text.
        ours = not message or isinstance(error, _OURS)
        yield escape_invisible(message or type(error).__name__, 300) if ours else quoted(message, 300)
