"""MCP clients made of pipes, sockets and JSON: they send the very bytes that a test wants sent.

There is no SDK in them, so a fault of the SDK that the product uses cannot hide one of the product.
"""

import base64
import http.client
import json
import queue
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast
from urllib.parse import urlsplit

from tests.blackbox.product import PATIENCE, Person, command

MODERN = "2026-07-28"
VERSIONS = (MODERN, "2025-11-25", "2025-06-18")
EXTENSION = "io.modelcontextprotocol/skills"
_PREFIX = "io.modelcontextprotocol/"
_NAMED_BY = {"resources/read": "uri", "tools/call": "name", "prompts/get": "name"}
"""The parameter that a 2026-07-28 client repeats in the header `Mcp-Name`."""

Message = dict[str, Any]


class Peer(ABC):
    """A client of one protocol version."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._last_id = 0
        self._handshake: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def modern(self) -> bool:
        return self.version == MODERN

    @property
    def handshake(self) -> Any:
        """What the server said of itself: to `server/discover`, or to `initialize`."""
        if self._handshake is None:
            info = {"name": "peer", "version": "1"}
            asked = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": info}
            self._handshake = {}  # so that this one waits for no other
            answer = self.request("server/discover", {}) if self.modern else self.request("initialize", asked)
            self._handshake = answer["result"]
            if not self.modern:
                assert self._handshake["protocolVersion"] == self.version
                self.notify("notifications/initialized")
        return self._handshake

    def message(self, method: str, params: Mapping[str, Any] | None = None) -> Message:
        """Return a request, as a client of this version writes it."""
        self._last_id += 1
        message: Message = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        if params is not None or self.modern:
            message["params"] = self.enveloped(params or {})
        return message

    def enveloped(self, params: Mapping[str, Any]) -> Message:
        """Return parameters with the `_meta` that 2026-07-28 demands of every request."""
        if not self.modern:
            return dict(params)
        meta = {
            f"{_PREFIX}protocolVersion": self.version,
            f"{_PREFIX}clientInfo": {"name": "peer", "version": "1"},
            f"{_PREFIX}clientCapabilities": {},
        }
        return {**params, "_meta": {**meta, **params.get("_meta", {})}}

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Message:
        """Ask; return the whole answer."""
        if not self.modern:
            _ = self.handshake
        return self.exchange(self.message(method, params))

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        answer = self.request(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        answer = self.request(method, params)
        assert "error" in answer, answer
        return answer["error"]

    def tool(self, tool: str, /, **arguments: str) -> Any:
        """Call a tool; return its result."""
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def pages(self, method: str, key: str, params: Mapping[str, Any] | None = None) -> Iterator[list[Any]]:
        """Follow a list to its end, page by page."""
        cursor: dict[str, str] = {}
        for _ in range(50):
            result = self.result(method, {**(params or {}), **cursor})
            yield result[key]
            if "nextCursor" not in result:
                return
            cursor = {"cursor": result["nextCursor"]}
        raise AssertionError("the list does not end")

    def items(self, method: str, key: str, params: Mapping[str, Any] | None = None) -> list[Any]:
        return [item for page in self.pages(method, key, params) for item in page]

    def skills(self) -> dict[str, Any]:
        """Return every entry of `skills/list`, by its URI."""
        return {entry["uri"]: entry for entry in self.items("skills/list", "skills")}

    @abstractmethod
    def exchange(self, message: Message) -> Message: ...

    @abstractmethod
    def notify(self, method: str) -> None: ...

    @abstractmethod
    def close(self) -> int: ...


class StdioPeer(Peer):
    """A server process of its own, on pipes."""

    def __init__(
        self,
        version: str,
        person: Person,
        *arguments: str | Path,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(version)
        self.process = subprocess.Popen(
            command(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=person.environment(variables),
            cwd=person.work,
        )
        self.heard: list[Message] = []
        """Notifications, and whatever else came that was no answer."""
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._said: list[bytes] = []
        self._threads = [
            threading.Thread(target=pump, daemon=True) for pump in (self._pump_out, self._pump_err)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def said(self) -> str:
        """What the server said on stderr."""
        return b"".join(self._said).decode()

    def exchange(self, message: Message) -> Message:
        self.send(json.dumps(message).encode())
        while (answer := json.loads(self.line())).get("id") != message["id"] or "method" in answer:
            self.heard.append(answer)
        return answer

    def notify(self, method: str) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method}).encode())

    def await_notification(self, method: str) -> Message:
        """Wait until the server says this, if it has not yet."""
        while True:
            for told in self.heard:
                if told.get("method") == method:
                    self.heard.remove(told)
                    return told
            self.heard.append(json.loads(self.line()))

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def line(self) -> bytes:
        """Return the next line of the server."""
        line = self._lines.get(timeout=PATIENCE)
        assert line is not None, f"the server ended: {self.said}"
        return line

    def close(self) -> int:
        """End the server by closing its input; return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            return self.process.wait(timeout=PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            for thread in self._threads:
                thread.join(timeout=PATIENCE)
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()

    def _pump_out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _pump_err(self) -> None:
        assert self.process.stderr is not None
        self._said.extend(self.process.stderr)


@dataclass(frozen=True)
class Response:
    """An answer over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The last message, whether it came alone or in a stream of events."""
        if not self.headers.get("content-type", "").startswith("text/event-stream"):
            return json.loads(self.body)
        data = [line[5:] for line in self.body.decode().splitlines() if line.startswith("data:")]
        return json.loads(data[-1])


def fetch(
    url: str,
    verb: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    connection: http.client.HTTPConnection | None = None,
) -> Response:
    """Make one HTTP request; on a connection of its own unless one is given."""
    parts = urlsplit(url)
    used = connection or http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    try:
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        used.putrequest(verb, path, skip_host=True, skip_accept_encoding=True)
        given = {"host": parts.netloc, **{name.lower(): value for name, value in (headers or {}).items()}}
        if body is not None:
            given.setdefault("content-length", str(len(body)))
        for name, value in given.items():
            used.putheader(name, value)
        used.endheaders(body)
        answer = used.getresponse()
        return Response(
            answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        )
    finally:
        if connection is None:
            used.close()


def _field(value: str) -> str:
    """Return a value as a header carries it: as it is, or in base64 where it would not survive."""
    if value.isascii() and value.isprintable() and value == value.strip():
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


class HttpPeer(Peer):
    """A client of a server that runs already, on one connection."""

    def __init__(self, version: str, url: str, token: str | None = None) -> None:
        super().__init__(version)
        self.url = url
        self._fixed = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if token is not None:
            self._fixed["authorization"] = f"Bearer {token}"
        self.session: dict[str, str] = {}
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)

    def headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        """Return what a client of this version sends along with a message."""
        sent = {**self._fixed, **self.session}
        if self.modern:
            method = str(message.get("method"))
            sent |= {"mcp-protocol-version": self.version, "mcp-method": method}
            params: Any = message.get("params")
            given = cast("Message", params) if isinstance(params, dict) else {}
            name = given.get(_NAMED_BY.get(method, ""))
            if isinstance(name, str) and len(name) < 8000:
                sent["mcp-name"] = _field(name)
        return sent

    def post(self, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send any body with any headers."""
        try:
            return fetch(self.url, "POST", headers, body, self._connection)
        except (http.client.RemoteDisconnected, ConnectionError):  # closed since, after an error
            self._connection.close()
            return fetch(self.url, "POST", headers, body, self._connection)

    def exchange(self, message: Message) -> Message:
        response = self.post(json.dumps(message).encode(), self.headers(message))
        if "mcp-session-id" in response.headers:
            self.session = {
                "mcp-session-id": response.headers["mcp-session-id"],
                "mcp-protocol-version": self.version,
            }
        return response.json

    def notify(self, method: str) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        assert self.post(json.dumps(message).encode(), self.headers(message)).status == 202

    def close(self) -> int:
        self._connection.close()
        return 0
