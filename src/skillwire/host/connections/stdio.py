"""Start a server as a program, and connect to it with limits on its output."""

import os
import re
import sys
import threading
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, TextIO

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32.utilities import (
    close_process_job,
    create_windows_process,
    get_windows_executable_command,
    terminate_windows_process_tree,
)
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from skillwire.host.connections.traffic import MIN_CHARGE, AnswerLimits, JsonValueCounter, Traffic
from skillwire.safe_text import escape_invisible

_TAIL_BYTES = 2000
"""Number of bytes at the end of stderr to keep."""
_LAST_LINES = 3
"""Number of lines of stderr to report."""
_TRACEBACK = "Traceback (most recent call last):"
_CHUNK = 65_536
_BREATH = 0.005
"""Pause in seconds after each full chunk, so that reading from a program that writes endlessly takes little
CPU time.
"""
_TIMEOUT = 1.0
"""Seconds to wait for the rest of stderr after the program has ended.

A child process may keep the pipe open.
"""
_GRACE, _KILL, _FLUSH, _REAP = 2.0, 2.0, 0.5, 2.0
"""Seconds to wait for a program to exit by itself, to exit after SIGTERM, to read its input, and to exit
after SIGKILL.
"""
_SHORT = 0.5
"""Seconds to wait for an exit after SIGTERM if the program exceeded a limit."""
_POLL_SECONDS = 0.01
_MAX_DRAINED_BYTES = 16 * 1024 * 1024
"""Maximum number of bytes to discard while a program ends, so that it does not block on writing."""
_BROKEN = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')
_CONTENT = re.compile(rb'"(?:result|error)"\s*:')
_END = 100
"""Number of bytes at the end of a response to search for its id, because some programs write it there."""


class StderrTail:
    """Keeps the end of a program's stderr, through a pipe.

    The text may contain anything, such as control sequences, so it goes to the pipe and not to the terminal.
    """

    def __init__(self) -> None:
        self._tail = b""
        self._ours, theirs = os.pipe()
        self.file = os.fdopen(theirs, "w", encoding="utf-8")
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def last_lines(self) -> list[str]:
        """Close the pipe, and return the last lines, escaped and shortened.

        Indented lines are left out, such as the frames of a traceback.
        """
        self.file.close()
        self._thread.join(_TIMEOUT)
        lines = self._tail.decode(errors="replace").strip().splitlines()
        told = [line for line in lines if line.strip() and not line[0].isspace() and line != _TRACEBACK]
        return [escape_invisible(line, 300) for line in told[-_LAST_LINES:]]

    def _follow(self) -> None:
        with os.fdopen(self._ours, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_CHUNK):
                self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
                if len(chunk) == _CHUNK:
                    time.sleep(_BREATH)


_Incoming = MemoryObjectSendStream[SessionMessage | Exception]


@asynccontextmanager
async def stdio_streams(
    command: Sequence[str],
    traffic: Traffic,
    *,
    cwd: Path | None,
    env: Mapping[str, str],
    errors: TextIO,
) -> AsyncGenerator[Any]:
    """Start a program, and yield the streams of a connection to it, for a client of the SDK.

    On exit, the program's stdin is closed. A program that does not exit in time is terminated together with
    its child processes. Raises `OSError` or `ValueError`.
    """
    process = await _start_process(command, cwd, dict(env), errors)
    # Do not await before the task group: a cancellation would leave the process running.
    to_client, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, from_client = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()

    async def write() -> None:
        try:
            await _write(from_client, process.stdin, traffic)
            # Tell the client that the program has ended.
            if not traffic.failure:
                await to_client.aclose()
        finally:
            written.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process.stdout, to_client, traffic)
        tasks.start_soon(write)
        try:
            yield received, sent
        finally:
            with anyio.CancelScope(shield=True):  # each wait is limited
                received.close()
                sent.close()
                with anyio.move_on_after(0 if traffic.failure else _FLUSH):
                    await written.wait()
                await _stop(process, force=bool(traffic.failure))
                for stream in (received, sent, to_client, from_client):
                    await stream.aclose()
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def _read(stdout: ByteReceiveStream, to_client: _Incoming, traffic: Traffic) -> None:
    """Send each line to the client as a message. The largest pending response determines the limit."""
    async with to_client:
        line, counter, charged = bytearray(), JsonValueCounter(), 0
        with suppress(*_BROKEN):
            while not traffic.failure:
                chunk = await stdout.receive()
                limit, start = traffic.largest(), 0
                while not traffic.failure:
                    end = chunk.find(b"\n", start)
                    piece = chunk[start : end if end >= 0 else len(chunk)]
                    line += piece
                    charged += max(len(piece), MIN_CHARGE)
                    counter.feed(piece)
                    if charged > limit.max_bytes:
                        message = f"the server sends a line of more than {limit.max_bytes:,} bytes"
                        traffic.abort(message)
                    if end < 0 or traffic.failure:
                        break
                    if item := _message(bytes(line), counter.values, limit, traffic):
                        await to_client.send(item)
                        limit = traffic.largest()
                    line.clear()
                    counter, charged, start = JsonValueCounter(), 0, end + 1
    if not traffic.failure:
        await _drain(stdout)


async def _drain(stdout: ByteReceiveStream) -> None:
    """Discard further output of a program, so that it can end."""
    left = _MAX_DRAINED_BYTES
    with suppress(*_BROKEN), anyio.CancelScope(shield=True):  # the pipe is closed soon
        while left > 0:
            left -= len(await stdout.receive())


def _message(
    line: bytes, values: int, limit: AnswerLimits, traffic: Traffic
) -> SessionMessage | Exception | None:
    """Return the message in a line, or None for an empty line.

    An oversized or invalid response becomes an error response, so that its request ends. If the request is
    unknown, an oversized line is dropped, and an invalid line becomes a `ValueError`. Everything except a
    valid response to a pending request counts as unsolicited.
    """
    if not line.strip():
        traffic.count_unsolicited(len(line) + 1, messages=1)
        return None
    if values > limit.max_values:
        reason = f"the answer has more than {limit.max_values:,} JSON values"
        traffic.count_unsolicited(messages=1)
        if (refused := _error_answer(line, reason)) and (answer := traffic.answer_to(refused.message.id)):
            answer.refused = reason
        return refused
    try:
        message = jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)
    except ValueError as error:
        traffic.count_unsolicited(len(line), values)
        return _error_answer(line, "the answer is not valid JSON") or ValueError(type(error).__name__)
    if not (
        isinstance(message, (JSONRPCResponse, JSONRPCError)) and _count_answer(message.id, len(line), traffic)
    ):
        traffic.count_unsolicited(len(line), values)
    return SessionMessage(message)


def _count_answer(request: object, size: int, traffic: Traffic) -> bool:
    """Count a response against its request's budget. Return whether there is such a request."""
    answer = traffic.answer_to(request)
    if answer is not None and answer.budget is not None:
        answer.budget.left -= size
    return answer is not None


def _error_answer(line: bytes, reason: str) -> Any:
    """Return an error response for the request to which a line belongs, so that the request ends.

    Returns None if the line is not a response, or if its request id cannot be found.
    """
    content = _CONTENT.search(line)
    if b'"jsonrpc"' not in line or content is None:
        return None
    found = _ID.findall(line[: content.start()])[:1] or _ID.findall(line[-_END:])[-1:]
    if not found:
        return None
    error = ErrorData(code=PARSE_ERROR, message=reason)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[0]), error=error))


async def _write(
    messages: MemoryObjectReceiveStream[SessionMessage], stdin: ByteSendStream, traffic: Traffic
) -> None:
    async with messages:
        with suppress(*_BROKEN):
            async for message in messages:
                line = f"{message.message.model_dump_json(by_alias=True, exclude_unset=True)}\n"
                with anyio.move_on_after(traffic.limits.write_seconds) as timeout:
                    await stdin.send(line.encode())
                if timeout.cancelled_caught:
                    traffic.abort("the server does not read what is sent to it")
                    return


async def _start_process(
    command: Sequence[str], cwd: Path | None, env: dict[str, str], errors: TextIO
) -> Any:
    program, *arguments = command
    if sys.platform == "win32":
        program = await anyio.to_thread.run_sync(get_windows_executable_command, program)
        return await create_windows_process(program, arguments, env, errors, cwd)
    return await anyio.open_process(
        [program, *arguments], env=env, stderr=errors, cwd=cwd, start_new_session=True
    )


async def _stop(process: Any, *, force: bool) -> None:
    """Close a program's stdin, and wait until it exits. If it does not, terminate it and its child processes.

    With `force`, terminate the program without waiting.
    """
    with suppress(*_BROKEN):
        await process.stdin.aclose()
    if force or not await _exits_within(process, _GRACE):
        if sys.platform == "win32":
            await terminate_windows_process_tree(process)
        else:
            await terminate_posix_process_tree(process, _SHORT if force else _KILL)
        await _exits_within(process, _REAP)
    close_process_job(process)
    with suppress(*_BROKEN):
        await process.stdout.aclose()
    # asyncio's transport stays open as long as a child holds a pipe, and there is no public way to close it.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _exits_within(process: Any, seconds: float) -> bool:
    """Return whether a program exits in time.

    `process.wait` would also wait for child processes that keep its pipes open.
    """
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110 - there is no event for it
            await anyio.sleep(_POLL_SECONDS)
    return process.returncode is not None
