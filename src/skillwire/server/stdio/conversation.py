"""Connect a client on stdio to the SDK."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage

from skillwire.protocol.bounds import MAX_MESSAGE_BYTES
from skillwire.server.cached_requests import MCP_META_PREFIX, MODERN_VERSION
from skillwire.server.jsonrpc import Refusal, is_id, read_message, refusal
from skillwire.server.stdio.lines import LineTooLongError
from skillwire.server.stdio.pipes import ClientGoneError, PipeWriter

_TIMEOUT_SECONDS = 0.5
"""Seconds to wait for the next response once the client has closed its side."""
_LASTING = "subscriptions/listen"
"""The method whose requests stay open and do not count towards `_AT_ONCE`. The SDK limits their number."""
_AT_ONCE = 16
"""Maximum number of requests that the SDK processes at a time. Further requests wait."""
_HANDSHAKE = "initialize"


class Conversation:
    """Passes lines from a client to the SDK as messages, and writes the SDK's messages as lines."""

    def __init__(self, server: Server[Any], writer: PipeWriter, ended: Callable[[], bool]) -> None:
        """Create a conversation. `ended` returns whether the client has closed its side."""
        self._server = server
        self._writer = writer
        self._ended = ended
        self._incoming, self._to_server = _stream()
        self._from_server, self._outgoing = _stream()
        self._refusals = self._from_server.clone()
        self._unanswered: set[types.RequestId] = set()
        self._answered = anyio.Event()
        self._opening = f"skillwire-{uuid.uuid4().hex}"
        self._handshake: types.RequestId | None = None
        self.modern: bool | None = None
        """Whether the first request to the SDK was of protocol 2026-07-28.

        The SDK then stays with that version.
        """
        self.is_initialized = False
        """Whether the handshake of an earlier protocol version has succeeded."""

    async def run(self) -> None:
        """Run the SDK, and write its messages, until `end` was called and every request is answered."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._write)
            options = self._server.create_initialization_options()
            await self._server.run(self._to_server, self._from_server, options)

    async def begin_modern(self) -> None:
        """Tell the SDK that the client uses protocol 2026-07-28, unless the SDK got a request before."""
        if self.modern is None:
            self.modern = True
            meta: dict[str, Any] = {
                f"{MCP_META_PREFIX}protocolVersion": MODERN_VERSION,
                f"{MCP_META_PREFIX}clientCapabilities": {},
            }
            request = types.JSONRPCRequest(
                jsonrpc="2.0", id=self._opening, method="server/discover", params={"_meta": meta}
            )
            await self._incoming.send(SessionMessage(request))

    async def take(self, line: bytes | LineTooLongError) -> None:
        """Pass a line to the SDK, or refuse it if it is not a message. Raises `ClientGoneError`."""
        if isinstance(line, LineTooLongError):
            message = refusal(types.INVALID_REQUEST, f"a line may have at most {MAX_MESSAGE_BYTES:,} bytes")
        else:
            message = read_message(line)
        if isinstance(message, Refusal):
            await self._refusals.send(SessionMessage(message.answer))
            return
        if isinstance(message, types.JSONRPCRequest):
            self._note(message)
            if message.method != _LASTING:
                while len(self._unanswered) >= _AT_ONCE:
                    await self._next_answer()
                self._unanswered.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._forget((message.params or {}).get("requestId"))
        await self._incoming.send(SessionMessage(message))

    async def end(self) -> None:
        """Wait for the last responses until the client leaves, then tell the SDK that the input has ended."""
        async with self._incoming, self._refusals:
            with suppress(ClientGoneError):
                while self._unanswered:
                    await self._next_answer()

    def _note(self, request: types.JSONRPCRequest) -> None:
        if self.modern is None:
            meta = (request.params or {}).get("_meta")
            enveloped = isinstance(meta, dict) and f"{MCP_META_PREFIX}protocolVersion" in meta
            self.modern = enveloped and request.method != _HANDSHAKE
        if request.method == _HANDSHAKE and not self.modern:
            self._handshake = request.id

    def _forget(self, cancelled: object) -> None:
        """Stop waiting for the response to a cancelled request. The client's id is not validated."""
        if is_id(cancelled):
            self._unanswered.discard(cancelled)

    async def _write(self) -> None:
        async with self._outgoing:
            async for message in self._outgoing:
                if getattr(message.message, "id", None) != self._opening:
                    self._writer.write(_line(message))
                    await self._writer.wait_flushed()
                    self._settle(message.message)

    def _settle(self, sent: types.JSONRPCMessage) -> None:
        if isinstance(sent, (types.JSONRPCResponse, types.JSONRPCError)) and sent.id is not None:
            if sent.id == self._handshake:
                self.is_initialized = isinstance(sent, types.JSONRPCResponse)
            self._unanswered.discard(sent.id)
            self._answered.set()
            self._answered = anyio.Event()

    async def _next_answer(self) -> None:
        """Wait until a response is written.

        Raises `ClientGoneError` if the client has left and no response arrives in time.
        """
        answered = self._answered
        while True:
            with anyio.move_on_after(_TIMEOUT_SECONDS):
                await answered.wait()
                return
            if self._ended() and not self._writer.pending:  # otherwise, a response will arrive
                raise ClientGoneError


def _stream() -> tuple[MemoryObjectSendStream[Any], MemoryObjectReceiveStream[Any]]:
    return anyio.create_memory_object_stream[Any](32)


def _line(sent: SessionMessage) -> bytes:
    return sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
