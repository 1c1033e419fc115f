"""Read and write file descriptors without blocking: by polling if possible, else in a thread.

The event loop can poll pipes and sockets, which saves a thread switch for each message. It cannot poll
regular files and consoles, so a thread reads or writes these. The threads are daemons, because a silent
client must not keep the process running.
"""

import asyncio
import os
import queue
import stat
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial

import anyio

_CHUNK = 64 * 1024
_CHUNKS_AHEAD = 64
"""Number of chunks that are read ahead while reading is paused, so that the end of the input is noticed in
time.
"""

_TICK = 0.5
_TIMEOUT_SECONDS = 10.0
"""Seconds without progress after which a client that has closed its side is disconnected."""


class ClientGoneError(Exception):
    """The client has closed its side, and reads no more responses."""


class PipeReader(ABC):
    """Reads a file descriptor in chunks, and calls `on_data` and `on_end` in the event loop."""

    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        self._ahead: deque[bytes] = deque()
        self._paused = self._over = self._end_reported = False
        self._loop = asyncio.get_running_loop()

    @property
    def is_closed(self) -> bool:
        """Whether the other side has closed the pipe. May be True before the last chunks are delivered."""
        return self._over

    def pause(self) -> None:
        """Call neither `on_data` nor `on_end` until `release`."""
        self._paused = True

    def release(self) -> None:
        """Deliver the chunks that were read during the pause, and continue."""
        if self._paused:
            self._paused = False
            self._loop.call_soon(self._deliver)

    @abstractmethod
    def close(self) -> None:
        """Stop reading."""

    def _receive(self, chunk: bytes) -> None:
        """Process a chunk. An empty chunk marks the end."""
        if not chunk:
            self._over = True
        elif self._paused or self._ahead:
            self._ahead.append(chunk)
            return
        else:
            self._on_data(chunk)
        self._deliver()

    def _deliver(self) -> None:
        while self._ahead and not self._paused:
            self._on_data(self._ahead.popleft())
        if self._over and not self._ahead and not self._paused and not self._end_reported:
            self._end_reported = True
            self._on_end()


class PolledReader(PipeReader):
    """A reader for pipes and sockets. It owns the file descriptor, and closes it."""

    def __init__(self, descriptor: int, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        super().__init__(on_data, on_end)
        self._descriptor = descriptor
        self._polled = True
        self._loop.add_reader(descriptor, self._readable)

    def close(self) -> None:
        self._pause()
        self._over = True
        os.close(self._descriptor)

    def _pause(self) -> None:
        if self._polled:
            self._polled = False
            self._loop.remove_reader(self._descriptor)

    def _readable(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # the other side is gone
            chunk = b""
        if chunk and not self._paused and not self._ahead:
            self._on_data(chunk)  # the usual case, with nothing buffered before it
            return
        if not chunk:
            self._pause()
        self._receive(chunk)
        if len(self._ahead) >= _CHUNKS_AHEAD:
            self._pause()

    def _deliver(self) -> None:
        super()._deliver()
        if not self._polled and not self._over and len(self._ahead) < _CHUNKS_AHEAD:
            self._polled = True
            self._loop.add_reader(self._descriptor, self._readable)


class ThreadReader(PipeReader):
    """A reader for files and consoles, and for systems that cannot poll."""

    def __init__(self, descriptor: int, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        super().__init__(on_data, on_end)
        self._descriptor = descriptor
        self._room = threading.Semaphore(_CHUNKS_AHEAD)
        self._closed = False
        self._context = copy_context()  # run callbacks from the thread in the caller's context
        threading.Thread(target=self._pump, name="skillwire-reader", daemon=True).start()

    def close(self) -> None:
        self._closed = True
        self._room.release()

    def _pump(self) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            while not self._closed:
                self._room.acquire()
                try:
                    chunk = os.read(self._descriptor, _CHUNK)
                except OSError:
                    chunk = b""
                self._loop.call_soon_threadsafe(self._receive, chunk, context=self._context)
                if not chunk:
                    return

    def _receive(self, chunk: bytes) -> None:
        before = len(self._ahead)
        super()._receive(chunk)
        self._make_room(before + 1 - len(self._ahead))

    def _deliver(self) -> None:
        before = len(self._ahead)
        super()._deliver()
        if before > len(self._ahead):
            self._make_room(before - len(self._ahead))

    def _make_room(self, chunks: int) -> None:
        for _ in range(chunks):
            self._room.release()


class PipeWriter(ABC):
    """Writes data to a file descriptor, in order."""

    def __init__(self, on_broken: Callable[[], None]) -> None:
        """Create a writer. `on_broken` is called when the other side has closed."""
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.pending = 0
        """Bytes that are not written yet."""

    @abstractmethod
    def write(self, piece: bytes) -> None:
        """Write all of `piece`, now or as soon as the other side reads."""

    def close(self) -> None:  # noqa: B027 - not every writer has something to close
        """Stop writing."""

    async def wait_flushed(self) -> None:
        """Wait until everything is written, or the other side has closed."""
        if self.pending:
            waiting = self._loop.create_future()
            self._waiting.append(waiting)
            await waiting

    async def wait_until_below(self, is_closed: Callable[[], bool], enough: int = 0) -> None:
        """Wait until at most `enough` bytes are left to write.

        `is_closed` returns whether the client has closed its side. If it has, and reads nothing for ten
        seconds, raises `ClientGoneError`.
        """
        quiet, before = 0.0, self.pending
        while before > enough:
            with anyio.move_on_after(_TICK):
                await self.wait_flushed()
            quiet = quiet + _TICK if is_closed() and self.pending >= before else 0.0
            if quiet >= _TIMEOUT_SECONDS:
                raise ClientGoneError
            before = self.pending

    def _written(self, length: int) -> None:
        self.pending -= length
        if not self.pending:
            self._wake_waiters()

    def _break(self) -> None:
        self.pending = 0
        self._wake_waiters()
        self._on_broken()

    def _wake_waiters(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)


class PolledWriter(PipeWriter):
    """A writer for pipes and sockets. It owns the file descriptor.

    `send` must write as much as it can without blocking.
    """

    def __init__(
        self, descriptor: int, send: Callable[[bytes | memoryview], int], on_broken: Callable[[], None]
    ) -> None:
        super().__init__(on_broken)
        self._descriptor, self._send = descriptor, send
        self._pieces: deque[memoryview] = deque()
        self._gone = False

    def write(self, piece: bytes) -> None:
        if self._gone or not piece:
            return
        length = 0
        if not self._pieces:  # the usual case: nothing is queued, and everything can be written now
            try:
                length = self._send(piece)
            except BlockingIOError:
                pass
            except OSError:
                self._mark_broken()
                return
            if length == len(piece):
                return
            self._loop.add_writer(self._descriptor, self._writable)
        self._pieces.append(memoryview(piece)[length:])
        self.pending += len(piece) - length

    def close(self) -> None:
        if not self._gone:
            self._gone = True
            self._loop.remove_writer(self._descriptor)
        os.close(self._descriptor)

    def _writable(self) -> None:
        if self._write_on():
            self._loop.remove_writer(self._descriptor)

    def _write_on(self) -> bool:
        """Write as much as possible. Return whether the queue is empty."""
        while self._pieces:
            piece = self._pieces[0]
            try:
                length = self._send(piece)
            except BlockingIOError:
                return False
            except OSError:
                self._mark_broken()
                return True
            if length < len(piece):
                self._pieces[0] = piece[length:]
            else:
                self._pieces.popleft()
            self._written(length)
        return True

    def _mark_broken(self) -> None:
        self._gone = True
        self._pieces.clear()
        self._break()


class ThreadWriter(PipeWriter):
    """A writer for files and consoles, and for systems that cannot poll."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        super().__init__(on_broken)
        self._descriptor = descriptor
        self._pieces = queue.SimpleQueue[bytes]()
        threading.Thread(target=self._pump, name="skillwire-writer", daemon=True).start()

    def write(self, piece: bytes) -> None:
        self.pending += len(piece)
        self._pieces.put(piece)

    def _pump(self) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            while True:
                piece = self._pieces.get()
                left = memoryview(piece)
                try:
                    while left:
                        length = os.write(self._descriptor, left[:_CHUNK])
                        left = left[length:]
                        self._loop.call_soon_threadsafe(self._written, length)
                except OSError:
                    self._loop.call_soon_threadsafe(self._break)
                    return


def open_reader(descriptor: int, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> PipeReader:
    """Return a reader for a file descriptor, which polls if possible, else uses a thread."""
    own = _own_end(descriptor, os.O_RDONLY)
    if own is not None:
        try:
            return PolledReader(own, on_data, on_end)
        except (NotImplementedError, OSError):  # this event loop cannot poll the descriptor
            os.close(own)
    return ThreadReader(descriptor, on_data, on_end)


def open_writer(descriptor: int, on_broken: Callable[[], None]) -> PipeWriter:
    """Return a writer for a file descriptor, which polls if possible, else uses a thread."""
    own = _own_end(descriptor, os.O_WRONLY)
    return (
        ThreadWriter(descriptor, on_broken)
        if own is None
        else PolledWriter(own, partial(os.write, own), on_broken)
    )


def _own_end(descriptor: int, direction: int) -> int | None:
    """Return a separate, non-blocking descriptor for the same pipe or socket, or None if that is impossible.

    The given descriptor may be shared with the parent process, so making it non-blocking would also affect
    the parent. On Linux, a pipe can be opened again through `/proc`. A socket is rarely shared, so a copy is
    sufficient.
    """
    mode = os.fstat(descriptor).st_mode
    try:
        if stat.S_ISFIFO(mode):
            return os.open(f"/proc/self/fd/{descriptor}", direction | os.O_NONBLOCK | os.O_CLOEXEC)
        if stat.S_ISSOCK(mode):
            own = os.dup(descriptor)
            os.set_blocking(own, False)
            return own
    except (OSError, AttributeError):
        return None
    return None
