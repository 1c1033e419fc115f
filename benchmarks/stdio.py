"""A server process with pipes, and a minimal client that sends one line and reads one line."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import psutil

from benchmarks.costs import Cost, cpu_of

PATIENCE = 60.0
"""Time limit in seconds for one answer, and for the end of a process."""

# Protocol 2026-07-28 has no handshake, so the first line can be a request.
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class NoAnswerError(Exception):
    """A server failed, refused a request, or took too long, so it cannot be measured."""


class ServerProcess:
    """A running command with pipes to its stdin and from its stdout."""

    def __init__(self, command: Sequence[str]) -> None:
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.returncode is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def spent(self) -> Cost:
        """Return the time since the process started, and its CPU time so far."""
        return Cost(time.perf_counter() - self._started, cpu_of(self._process.pid))

    def memory(self) -> int:
        """Return the resident bytes of the process."""
        return psutil.Process(self._process.pid).memory_info().rss

    def stop(self) -> Cost:
        """Close the server's stdin. Return the cost until the process has ended."""
        before = self.spent()
        assert self._process.stdin is not None
        self._process.stdin.close()
        # Not `Popen.wait`, which discards the resource usage.
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode != 0:
            raise NoAnswerError(f"the server ended with exit code {self._process.returncode}")
        return Cost(time.perf_counter() - self._started, usage.ru_utime + usage.ru_stime) - before


class StdioServer(ServerProcess):
    """A server that gets one request after the other."""

    def ask(self, line: bytes) -> bytes:
        """Return the line that answers a request, unparsed, because measurements repeat this."""
        os.write(self._to, line)
        pieces: list[bytes] = []
        while not pieces or not pieces[-1].endswith(b"\n"):
            if not select.select([self._from], [], [], PATIENCE)[0]:
                raise NoAnswerError(f"no answer within {PATIENCE:.0f} s to {line[:200]!r}")
            if not (piece := os.read(self._from, 1 << 20)):
                raise NoAnswerError(f"the server ended without an answer to {line[:200]!r}")
            pieces.append(piece)
        return b"".join(pieces)


def request(method: str, **params: str) -> bytes:
    """Return the line of a request."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": _META, **params}}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def result(answer: bytes) -> Mapping[str, Any]:
    """Return the result in an answer. Raises `NoAnswerError` if the answer is an error."""
    message = json.loads(answer)
    if "result" not in message:
        raise NoAnswerError(f"the server refused: {message.get('error')}")
    return message["result"]
