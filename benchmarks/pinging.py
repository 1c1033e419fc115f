"""Measure ping times of a server while other things happen."""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.census import Census
from benchmarks.listening import ListeningClient
from benchmarks.stdio import PATIENCE
from benchmarks.writing import Burst, writer

_EVERY = 0.005
_EDIT_EVERY = 0.25
_AT_MOST = 256
"""Maximum number of unanswered pings."""
_AFTERWARDS = 1.0
"""Seconds to continue after everything is done."""


@dataclass(slots=True)
class Pinged:
    """The client's measurements, in seconds; infinite for what did not finish in time."""

    waits: list[float] = field(default_factory=list[float])
    notifications: Counter[str] = field(default_factory=Counter[str])
    written: float = math.inf
    """How long the burst took to write."""
    complete: float = math.inf
    """From its first file to the complete catalog."""


def ping(client: ListeningClient, seconds: float, edit: Callable[[int], object] | None = None) -> Pinged:
    """Ping for `seconds`. Every quarter of a second, call `edit` with the number of the edit."""
    pinging = _Pinging(client)
    began = time.perf_counter()
    edits = 0
    while (now := time.perf_counter()) < began + seconds:
        pinging.step(now)
        if edit is not None and now - began > edits * _EDIT_EVERY:
            edit(edits)
            edits += 1
    return pinging.end(time.perf_counter() + PATIENCE)


def ping_during(client: ListeningClient, burst: Burst, census: Census | None) -> Pinged:
    """Ping while a burst is written, and until one second after the census finds it complete."""
    with writer(burst) as writing:
        time.sleep(_AFTERWARDS)  # let the writer load and prepare before the measurement
        pinging = _Pinging(client, census)
        began = time.perf_counter()
        bound = until = began + PATIENCE
        done: float | None = None
        writing.go()
        while (now := time.perf_counter()) < until:
            pinging.step(now)
            if math.isinf(pinging.seen.written):
                pinging.seen.written = writing.seconds(patience=0)
            if done is None and math.isfinite(pinging.seen.written):
                done = now if census is None else census.complete_at
                until = bound if done is None else min(bound, now + _AFTERWARDS)
        if census is not None and census.complete_at is not None:
            pinging.seen.complete = census.complete_at - began
        return pinging.end(max(until, time.perf_counter() + _AFTERWARDS))


class _Pinging:
    def __init__(self, client: ListeningClient, census: Census | None = None) -> None:
        self.seen = Pinged()
        self._client = client
        self._census = census
        self._sent: dict[int, float] = {}
        self._next = time.perf_counter()

    def step(self, now: float) -> None:
        """Send what is due, and process answers until the next ping is due."""
        if now >= self._next and len(self._sent) < _AT_MOST:
            self._sent[self._client.send("ping")] = now
            self._next = max(self._next + _EVERY, now)
        if self._census is not None:
            self._census.ask(self._client, now)
        self._take(max(self._next, now + _EVERY / 10))

    def end(self, until: float) -> Pinged:
        """Wait for outstanding answers. Those that do not arrive count as infinite."""
        while self._sent and time.perf_counter() < until:
            self._take(until)
        self.seen.waits.extend(math.inf for _ in self._sent)
        return self.seen

    def _take(self, until: float) -> None:
        for arrival in self._client.receive(until):
            if (sent := self._sent.pop(arrival.body.get("id", 0), None)) is not None:
                self.seen.waits.append(arrival.at - sent)
            elif arrival.kind is not None:
                self.seen.notifications[arrival.kind] += 1
            elif self._census is not None:
                self._census.take(arrival)
