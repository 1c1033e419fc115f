"""Limits on HTTP connections: how many are open, and how long each may keep the server waiting."""

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
"""Files that may be open beside connections."""
_FEWEST_OTHERS = 128
"""Those that are kept free where the system allows fewer."""
_ACKNOWLEDGED = struct.Struct("=120xQ")
"""Where Linux has `tcpi_bytes_acked` in the answer to `TCP_INFO`."""
_CLOSE = b"connection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n" + _CLOSE
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n" + _CLOSE
_EVICTED_AT_ONCE = 32
"""Connections without a request that make room together. A flood would otherwise cost a search each."""
_LONGEST_STEP = 2.0
"""Seconds that count at most between two looks. No client can progress while the process is suspended."""
_STALLED_SECONDS = 5.0
"""Seconds without a byte after which a body or an answer has to make room for others."""
_STEP, _LARGEST_WINDOW, _SLOWEST = 16, 8 * 1024 * 1024, 4096
"""A receiver with a full buffer reports progress in steps of about a sixteenth of it. So a client that reads
slowly, at this many bytes a second, may seem to stand still for longer than the deadline."""


def allowed_connections(wanted: int) -> int:
    """Return how many connections of `wanted` the limit of open files allows. Raise it, if we may."""
    if find_spec("resource") is None:  # Windows has no such limit
        return wanted
    import resource  # noqa: PLC0415 - not on every system

    if is_ours():
        raise_file_limit(wanted + _OTHERS)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted + _OTHERS:
        return wanted
    return min(wanted, max(soft - _FEWEST_OTHERS, soft // 2))


def raise_file_limit(needed: int) -> None:
    """Let this process have `needed` files open, or as many as the system allows. Never lowers the limit."""
    if find_spec("resource") is None:
        return
    import resource  # noqa: PLC0415 - not on every system

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def acknowledged_bytes(connection: Any) -> int | None:
    """Return how many bytes the other side of a TCP connection has taken so far, where the system tells."""
    if sys.platform != "linux" or connection is None:
        return None
    try:
        return _ACKNOWLEDGED.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128))[0]
    except (OSError, struct.error):
        return None


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How much all HTTP clients may use together, and how long one of them may take."""

    connections: int = 1000
    """Connections at the same time. Programs that connect to Drive, and open pages, come on top."""
    sessions: int = 1000
    """Sessions of clients of the 2025 protocol versions."""
    head_seconds: float = 10.0
    """For the line and the headers of a request, and for the rest of a body that was refused."""
    body_seconds: float = 30.0
    """Without a further byte of a request's body."""
    write_seconds: float = 30.0
    """Without a byte of an answer being read."""
    buffered_bytes: int = 256 * 1024 * 1024
    """For large request bodies and unread large answers of all clients together."""


class _Phase(Enum):
    """What the server is waiting for on a connection."""

    NOTHING = auto()
    """It is at work itself, or the connection is idle between two requests."""
    HEAD = auto()
    BODY = auto()
    REST = auto()
    """The rest of a body whose request was answered before it ended."""
    WRITE = auto()


@dataclass(slots=True)
class _Progress:
    """What a connection waited for at the last look, since when, and when it last moved."""

    phase: _Phase
    mark: object
    begun: float
    moved: float
    patience: float = 0.0
    """Seconds that it may seem to stand still."""


class Connections:
    """Bounds the number of connections, and the time that each may take."""

    def __init__(self, limits: HttpLimits, further: int = 0) -> None:
        """`further` connections are allowed beside those of the limits."""
        wanted = limits.connections + further
        self._most = allowed_connections(wanted)
        if self._most < wanted:
            hint = "raise the limit of open files (`ulimit -n`)"
            _log.warning("only %d connections of %d are possible; %s", self._most, wanted, hint)
        self._seconds = {
            _Phase.HEAD: limits.head_seconds,
            _Phase.BODY: limits.body_seconds,
            _Phase.REST: limits.head_seconds,
            _Phase.WRITE: limits.write_seconds,
        }
        self._progress: dict[Any, _Progress] = {}
        self._now, self._looked = 0.0, time.monotonic()

    def admit(self, new: Any, present: set[Any]) -> None:
        """Make room for `new` among those present by closing idle connections; else close it at once."""
        if len(present) <= self._most:
            return
        evicted = self._evictable(new, present)
        for each in evicted:
            present.discard(each)  # the transport reports its end only later
            each.transport.abort()
        if not evicted:
            new.transport.write(_TOO_MANY)
            new.transport.close()

    def sweep(self, present: Collection[Any]) -> None:
        """Close every connection that has made no progress for too long."""
        looked = time.monotonic()
        self._now += min(looked - self._looked, _LONGEST_STEP)
        self._looked = looked
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
        """Return what may go, the oldest first.

        WebSockets that wait for the client's close frame, else what has no request, else idle, else slow or
        stalled connections.
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
        """Whether a body or an answer stands still, or is on its way for longer than it may stand still."""
        progress = self._progress.get(connection)
        if progress is None:
            return False
        stalled = self._now - progress.moved >= max(_STALLED_SECONDS, progress.patience)
        return stalled or self._now - progress.begun > self._seconds[progress.phase]


def _current_phase(connection: Any) -> tuple[_Phase, object, float]:
    """Return what a connection waits for, a mark that changes with progress, and the least patience."""
    transport = connection.transport
    if unsent := transport.get_write_buffer_size():
        read = acknowledged_bytes(transport.get_extra_info("socket"))
        return _Phase.WRITE, read or unsent, min(read or 0, _LARGEST_WINDOW) / _STEP / _SLOWEST
    if not hasattr(connection, "cycle"):  # a WebSocket, whose sessions have deadlines of their own
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
    """What our protocols need beside what uvicorn's do."""

    guard: Connections
    budget: ByteBudget

    def configure_logging(self) -> None:
        """Leave the loggers of the process as they are: uvicorn would silence the one for requests."""
