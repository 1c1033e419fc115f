"""Limit the number of open HTTP connections, and the time that each may keep the server waiting."""

import heapq
import logging
import socket
import struct
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from importlib.util import find_spec
from typing import Any

import uvicorn

from skillwire.core.process import is_ours
from skillwire.server.http.byte_budget import ByteBudget

_OTHERS = 1024
"""File descriptors reserved for everything other than connections."""
_FEWEST_OTHERS = 128
"""File descriptors reserved if the system allows only a few."""
_ACKNOWLEDGED = struct.Struct("=120xQ")
"""Position of `tcpi_bytes_acked` in the `TCP_INFO` structure of Linux."""
_CLOSE = b"connection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n" + _CLOSE
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n" + _CLOSE
_EVICTED_AT_ONCE = 32
"""Number of connections without a request that are evicted together.

In a flood, searching for each would be slow.
"""
_LONGEST_STEP = 2.0
"""Maximum seconds counted between two sweeps. No client can make progress while the process is suspended."""
_STALLED_SECONDS = 5.0
"""Seconds without a byte after which a body or response may be evicted."""
_STEP, _LARGEST_WINDOW, _SLOWEST = 16, 8 * 1024 * 1024, 4096
"""`_SLOWEST` is the slowest rate of a client that is not stalled, in bytes per second.

A receiver with a full buffer reports progress in steps of about a sixteenth (`_STEP`) of the buffer. So it
may seem to make no progress for longer than the deadline. Buffers above `_LARGEST_WINDOW` get no more time.
"""


def allowed_connections(requested: int) -> int:
    """Return the number of connections that the open-file limit allows, at most `requested`.

    If Skillwire owns the process, raise the limit first.
    """
    if find_spec("resource") is None:  # Windows has no such limit
        return requested
    import resource  # noqa: PLC0415 - not on every system

    if is_ours():
        raise_file_limit(requested + _OTHERS)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= requested + _OTHERS:
        return requested
    return min(requested, max(soft - _FEWEST_OTHERS, soft // 2))


def raise_file_limit(needed: int) -> None:
    """Raise this process's open-file limit to `needed`, or as far as the system allows.

    The limit is never lowered.
    """
    if find_spec("resource") is None:
        return
    import resource  # noqa: PLC0415 - not on every system

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def acknowledged_bytes(connection: Any) -> int | None:
    """Return how many bytes the other side of a TCP connection has acknowledged, or None if unknown."""
    if sys.platform != "linux" or connection is None:
        return None
    try:
        return _ACKNOWLEDGED.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128))[0]
    except (OSError, struct.error):
        return None


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits shared by all HTTP clients (connections, sessions, memory), and timeouts for each connection."""

    connections: int = 1000
    """Maximum number of open connections, not counting Drive programs and open pages."""
    sessions: int = 1000
    """Maximum number of sessions of clients that use the 2025 protocol versions."""
    head_seconds: float = 10.0
    """Seconds in which the request line and headers, or the rest of a refused body, must arrive."""
    body_seconds: float = 30.0
    """Maximum number of seconds without a byte of a request body."""
    write_seconds: float = 30.0
    """Maximum number of seconds in which the client reads no byte of a response."""
    buffered_bytes: int = 256 * 1024 * 1024
    """Maximum number of bytes in large request bodies and unread large responses of all clients together."""


class _Phase(Enum):
    """The state of a connection, by what the server waits for."""

    NOTHING = auto()
    """The server is working, or the connection is idle between two requests."""
    HEAD = auto()
    BODY = auto()
    REST = auto()
    """The server waits for the rest of a body whose request was answered before the body ended."""
    WRITE = auto()


@dataclass(slots=True)
class _Progress:
    """A connection's phase at the last sweep, when the phase began, and when there was last progress."""

    phase: _Phase
    mark: object
    begun: float
    moved: float
    patience: float = 0.0
    """Seconds for which the connection may seem to make no progress."""


class Connections:
    """Limits the number of connections, and the time that each may keep the server waiting."""

    def __init__(self, limits: HttpLimits, further: int = 0) -> None:
        """Apply `limits`. `further` connections are allowed in addition."""
        requested = limits.connections + further
        self._limit = allowed_connections(requested)
        if self._limit < requested:
            hint = "raise the limit on open files (`ulimit -n`)"
            _log.warning("only %d of %d connections are possible; %s", self._limit, requested, hint)
        self._seconds = {
            _Phase.HEAD: limits.head_seconds,
            _Phase.BODY: limits.body_seconds,
            _Phase.REST: limits.head_seconds,
            _Phase.WRITE: limits.write_seconds,
        }
        self._progress: dict[Any, _Progress] = {}
        self._now, self._swept = 0.0, time.monotonic()

    def admit(self, new: Any, present: set[Any]) -> None:
        """Admit the connection `new`. `present` are all open connections, including `new`.

        At the limit, close idle, slow or stalled connections to make room. If there are none, send status 503
        to `new` and close it.
        """
        if len(present) <= self._limit:
            return
        evicted = self._evictable(new, present)
        for each in evicted:
            present.discard(each)  # the transport reports the end of the connection only later
            each.transport.abort()
        if not evicted:
            new.transport.write(_TOO_MANY)
            new.transport.close()

    def sweep(self, present: Collection[Any]) -> None:
        """Close every connection that has kept the server waiting for too long without progress."""
        swept = time.monotonic()
        self._now += min(swept - self._swept, _LONGEST_STEP)
        self._swept = swept
        before, self._progress = self._progress, {}
        for each in list(present):
            phase, mark, patience = _current_phase(each)
            if phase is _Phase.NOTHING:
                continue
            progress = before.get(each)
            if progress is None or progress.phase is not phase:
                progress = _Progress(phase, mark, self._now, self._now)
            elif progress.mark != mark:
                progress.mark, progress.moved = mark, self._now
            progress.patience = patience
            self._progress[each] = progress
            if self._now - progress.moved >= max(self._seconds[phase], patience):
                _end(each, phase)

    def _evictable(self, new: Any, present: Collection[Any]) -> list[Any]:
        """Return the connections to close, the oldest first.

        The first of these groups that is not empty is returned: WebSockets that wait for the client's close
        frame, connections without a request, the oldest idle connection, the oldest slow or stalled
        connection.
        """
        if closing := [each for each in present if getattr(each, "close_sent", False)]:
            return heapq.nsmallest(_EVICTED_AT_ONCE, closing, key=_made)
        others = [each for each in present if each is not new and hasattr(each, "cycle")]
        if silent := [each for each in others if each.cycle is None]:
            return heapq.nsmallest(_EVICTED_AT_ONCE, silent, key=_made)
        if idle := [each for each in others if each.cycle.response_complete]:
            return [min(idle, key=_made)]
        slow = [each for each in others if self._is_slow(each)]
        return [min(slow, key=_made)] if slow else []

    def _is_slow(self, connection: Any) -> bool:
        """Return whether a body or response is stalled, or takes longer than its deadline in total."""
        progress = self._progress.get(connection)
        if progress is None:
            return False
        stalled = self._now - progress.moved >= max(_STALLED_SECONDS, progress.patience)
        return stalled or self._now - progress.begun > self._seconds[progress.phase]


def _current_phase(connection: Any) -> tuple[_Phase, object, float]:
    """Return the phase of a connection, a value that changes with progress, and the minimum patience."""
    transport = connection.transport
    if unsent := transport.get_write_buffer_size():
        read = acknowledged_bytes(transport.get_extra_info("socket"))
        return _Phase.WRITE, read or unsent, min(read or 0, _LARGEST_WINDOW) / _STEP / _SLOWEST
    if not hasattr(connection, "cycle"):  # a WebSocket, whose session has its own deadlines
        return _Phase.NOTHING, None, 0.0
    cycle = connection.cycle
    if cycle is None:
        return _Phase.HEAD, None, 0.0
    if not cycle.response_complete:
        waits = cycle.more_body and not connection.flow.read_paused
        return _Phase.BODY if waits else _Phase.NOTHING, connection.body_bytes, 0.0
    idle = _Phase.HEAD if connection.timeout_keep_alive_task is None else _Phase.NOTHING
    return _Phase.REST if cycle.more_body else idle, cycle, 0.0


def _end(connection: Any, phase: _Phase) -> None:
    transport = connection.transport
    if phase is _Phase.WRITE or transport.is_closing():
        transport.abort()
        return
    if phase is _Phase.HEAD or (phase is _Phase.BODY and not connection.cycle.response_started):
        transport.write(_TOO_SLOW)
    transport.close()


def _made(connection: Any) -> float:
    return connection.made


class GuardedConfig(uvicorn.Config):
    """uvicorn's configuration, with the limits that Skillwire's protocol classes need."""

    guard: Connections
    budget: ByteBudget

    def configure_logging(self) -> None:
        """Do nothing, because the logging of the process must stay as it is."""
