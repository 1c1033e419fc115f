"""An MCP server on standard input and output: stdout carries the protocol and nothing else."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage

from skillwire.server.inbound import Refusal, read_message, refusal
from skillwire.server.lines import MAX_LINE, LineSplitter, LineTooLongError
from skillwire.server.pipes import PipeReader, PipeWriter, chunks_of

_LAST_ANSWERS = 0.5
"""Seconds for the next answer once the client has closed its side: while answers come, all are given."""
_LASTING = "subscriptions/listen"
"""The request that is not answered before the end. The SDK bounds how many there may be."""
_AT_ONCE = 16
"""Requests under way. A client that asks for more before it has read its answers has to wait."""


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes our standard input, or stops reading our standard output."""
    with _private_pipes() as (source, sink):
        wire = _Wire(source, sink)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.read)
            tasks.start_soon(wire.write, tasks.cancel_scope)
            await server.run(wire.to_server, wire.from_server, server.create_initialization_options())
            with anyio.move_on_after(_LAST_ANSWERS):  # a client that reads nothing gets no more
                await wire.all_written.wait()
            tasks.cancel_scope.cancel()


class _Wire:
    """Carries messages between two file descriptors and the SDK."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._incoming, self.to_server = _stream()
        self.from_server, self._outgoing = _stream()
        self._refusals = self.from_server.clone()
        self._unanswered: set[types.RequestId] = set()
        self._answered = anyio.Event()
        self.all_written = anyio.Event()
        self._reader: PipeReader | None = None

    async def read(self) -> None:
        """Hand every message to the server; answer what is none; at the end, let the last answers out."""
        lines = LineSplitter()
        async with self._incoming, self._refusals, chunks_of(self._source) as self._reader:
            with suppress(anyio.BrokenResourceError, _NobodyListensError):
                async for chunk in self._reader.chunks:
                    for line in lines.feed(chunk):
                        await self._take(line)
                for line in lines.end():
                    await self._take(line)
                while self._unanswered:
                    await self._next_answer()

    async def write(self, everything: anyio.CancelScope) -> None:
        """Write every answer. A client that no longer reads ends the service."""
        writer = PipeWriter(self._sink)
        async with self._outgoing:
            async for message in self._outgoing:
                batch = [message, *_waiting(self._outgoing)]
                try:
                    await writer.write(b"".join(_line(sent) for sent in batch))
                except OSError:
                    everything.cancel()
                    return
                for sent in batch:
                    self._settle(sent)
        self.all_written.set()

    async def _take(self, line: bytes | LineTooLongError) -> None:
        if isinstance(line, LineTooLongError):
            message = refusal(types.INVALID_REQUEST, f"a line may have {MAX_LINE:,} bytes")
        else:
            message = read_message(line)
        if isinstance(message, Refusal):
            await self._refusals.send(SessionMessage(message.answer))
            return
        if isinstance(message, types.JSONRPCRequest) and message.method != _LASTING:
            while len(self._unanswered) >= _AT_ONCE:
                await self._next_answer()
            self._unanswered.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._unanswered.discard((message.params or {}).get("requestId", ""))  # it will not be answered
        await self._incoming.send(SessionMessage(message))

    def _settle(self, sent: SessionMessage) -> None:
        if (
            isinstance(sent.message, (types.JSONRPCResponse, types.JSONRPCError))
            and sent.message.id is not None
        ):
            self._unanswered.discard(sent.message.id)
            self._answered.set()

    async def _next_answer(self) -> None:
        """Wait until an answer is written. Raises `_NobodyListensError` if the client is gone and none is."""
        self._answered = anyio.Event()
        while True:
            with anyio.move_on_after(_LAST_ANSWERS):
                await self._answered.wait()
                return
            if self._reader is None or self._reader.ended:
                raise _NobodyListensError


class _NobodyListensError(Exception):
    """The client has closed its side, and takes no more answers."""


def _stream() -> tuple[MemoryObjectSendStream[Any], MemoryObjectReceiveStream[Any]]:
    return anyio.create_memory_object_stream[Any](32)


def _waiting(stream: MemoryObjectReceiveStream[SessionMessage]) -> Iterator[SessionMessage]:
    with suppress(anyio.WouldBlock, anyio.EndOfStream):
        while True:
            yield stream.receive_nowait()


def _line(sent: SessionMessage) -> bytes:
    return sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


@contextmanager
def _private_pipes() -> Generator[tuple[int, int]]:
    """Take standard input and output for the protocol alone.

    Meanwhile descriptor 0 is empty and 1 leads to stderr, so that a stray `print`, here or in a child
    process, cannot break a message. The private copies stay open: a thread may still read from one.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
