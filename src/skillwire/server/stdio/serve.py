"""Serve MCP on standard input and output. Stdout carries only the protocol.

Requests with a cached response are answered at once. Loading the SDK takes longer than loading most folders
of skills, so the SDK is loaded only when a request needs it.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.to_thread
import orjson

from skillwire.errors import UnreadError
from skillwire.library.library import Library
from skillwire.server.cached_requests import Question, parse_request
from skillwire.server.response_cache import ResponseCache, wrap_result
from skillwire.server.stdio.batch import (
    MAX_UNREAD_BYTES,
    MAX_WRITE_AHEAD_BYTES,
    Batch,
    Line,
    QueuedLine,
    Turn,
)
from skillwire.server.stdio.lines import LineSplitter, LineTooLongError, RequestMemo
from skillwire.server.stdio.pipes import ClientGoneError, open_reader, open_writer

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from skillwire.server.stdio.conversation import Conversation


_TIMEOUT_SECONDS = 0.5
"""Seconds in which the client can read the remaining responses after a signal to stop.

Without this time, the client would receive an incomplete line.
"""
_AT_ONCE = 16
"""Maximum number of lines that wait for the SDK, and of responses in preparation. Further requests wait."""


async def serve_stdio(server: "Server[Any]", *, cache: bool = True) -> None:
    """Serve one client on stdin and stdout until it closes either.

    While serving, descriptor 0 is empty and descriptor 1 leads to stderr. Frequent requests are answered from
    a cache, unless `cache` is False or you added middleware or handlers to the server. Raises a
    `SkillwireError` if the client closes the server's stdin and does not read the remaining responses.
    """
    cached = import_module("skillwire.server.build").cached_skills(server) if cache else None
    if cached is None:
        await serve_lazily(lambda: server)
        return
    await serve_following(cached.library, lambda: server, cached.cache)


async def serve_following(
    library: Library, make_server: "Callable[[], Server[Any]]", cache: ResponseCache | None
) -> None:
    """Serve one client on stdin and stdout while the library follows its sources.

    The SDK's server would also follow the sources, but it may never be loaded. Raises `UnreadError` if the
    client does not read all responses.
    """
    await library.ensure_loaded()
    unread: UnreadError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        try:
            await serve_lazily(make_server, cache)
        except UnreadError as error:  # the task group would wrap it in an exception group
            unread = error
        tasks.cancel_scope.cancel()
    if unread is not None:
        raise unread


async def serve_lazily(
    make_server: "Callable[[], Server[Any]]", response_cache: ResponseCache | None = None
) -> None:
    """Serve one client on stdin and stdout.

    `make_server` is called once, in a thread, when a request needs the SDK. Raises `UnreadError` if the
    client does not read all responses.
    """
    with _private_pipes() as (source, sink):
        await serve_pipes(source, sink, make_server, response_cache)


async def serve_pipes(
    source: int,
    sink: int,
    make_server: "Callable[[], Server[Any]]",
    response_cache: ResponseCache | None = None,
) -> None:
    """Serve one client on two file descriptors.

    The descriptors stay open, because a thread may still read from one of them. Raises `UnreadError` if the
    client does not read all responses.
    """
    unread = 0
    async with anyio.create_task_group() as tasks:
        wire = _StdioConnection(source, sink, make_server, response_cache, tasks)
        try:
            await wire.run()
        finally:
            await wire.close()
            unread = wire.unread
        tasks.cancel_scope.cancel()
    if unread:
        raise UnreadError(unread)


class _StdioConnection:
    """The connection to one client: reads request lines and writes responses."""

    def __init__(
        self,
        source: int,
        sink: int,
        make_server: "Callable[[], Server[Any]]",
        response_cache: ResponseCache | None,
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self._make_server = make_server
        self._response_cache = response_cache
        self._tasks = tasks
        self._lines = LineSplitter()
        self._request_memo = None if response_cache is None else RequestMemo(response_cache)
        self._waiting: deque[QueuedLine] = deque()
        """Lines that could not be answered at once."""
        self._turn = Turn()
        self._taking = False
        """Whether a waiting line is being processed."""
        self._has_work = anyio.Event()
        self._over = self._is_paused = False
        self._preparing = anyio.Semaphore(_AT_ONCE)
        self._loading = anyio.Lock()
        self._sdk: Conversation | None = None
        self._sdk_ended = anyio.Event()
        self._modern = False
        """Whether a request of protocol 2026-07-28 went to the response cache."""
        self._writer = open_writer(sink, tasks.cancel_scope.cancel)
        self._reader = open_reader(source, self._on_data, self._on_end)

    async def run(self) -> None:
        """Answer every line until the input ends, then flush the last responses."""
        with suppress(ClientGoneError, anyio.BrokenResourceError):
            while self._waiting or not self._over:
                await self._has_work.wait()
                self._has_work = anyio.Event()
                while self._waiting:
                    await self._wait_for_client()
                    if not self._turn.has_time:
                        await asyncio.sleep(0)
                        self._turn = Turn()  # all others had theirs
                    if not self._answer_waiting():
                        await self._take_next()
                    self._apply_backpressure()
            for _ in range(_AT_ONCE):  # wait until nothing is being prepared
                await self._preparing.acquire()
        if self._sdk is not None:
            await self._sdk.end()
            await self._sdk_ended.wait()
        await self._writer.wait_flushed()

    async def close(self) -> None:
        """Stop reading, and write the remaining responses if the client reads them in time."""
        self._reader.close()
        with anyio.move_on_after(_TIMEOUT_SECONDS, shield=True):
            await self._writer.wait_flushed()
        self._writer.close()

    @property
    def unread(self) -> int:
        """Number of response bytes that the client has not read."""
        return self._writer.pending

    def _on_data(self, chunk: bytes) -> None:
        """Answer the lines in a chunk that can be answered at once. Queue all other lines."""
        if self._request_memo is not None and not self._lines.begun:
            chunk = self._answer_repeated(chunk, self._request_memo)
        if chunk:
            self._take_each(chunk)
        if self._waiting or self._writer.pending:  # otherwise nothing is queued, and reading is not paused
            self._apply_backpressure()

    def _answer_repeated(self, chunk: bytes, memo: RequestMemo) -> bytes:
        """Answer the repeated requests at the beginning of a chunk. Return the rest of the chunk."""
        while chunk:
            answers, chunk = memo.answer_known(
                chunk, min(MAX_WRITE_AHEAD_BYTES, MAX_UNREAD_BYTES - self._writer.pending)
            )
            if not answers:
                break
            self._writer.write(answers)
        return chunk

    def _take_each(self, chunk: bytes) -> None:
        """Answer a chunk line by line. Queue lines that cannot be answered at once."""
        batch = Batch(self._writer)
        for line in self._lines.feed(chunk):
            queued = QueuedLine(line)
            # If no protocol version is chosen yet, an earlier line chooses it.
            may_parse = self._is_modern is not None or not (self._waiting or self._taking)
            if not may_parse or batch.is_unread or not self._answer(queued, batch):
                self._waiting.append(queued)
        batch.flush()
        if self._waiting:
            self._has_work.set()

    def _answer_waiting(self) -> bool:
        """Answer queued lines, in order, up to the first one that needs more time. Return whether any was."""
        batch, before = Batch(self._writer), len(self._waiting)
        while (
            self._waiting
            and self._turn.has_time
            and not batch.is_unread
            and self._answer(self._waiting[0], batch)
        ):
            self._waiting.popleft()
        batch.flush()
        return len(self._waiting) < before

    def _answer(self, queued: QueuedLine, batch: Batch) -> bool:
        """Answer a line if its response is cached or can be made without waiting. Return whether it was."""
        cache, memo, line = self._response_cache, self._request_memo, queued.line
        if cache is None or memo is None or isinstance(line, LineTooLongError):
            return False
        known = queued.request or memo.find(line)
        if (request := known or self._parse_line(line)) is None:
            return False
        queued.request = request
        request_id, cache_key = request
        if (result := cache.get_cached(cache_key)) is not None:
            if known is None and self._is_modern is not None:  # the memo does not check the protocol version
                memo.remember(line, *request)
        elif queued.needs_time or not self._turn.has_time:
            return False
        elif (result := cache.answer_now(cache_key)) is None:
            queued.needs_time = True
            return False
        else:
            self._turn.count(len(result))
        self._modern = cache_key.modern
        batch.add(wrap_result(request_id, result, b"\n"))
        return True

    def _on_end(self) -> None:
        self._waiting.extend(map(QueuedLine, self._lines.end()))
        self._over = True
        self._has_work.set()
        self._tasks.start_soon(self._stop_if_unread)

    async def _stop_if_unread(self) -> None:
        """Stop serving a client that has closed its side and reads no responses."""
        with suppress(ClientGoneError):
            while True:
                await self._writer.wait_until_below(self._is_over)
                await anyio.sleep(_TIMEOUT_SECONDS)
        self._tasks.cancel_scope.cancel()

    def _is_over(self) -> bool:
        return self._reader.is_closed

    def _apply_backpressure(self) -> None:
        """Read from a client only while it reads its responses."""
        if self._is_paused:
            return
        if self._writer.pending > MAX_UNREAD_BYTES:
            self._is_paused = True
            self._reader.pause()
            self._tasks.start_soon(self._resume_reading)
        elif len(self._waiting) >= _AT_ONCE:
            self._reader.pause()
        else:
            self._reader.release()

    async def _resume_reading(self) -> None:
        try:
            await self._wait_for_client()
        except ClientGoneError:
            self._tasks.cancel_scope.cancel()
        self._is_paused = False
        self._apply_backpressure()

    async def _wait_for_client(self) -> None:
        """Wait until the client has read enough responses. Raises `ClientGoneError` if it stops reading."""
        await self._writer.wait_until_below(self._is_over, MAX_UNREAD_BYTES)

    @property
    def _is_modern(self) -> bool | None:
        """Whether the client uses protocol 2026-07-28; None until its first request shows it."""
        return True if self._modern else None if self._sdk is None else self._sdk.modern

    def _parse_line(self, line: bytes) -> tuple[bytes, Question] | None:
        """Return the encoded id and the question of a line, or None if the cache cannot answer it."""
        is_modern = self._is_modern
        if is_modern is False and (self._sdk is None or not self._sdk.is_initialized):
            return None
        request = parse_request(line, modern=is_modern is not False)
        return None if request is None else (orjson.dumps(request[0]), request[1])

    async def _take_next(self) -> None:
        """Pass the next queued line on, or start a task that answers it. Raises `ClientGoneError`."""
        queued = self._waiting.popleft()
        self._taking = True
        if queued.request is None:
            await self._give_to_sdk(queued.line)
        else:
            self._modern = self._modern or queued.request[1].modern
            await self._preparing.acquire()
            self._tasks.start_soon(self._prepare, queued.line, *queued.request)
        self._taking = False

    async def _prepare(self, line: Line, request_id: bytes, cache_key: Question) -> None:
        try:
            result = None if self._response_cache is None else await self._response_cache.prepare(cache_key)
            if result is not None:
                self._writer.write(wrap_result(request_id, result, b"\n"))
                return
            with suppress(ClientGoneError, anyio.BrokenResourceError):
                await self._give_to_sdk(line)
        finally:
            self._preparing.release()

    async def _give_to_sdk(self, line: Line) -> None:
        sdk = await self._load_sdk()
        if self._modern:
            await sdk.begin_modern()
        await sdk.take(line)

    async def _load_sdk(self) -> "Conversation":
        """Return the connection to the SDK. Loads the SDK if it is not loaded yet."""
        async with self._loading:
            if self._sdk is not None:
                return self._sdk
            run = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
            server = await run(self._make_server)
            module = await run(import_module, "skillwire.server.stdio.conversation")
            self._sdk = sdk = module.Conversation(server, self._writer, self._is_over)
            self._tasks.start_soon(self._run_sdk, sdk)
            return sdk

    async def _run_sdk(self, sdk: "Conversation") -> None:
        await sdk.run()
        self._sdk_ended.set()


@contextmanager
def _private_pipes() -> Generator[tuple[int, int]]:
    """Reserve standard input and output for the protocol, and yield private copies of them.

    Inside the block, descriptor 0 is empty and descriptor 1 leads to stderr, so that a stray `print` in this
    or a child process cannot break a message. The copies stay open, because a thread may still read from one
    of them.
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
