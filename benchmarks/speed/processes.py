"""Run the compared programs as processes, and send requests over stdio and HTTP."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from benchmarks.costs import Cost, cpu_of
from benchmarks.speed.contestants import HTTP, ROOT, STDIO, Contestant
from benchmarks.speed.loads import PATIENCE, HttpLoad, NoAnswerError, StdioLoad, Turn
from benchmarks.stdio import request

# Without bytecode files, Python would compile every module at every start, which real servers do not do.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_NAMED_BY = {"resources/read": "uri"}


class Running:
    """A running program."""

    def __init__(
        self, contestant: Contestant, transport: str, root: Path | None, env: Mapping[str, str] | None = None
    ) -> None:
        self.name, self.transport = contestant.name, transport
        self._port = _free_port() if transport == HTTP else 0
        command = contestant.command("stdio" if transport == STDIO else str(self._port), root)
        self._started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            bufsize=0,
            cwd=ROOT,
            env={**_ENVIRONMENT, **(env or {})},
            stdin=subprocess.PIPE if transport == STDIO else subprocess.DEVNULL,
            stdout=subprocess.PIPE if transport == STDIO else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def cpu(self) -> float:
        return cpu_of(self.process.pid)

    def spent(self) -> Cost:
        return Cost(time.perf_counter() - self._started, self.cpu())

    def memory(self) -> int:
        """Return the resident bytes of the process and its children."""
        process = psutil.Process(self.process.pid)
        return sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))

    def ask(self, method: str, **params: str) -> dict[str, Any]:
        """Return the result of one request. Raises `NoAnswerError`."""
        return _result(self._ask(self.question(method, **params)))

    def question(self, method: str, *, trace: str | None = None, **params: str) -> bytes:
        """Return the bytes of a request. `trace` is a trace context (SEP-414)."""
        line = request(method, **params)
        if trace is not None:
            line = line.replace(b'"_meta":{', b'"_meta":{"traceparent":"%b",' % trace.encode(), 1)
        return line if self.transport == STDIO else _post(line.rstrip(b"\n"), self._port, method, params)

    def turn(self, questions: Sequence[bytes], in_flight: int, most: int, seconds: float) -> Turn:
        return self._load.turn(questions, in_flight, most, seconds)

    @property
    def _load(self) -> StdioLoad | HttpLoad:
        if self.transport == HTTP:
            return HttpLoad(self._port, self.cpu)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return StdioLoad(self.process.stdin.fileno(), self.process.stdout.fileno(), self.cpu)

    def _ask(self, question: bytes) -> bytes:
        load = self._load
        if isinstance(load, StdioLoad):
            return load.ask(question)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return load.ask(question)
            except ConnectionError as error:  # not listening yet
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise NoAnswerError("the server does not listen on its port") from error
                time.sleep(0.02)


def answer_of(running: Running, method: str, **params: str) -> bytes:
    """Return an answer as JSON, for the floors to send."""
    result = running.ask(method, **params)
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}, separators=(",", ":")).encode()


def _result(answer: bytes) -> dict[str, Any]:
    message = json.loads(answer)
    if "result" not in message:
        raise NoAnswerError(f"the server refused: {message.get('error')}")
    return message["result"]


def _post(body: bytes, port: int, method: str, params: Mapping[str, str]) -> bytes:
    named = _NAMED_BY.get(method)
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        f"Mcp-Method: {method}",
        *([] if named is None else [f"Mcp-Name: {params[named]}"]),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
