"""An MCP server that says exactly what a test wants it to say, honest or not: raw JSON-RPC, no SDK.

Over HTTP it runs in a thread of the test, over stdio as a process: `python scripted.py SCRIPT LOG`. The
script of a process is a JSON file that is read anew for each request. Each method that is asked for goes to
the log. This file imports the standard library only, so that it runs by its path.
"""

import base64
import copy
import hashlib
import json
import queue
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self, cast

MODERN, LEGACY = "2026-07-28", "2025-11-25"
EXTENSION = "io.modelcontextprotocol/skills"
HELD = 60.0
"""Seconds after which a request that is held is answered all the same."""
Message = dict[str, Any]


def document(name: str, fields: Mapping[str, Any] | None = None, body: str = "# Steps\n") -> bytes:
    """Return a `SKILL.md` with further fields, which are written as JSON: that is YAML, too."""
    more = "".join(f"{key}: {json.dumps(value)}\n" for key, value in (fields or {}).items())
    return f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n{body}".encode()


def listed(uri: str, content: bytes) -> Message:
    return {"uri": uri, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}


def block(uri: str, content: bytes) -> Message:
    """Return a block of `resources/read`."""
    try:
        return {"uri": uri, "mimeType": "text/plain", "text": content.decode()}
    except UnicodeDecodeError:
        return {"uri": uri, "mimeType": "text/plain", "blob": base64.b64encode(content).decode()}


@dataclass
class Script:
    """Honest about `files` unless an answer is scripted."""

    version: str = LEGACY
    name: str = "scripted"
    extension: Any = field(default_factory=lambda: {"directoryRead": True})
    """What is declared; nothing if None."""
    entries: list[Any] = field(default_factory=list[Any])
    unlisted: list[Any] = field(default_factory=list[Any])
    """Entries that `skills/get` knows and no list has."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """The bytes of each file, in base64."""
    pages: dict[str, Any] | None = None
    """The whole pages of `skills/list` by cursor; the first is that of `-`."""
    endless: bool = False
    """Whether every page of `skills/list` is followed by another."""
    reads: dict[str, Any] = field(default_factory=dict[str, Any])
    """What `resources/read` answers for a URI, instead of the file. `error` in it makes it an error."""
    gets: dict[str, Any] = field(default_factory=dict[str, Any])
    """What `skills/get` answers for a URI, instead of the entry."""
    folders: dict[str, Any] = field(default_factory=dict[str, Any])
    """What `resources/directory/read` answers for a URI."""
    resources: list[Any] = field(default_factory=list[Any])
    """What `resources/list` shows."""
    fresh: Any = field(default_factory=lambda: {"ttlMs": 3_600_000, "cacheScope": "public"})
    """What results of 2026-07-28 say of their freshness."""

    def publish(
        self,
        path: str,
        more: Mapping[str, bytes] | None = None,
        fields: Mapping[str, Any] | None = None,
        *,
        scheme: str = "skill",
        body: str = "# Steps\n",
        listing: bool = True,
    ) -> Message:
        """Serve this skill honestly, in the place of what was there; return its entry, to be spoiled."""
        root, name = f"{scheme}://{path}", path.rpartition("/")[2]
        uri = f"{root}/SKILL.md"
        files = {uri: document(name, fields, body)}
        files |= {f"{root}/{each}": content for each, content in (more or {}).items()}
        entry: Message = {
            "uri": uri,
            "frontmatter": {"name": name, "description": f"Does {name}.", **(fields or {})},
            "resources": [listed(each, content) for each, content in files.items()],
        }
        self.withdraw(path, scheme=scheme)
        (self.entries if listing else self.unlisted).append(entry)
        self.files |= {each: base64.b64encode(content).decode() for each, content in files.items()}
        return entry

    def withdraw(self, path: str, *, scheme: str = "skill") -> None:
        """Serve that skill no more."""
        uri = f"{scheme}://{path}/SKILL.md"
        for entries in (self.entries, self.unlisted):
            entries[:] = [each for each in entries if _uri(each) != uri]
        prefix = uri.removesuffix("SKILL.md")
        self.files = {each: content for each, content in self.files.items() if not each.startswith(prefix)}

    def tamper(self, uri: str, content: bytes) -> None:
        """Answer reads of a file with other bytes than those listed."""
        self.files[uri] = base64.b64encode(content).decode()

    def answer(self, message: Message) -> Message | None:
        """Return the answer to a request; None if nothing is to be answered."""
        if "id" not in message or "method" not in message:
            return None
        params = cast("Message", message.get("params") or {})
        result = self._result(str(message["method"]), params)
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        if "error" in result:
            return {**answer, "error": result["error"]}
        if self.version == MODERN:
            result = {"resultType": "complete", **self.fresh, **result}
        return {**answer, "result": result}

    def _result(self, method: str, params: Message) -> Message:
        if method in {"initialize", "server/discover"}:
            return self._introduction(method)
        uri, cursor = str(params.get("uri")), params.get("cursor")
        if method == "skills/list":
            return self._page(cursor)
        if method == "skills/get":
            return self.gets[uri] if uri in self.gets else self._entry(uri)
        if method == "resources/read":
            return self.reads[uri] if uri in self.reads else self._file(uri)
        if method == "resources/directory/read":
            return self.folders.get(uri, _error("no such folder"))
        lists: dict[str, Message] = {
            "resources/list": {"resources": self.resources},
            "resources/templates/list": {"resourceTemplates": []},
            "prompts/list": {"prompts": []},
            "tools/list": {"tools": []},
        }
        return lists.get(method, {} if method != "subscriptions/listen" else _error("no", -32601))

    def _introduction(self, method: str) -> Message:
        if (method == "server/discover") != (self.version == MODERN):
            return _error("method not found", -32601)
        capabilities: Message = {"resources": {"listChanged": True}}
        if self.extension is not None:
            capabilities["extensions"] = {EXTENSION: self.extension}
        info = {"name": self.name, "version": "1"}
        if self.version == MODERN:
            meta = {"io.modelcontextprotocol/serverInfo": info}
            return {"supportedVersions": [MODERN], "capabilities": capabilities, "_meta": meta}
        return {"protocolVersion": self.version, "capabilities": capabilities, "serverInfo": info}

    def _page(self, cursor: Any) -> Message:
        if self.endless:
            return {"skills": [], "nextCursor": f"{int(cursor or 0) + 1}"}
        if self.pages is not None:
            return self.pages.get("-" if cursor is None else str(cursor), _error("no such page"))
        return {"skills": self.entries}

    def _entry(self, uri: str) -> Message:
        found = [each for each in (*self.entries, *self.unlisted) if _uri(each) == uri]
        return {"skill": found[0]} if found else _error("no such skill")

    def _file(self, uri: str) -> Message:
        if uri not in self.files:
            return _error("no such file")
        return {"contents": [block(uri, base64.b64decode(self.files[uri]))]}


def _uri(entry: Any) -> Any:
    return cast("Message", entry).get("uri") if isinstance(entry, dict) else None


def _error(message: str, code: int = -32602) -> Message:
    return {"error": {"code": code, "message": message}}


class Site:
    """A script over HTTP, on a port of its own. `asked` is every request, with its parameters."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[tuple[str, Message]] = []
        self._streams: list[queue.Queue[Message | None]] = []
        self._held: str | None = None
        self._free = threading.Event()
        self._heard = threading.Event()
        self._under_way: Counter[str] = Counter()
        self._most: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.site = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        with self._lock:
            for stream in self._streams:
                stream.put(None)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/mcp"

    def count(self, method: str) -> int:
        """Return how often a method was called."""
        return sum(each == method for each, _ in self.asked)

    @property
    def reads(self) -> list[str]:
        """The files that were read, in this order."""
        return [params["uri"] for method, params in self.asked if method == "resources/read"]

    def await_listener(self) -> None:
        """Wait until a client listens."""
        assert self._heard.wait(HELD)

    def say_changed(self) -> None:
        """Notify every client that listens that the skills changed."""
        with self._lock:
            for stream in self._streams:
                stream.put({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"})

    def hold(self, method: str) -> None:
        """Leave requests of a method without an answer, until `release`."""
        self._free.clear()
        self._held = method

    def release(self) -> None:
        self._held = None
        self._free.set()

    def most_at_once(self, method: str) -> int:
        """Return how many requests of a method were ever under way at once."""
        return self._most[method]

    def answer(self, message: Message) -> Message | None:
        method = str(message.get("method"))
        with self._lock:
            self._under_way[method] += 1
            self._most[method] = max(self._most[method], self._under_way[method])
        try:
            return self._answer(message)
        finally:
            with self._lock:
                self._under_way[method] -= 1

    def _answer(self, message: Message) -> Message | None:
        if "method" in message and "id" in message:
            given = cast("Message", message.get("params") or {})
            params = {key: value for key, value in given.items() if key != "_meta"}
            with self._lock:
                self.asked.append((str(message["method"]), copy.deepcopy(params)))
        if message.get("method") == self._held:
            self._free.wait(HELD)
        return self.script.answer(message)

    def stream(self) -> "queue.Queue[Message | None]":
        stream: queue.Queue[Message | None] = queue.Queue()
        with self._lock:
            self._streams.append(stream)
        self._heard.set()
        return stream


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    site: Site

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that hung up."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType] - as given


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - the one that made it

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))))
        if message.get("method") == "subscriptions/listen" and self.server.site.script.version == MODERN:
            self._listen(message["id"], message["params"]["notifications"])
            return
        answer = self.server.site.answer(message)
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(202 if answer is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if message.get("method") == "initialize":
            self.send_header("mcp-session-id", "1")  # without one, a client opens no stream
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Open the stream of a client of the 2025 versions."""
        self._stream({})

    def do_DELETE(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def _listen(self, identity: object, wanted: Message) -> None:
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": identity}}
        told = {
            "method": "notifications/subscriptions/acknowledged",
            "params": {**meta, "notifications": wanted},
        }
        self._stream(meta, {"jsonrpc": "2.0", **told})

    def _stream(self, params: Message, first: Message | None = None) -> None:
        stream = self.server.site.stream()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if first is not None:
            self._event(first)
        while (message := stream.get()) is not None:
            self._event({**message, "params": params})

    def _event(self, message: Message) -> None:
        event = f"event: message\ndata: {json.dumps(message)}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Say nothing."""

    def handle(self) -> None:
        with suppress(OSError):  # the client left
            super().handle()


@dataclass(frozen=True)
class Program:
    """A script as a program on pipes."""

    folder: Path

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(Path(__file__)), str(self.folder / "script"), str(self.folder / "log")]

    @property
    def asked(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text("utf-8").split() if log.exists() else []

    def play(self, script: Script) -> Self:
        """Say this from now on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / "new"
        new.write_text(json.dumps(asdict(script)), "utf-8")
        new.rename(self.folder / "script")
        return self


def main(script: str, log: str) -> None:
    """Answer on stdin and stdout."""
    for line in sys.stdin:
        message = json.loads(line)
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{message.get('method')}\n")
        answer = Script(**json.loads(Path(script).read_text("utf-8"))).answer(message)
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
