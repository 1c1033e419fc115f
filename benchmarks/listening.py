"""A minimal client of protocol 2025-11-25 on pipes that receives notifications."""

import os
import select
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.stdio import PATIENCE, NoAnswerError, ServerProcess

_KINDS = {
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
    "notifications/tools/list_changed": "tools",
    "notifications/resources/updated": "updated",
}
KINDS = tuple(_KINDS.values())
"""The kinds of notifications that a change can cause."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A received message and its time."""

    at: float
    body: Mapping[str, Any]

    @property
    def kind(self) -> str | None:
        """The kind of notification; None for other messages."""
        return _KINDS.get(self.body.get("method", ""))


class ListeningClient(ServerProcess):
    """Starts a server and receives its messages."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(command)
        self._last_id = 0
        self._begun = b""

    def connect(self) -> None:
        """Do the handshake."""
        info = {"name": "benchmark", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, method: str, **params: Any) -> int:
        """Send a request; return its id."""
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def ask(self, method: str, **params: Any) -> Mapping[str, Any]:
        """Return the result of a request. Drops notifications received meanwhile. Raises `NoAnswerError`."""
        request, until = self.send(method, **params), time.perf_counter() + PATIENCE
        while time.perf_counter() < until:
            for arrival in self.receive(until):
                if arrival.body.get("id") == request:
                    if "result" not in arrival.body:
                        raise NoAnswerError(f"the server refused: {arrival.body.get('error')}")
                    return arrival.body["result"]
        raise NoAnswerError(f"no answer within {PATIENCE:.0f} s to `{method}`")

    def receive(self, until: float) -> list[Arrival]:
        """Wait for messages until the time `until`. Return the first that arrive, or an empty list."""
        while (left := until - time.perf_counter()) > 0:
            if not select.select([self._from], [], [], left)[0]:
                break
            piece = os.read(self._from, 1 << 20)
            at = time.perf_counter()
            if not piece:
                raise NoAnswerError("the server ended")
            *lines, self._begun = (self._begun + piece).split(b"\n")
            if lines:
                return [Arrival(at, orjson.loads(line)) for line in lines]
        return []

    def notifications(self, until: float, quiet: float) -> tuple[float | None, Counter[str]]:
        """Return the time of the first notification, and the number of each kind.

        Waits for the first until the time `until`, then for more until `quiet` seconds pass without one.
        """
        first: float | None = None
        kinds: Counter[str] = Counter()
        while arrivals := self.receive(until):
            for arrival in arrivals:
                if arrival.kind is not None:
                    first = first or arrival.at
                    kinds[arrival.kind] += 1
                    until = arrival.at + quiet
        return first, kinds

    def _write(self, message: Mapping[str, Any]) -> None:
        os.write(self._to, orjson.dumps(message) + b"\n")
