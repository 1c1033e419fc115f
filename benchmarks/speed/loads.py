"""Generate load over stdio or HTTP, with a number of requests in flight. The same for all programs."""

import os
import select
import selectors
import socket
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PATIENCE = 60.0
"""Seconds to wait for an answer."""


class NoAnswerError(Exception):
    """A server failed, refused a request, or took too long, so it cannot be measured."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The result of one turn of one program."""

    requests: int
    seconds: float
    cpu: float
    waits: Sequence[float]
    """Seconds from the n-th request to the n-th answer. With several in flight, their order may differ."""

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds

    @property
    def cpu_each(self) -> float:
        return self.cpu / self.requests

    def percentile(self, hundredths: int) -> float:
        if len(self.waits) == 1:  # on a busy machine, a quick run may get a single answer
            return self.waits[0]
        return statistics.quantiles(self.waits, n=100, method="inclusive")[hundredths - 1]


class _Clock:
    """Ends a turn after a number of requests or some seconds."""

    def __init__(self, questions: Sequence[bytes], most: int, seconds: float) -> None:
        self._questions = questions
        self._most = most
        self._until = time.perf_counter() + seconds
        self.asked = 0

    def next(self) -> bytes | None:
        if self.asked >= self._most or time.perf_counter() > self._until:
            return None
        self.asked += 1
        return self._questions[(self.asked - 1) % len(self._questions)]


class StdioLoad:
    """Load on a server over its stdin and stdout."""

    def __init__(self, to: int, came: int, cpu: Callable[[], float]) -> None:
        self._to, self._from, self._cpu = to, came, cpu

    def turn(self, questions: Sequence[bytes], in_flight: int, most: int, seconds: float) -> Turn:
        """Send `questions` repeatedly, with `in_flight` at a time, until `most` requests or `seconds`."""
        clock = _Clock(questions, most, seconds)
        asked_at: deque[float] = deque()
        waits: list[float] = []
        cpu, begun = self._cpu(), time.perf_counter()
        self._ask(clock, asked_at, in_flight)
        while asked_at:
            if not select.select([self._from], [], [], PATIENCE)[0]:
                raise NoAnswerError(f"no answer within {PATIENCE:.0f} s")
            if not (chunk := os.read(self._from, 1 << 20)):
                raise NoAnswerError("the server ended")
            answered, now = chunk.count(b"\n"), time.perf_counter()
            waits.extend(now - asked_at.popleft() for _ in range(answered))
            self._ask(clock, asked_at, answered)
        return Turn(clock.asked, time.perf_counter() - begun, self._cpu() - cpu, waits)

    def ask(self, question: bytes) -> bytes:
        """Return the line that answers one request."""
        os.write(self._to, question)
        pieces: list[bytes] = []
        deadline = time.monotonic() + PATIENCE
        while not pieces or not pieces[-1].endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise NoAnswerError(f"no answer within {PATIENCE:.0f} s")
            if not (piece := os.read(self._from, 1 << 20)):
                raise NoAnswerError("the server ended")
            pieces.append(piece)
        return b"".join(pieces)

    def _ask(self, clock: _Clock, asked_at: deque[float], number: int) -> None:
        lines: list[bytes] = []
        while len(lines) < number and (question := clock.next()) is not None:
            lines.append(question)
        if lines:
            asked_at.extend([time.perf_counter()] * len(lines))
            left = memoryview(b"".join(lines))
            while left:
                left = left[os.write(self._to, left) :]


class HttpLoad:
    """Load on a server at a local port, with a keep-alive connection for each request in flight."""

    def __init__(self, port: int, cpu: Callable[[], float]) -> None:
        self._port, self._cpu = port, cpu

    def turn(self, questions: Sequence[bytes], in_flight: int, most: int, seconds: float) -> Turn:
        connections = [_Connection(self._port) for _ in range(in_flight)]
        try:
            return self._turn(questions, connections, most, seconds)
        finally:
            for each in connections:
                each.socket.close()

    def ask(self, question: bytes) -> bytes:
        """Return the body of one answer."""
        connection = _Connection(self._port)
        try:
            connection.ask(question)
            while (body := connection.receive()) is None:
                pass
            return body
        finally:
            connection.socket.close()

    def _turn(
        self, questions: Sequence[bytes], connections: "Sequence[_Connection]", most: int, seconds: float
    ) -> Turn:
        waits: list[float] = []
        with selectors.DefaultSelector() as waiting:
            for each in connections:
                waiting.register(each.socket, selectors.EVENT_READ, each)
            clock = _Clock(questions, most, seconds)
            cpu, begun = self._cpu(), time.perf_counter()
            open_requests = 0
            for each in connections:
                if (question := clock.next()) is not None:
                    each.ask(question)
                    open_requests += 1
            while open_requests:
                if not (ready := waiting.select(PATIENCE)):
                    raise NoAnswerError(f"no answer within {PATIENCE:.0f} s")
                for key, _ in ready:
                    connection: _Connection = key.data
                    if connection.receive() is None:
                        continue
                    waits.append(time.perf_counter() - connection.asked_at)
                    open_requests -= 1
                    if (question := clock.next()) is not None:
                        connection.ask(question)
                        open_requests += 1
            return Turn(clock.asked, time.perf_counter() - begun, self._cpu() - cpu, waits)


class _Connection:
    """One HTTP connection with at most one open request. A minimal HTTP client."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.asked_at = 0.0
        self._pieces: list[bytes] = []
        self._missing = -1
        self._length: int | None = 0

    def ask(self, question: bytes) -> None:
        self._pieces, self._missing, self._length = [], -1, 0
        self.asked_at = time.perf_counter()
        self.socket.sendall(question)

    def receive(self) -> bytes | None:
        """Read what has arrived. Return the body of the answer once it is complete, otherwise None."""
        if not (piece := self.socket.recv(1 << 20)):
            raise NoAnswerError("the server closed the connection")
        self._pieces.append(piece)
        if self._length == 0:
            head, ended, rest = b"".join(self._pieces).partition(b"\r\n\r\n")
            if not ended:
                return None
            self._pieces = [rest]
            self._length = _length(head)
            self._missing = (self._length or 0) - len(rest)
        else:
            self._missing -= len(piece)
        if self._length is None:
            self._pieces = (
                [b"".join(self._pieces)] if len(self._pieces[-1]) < len(_LAST_CHUNK) else self._pieces
            )
            return _unchunked(self._pieces) if self._pieces[-1].endswith(_LAST_CHUNK) else None
        return b"".join(self._pieces) if self._missing == 0 else None


_LAST_CHUNK = b"\r\n0\r\n\r\n"


def _unchunked(pieces: Sequence[bytes]) -> bytes:
    body, left = b"", b"".join(pieces)
    while (size := int(left.partition(b"\r\n")[0], 16)) > 0:
        left = left.partition(b"\r\n")[2]
        body, left = body + left[:size], left[size + 2 :]
    return body


def _length(head: bytes) -> int | None:
    """Return the length of the body; None if it is chunked."""
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise NoAnswerError(f"the server refused: {head[:200]!r}")
    for line in head.lower().split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
        if name == b"transfer-encoding":
            return None
    raise NoAnswerError("the answer has neither a length nor chunks")
