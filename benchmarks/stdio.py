"""A server process at the other end of two pipes, and the plainest client: one line out, one line in."""

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
"""Seconds for one answer, and for the end."""

# Protocol 2026-07-28 has no handshake: the first line can be the first question.
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class NoAnswerError(Exception):
    """A server that failed, refused, or took too long: a figure about it would mean nothing."""


class ServerProcess:
    """A command that was started, with a pipe to it and a pipe from it."""

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
        """Return the time since the process was started, and what CPU time it has used."""
        return Cost(time.perf_counter() - self._started, cpu_of(self._process.pid))

    def memory(self) -> int:
        """Return the resident bytes of the process."""
        return psutil.Process(self._process.pid).memory_info().rss

    def stop(self) -> Cost:
        """Close the server's standard input; return what it takes until the process is gone."""
        before = self.spent()
        assert self._process.stdin is not None
        self._process.stdin.close()
        # Not `Popen.wait`, which throws away what the process used in the end.
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode != 0:
            raise NoAnswerError(f"the server ended with exit code {self._process.returncode}")
        return Cost(time.perf_counter() - self._started, usage.ru_utime + usage.ru_stime) - before


class StdioServer(ServerProcess):
    """Is asked one question after the other."""

    def ask(self, line: bytes) -> bytes:
        """Return the answer to a request. Nothing is parsed here: this is what a measurement repeats."""
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
    """Return the line that asks for `method`."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": _META, **params}}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def result(answer: bytes) -> Mapping[str, Any]:
    """Return what a server answered. Raises `NoAnswerError` if that is an error."""
    message = json.loads(answer)
    if "result" not in message:
        raise NoAnswerError(f"the server refused: {message.get('error')}")
    return message["result"]
