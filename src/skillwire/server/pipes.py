"""File descriptors that may block for ever, read and written by threads that nobody waits for.

A pipe could be polled, a regular file or a console could not. The threads are daemons: a client that
neither speaks nor listens must not keep the process alive.
"""

import os
import queue
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream

_CHUNK = 64 * 1024
_CHUNKS_AHEAD = 64
"""Chunks that are read before anybody asks for them, so that the end is seen in time."""
_TO_FINISH = 0.5
"""Seconds for a piece that was begun when the end came."""


@dataclass(slots=True)
class PipeReader:
    """What can be read from a descriptor."""

    chunks: MemoryObjectReceiveStream[bytes]
    ended: bool = False
    """Whether the other side has closed it, known even before the last chunks are taken."""


@asynccontextmanager
async def chunks_of(descriptor: int) -> AsyncGenerator[PipeReader]:
    """Yield what can be read from a descriptor, until its end."""
    send, receive = anyio.create_memory_object_stream[bytes](_CHUNKS_AHEAD)
    reader = PipeReader(receive)
    token = anyio.lowlevel.current_token()

    def pump() -> None:
        # Nobody listens any more: the service has ended, or its event loop is gone.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, RuntimeError):
            while chunk := os.read(descriptor, _CHUNK):
                anyio.from_thread.run(send.send, chunk, token=token)
            reader.ended = True
            anyio.from_thread.run_sync(send.close, token=token)

    threading.Thread(target=pump, name="skillwire-reader", daemon=True).start()
    with receive, send:
        yield reader


class PipeWriter:
    """Writes to a descriptor, one piece after the other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pieces = queue.SimpleQueue[tuple[bytes, anyio.Event]]()
        self._token = anyio.lowlevel.current_token()
        self._error: OSError | None = None
        threading.Thread(target=self._pump, name="skillwire-writer", daemon=True).start()

    async def write(self, piece: bytes) -> None:
        """Write all of `piece`. Raises `OSError` if nobody reads any more."""
        written = anyio.Event()
        self._pieces.put((piece, written))
        try:
            await written.wait()
        except anyio.get_cancelled_exc_class():
            # Half a line would be worse than none: what was begun is finished, if somebody reads it.
            with anyio.move_on_after(_TO_FINISH, shield=True):
                await written.wait()
            raise
        if self._error is not None:
            raise self._error

    def _pump(self) -> None:
        with suppress(RuntimeError):  # the event loop is gone
            while True:
                piece, written = self._pieces.get()
                self._write(piece)
                anyio.from_thread.run_sync(written.set, token=self._token)

    def _write(self, piece: bytes) -> None:
        left = memoryview(piece)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            self._error = error
