"""Clients without an SDK: they send the exact bytes that a test specifies, and return the answers."""

import json
import queue
import re
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import httpx2

MODERN = "2026-07-28"
VERSIONS = (MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PATIENCE = 30.0
"""Seconds until a test gives up. Never a measure of speed."""

Message = dict[str, Any]

_NAMED_BY = {"resources/read": "uri", "tools/call": "name", "prompts/get": "name"}
"""What a 2026-07-28 client repeats in a header."""


def skillwire(*arguments: str | Path) -> list[str]:
    """Return the command line that runs this checkout's `skillwire`."""
    return [sys.executable, "-m", "skillwire", *map(str, arguments)]


class Peer(ABC):
    """A client of one protocol version."""

    version: str

    def __init__(self, version: str) -> None:
        self.version = version
        self.declares: Message = {}
        """The client's capabilities. Set them before the first request."""
        self._last_id = 0

    @property
    def modern(self) -> bool:
        return self.version == MODERN

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Message:
        """Send a request; return the whole answer."""
        self._last_id += 1
        message: Message = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        if params is not None or self.modern:
            message["params"] = self.enveloped(params or {})
        return self.exchange(message)

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        answer = self.request(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        answer = self.request(method, params)
        assert "error" in answer, answer
        return answer["error"]

    def capabilities(self) -> Any:
        """Return what the server declared."""
        return self.handshake["capabilities"]

    @property
    @abstractmethod
    def handshake(self) -> Any: ...

    @abstractmethod
    def exchange(self, message: Message) -> Message: ...

    def enveloped(self, params: Mapping[str, Any]) -> Message:
        if not self.modern:
            return dict(params)
        prefix = "io.modelcontextprotocol/"
        meta = {
            f"{prefix}protocolVersion": self.version,
            f"{prefix}clientInfo": {"name": "peer", "version": "1"},
            f"{prefix}clientCapabilities": self.declares,
        }
        return {**params, "_meta": {**meta, **params.get("_meta", {})}}

    def _opening(self) -> tuple[str, Message]:
        if self.modern:
            return "server/discover", {}
        info = {"name": "peer", "version": "1"}
        return "initialize", {
            "protocolVersion": self.version,
            "capabilities": self.declares,
            "clientInfo": info,
        }


class StdioPeer(Peer):
    """A server process of its own, on pipes."""

    def __init__(
        self,
        version: str,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        """`before` is called in the new process, before the command."""
        super().__init__(version)
        self.process = subprocess.Popen(
            command,
            preexec_fn=before,  # noqa: PLW1509 - it sets a limit, and takes no lock
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else dict(env),
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._pump, daemon=True).start()
        self._stderr: list[bytes] = []
        self._err_thread = threading.Thread(target=self._pump_err, daemon=True)
        self._err_thread.start()
        self._handshake: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def handshake(self) -> Any:
        if self._handshake is None:
            self._handshake = self.result(*self._opening())
            if not self.modern:
                self.send_line(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
        return self._handshake

    def exchange(self, message: Message) -> Message:
        if not self.modern and self._handshake is None and message["method"] != "initialize":
            _ = self.handshake
        self.send_line(json.dumps(message).encode())
        return self.receive()

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Message:
        line = self._lines.get(timeout=PATIENCE)
        assert line is not None, f"the server ended: {self.stderr()}"
        return json.loads(line)

    def close(self) -> int:
        """End the server by closing its input; return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=PATIENCE)
        self._err_thread.join(timeout=PATIENCE)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return code

    def rest(self) -> list[bytes]:
        """Return what stdout still holds after the end."""
        left: list[bytes] = []
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            left.append(line)
        return left

    def stderr(self) -> str:
        return b"".join(self._stderr).decode()

    def _pump(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _pump_err(self) -> None:
        assert self.process.stderr is not None
        self._stderr.extend(self.process.stderr)


class HttpServer:
    """A server process that listens on a port of its own choosing."""

    def __init__(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, command: str = "serve"
    ) -> None:
        self.process = subprocess.Popen(
            skillwire(command, *arguments),
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=None if env is None else dict(env),
        )
        self.log: list[str] = []
        self._keys: queue.Queue[str] = queue.Queue()
        self.url = self._wait_for_url()
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    def key(self) -> str:
        """Return the next one-time key that it prints."""
        return self._keys.get(timeout=PATIENCE)

    def stop(self) -> int:
        """Ask it to end; return its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(timeout=PATIENCE)
        self._thread.join(timeout=PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def _wait_for_url(self) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._note(line.decode())
            if "serving on http://" in self.log[-1]:
                return self.log[-1].split("serving on ")[1].strip()
        raise AssertionError(f"the server did not start: {self.log}")

    def _pump(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._note(line.decode())

    def _note(self, line: str) -> None:
        self.log.append(line)
        if (found := re.search(r"http://\S+/#key=(\S+)", line)) is not None:
            self._keys.put(found[1])


class HttpPeer(Peer):
    """A client of a server that runs already."""

    def __init__(self, version: str, url: str, token: str | None = None) -> None:
        super().__init__(version)
        self.url = url
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        self.http = httpx2.Client(headers=headers, timeout=PATIENCE, trust_env=False)
        self._session: dict[str, str] = {}
        self._handshake: Any = None

    @property
    def handshake(self) -> Any:
        if self._handshake is None:
            self._handshake = self.result(*self._opening())
            if not self.modern:
                self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self._handshake

    def exchange(self, message: Message) -> Message:
        if not self.modern and self._handshake is None and message["method"] != "initialize":
            _ = self.handshake
        return self.post(message).json()

    def post(self, message: Message, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        sent = {**self._session, **(headers or {})}
        if self.modern:
            sent |= {"mcp-protocol-version": self.version, "mcp-method": message["method"]}
            named = _NAMED_BY.get(message["method"])
            name = message["params"].get(named) if named else None
            if isinstance(name, str) and len(name) < 8000:
                sent["mcp-name"] = name
        response = self.http.post(self.url, content=json.dumps(message), headers=sent)
        if "mcp-session-id" in response.headers:
            self._session = {
                "mcp-session-id": response.headers["mcp-session-id"],
                "mcp-protocol-version": self.version,
            }
        return response

    @property
    def session_headers(self) -> Mapping[str, str]:
        """What a request of this session carries, on the versions that have sessions."""
        return self._session

    def close(self) -> None:
        self.http.close()
