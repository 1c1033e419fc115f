"""A server that does as much harm as it can. It needs no package.

`python hostile_server.py ATTACK stdio`, or `http`, and `events` for answers in streams of events. Over HTTP,
the first line on stdout is the port.
"""

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MIB = 1024 * 1024
SKILLS = "io.modelcontextprotocol/skills"
Message = dict[str, object]


def answer(message: Message, result: object = None, **more: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result or {}, **more}).encode()


def around(message: Message, result: Message, filler: bytes, times: int) -> Iterator[bytes]:
    """Yield an answer in pieces; the text `"@"` in it is replaced by a list of that many fillers."""
    before, after = answer(message, result).split(b'"@"')
    yield before + b"["
    block = b",".join([filler] * 10_000) + b","
    yield from itertools.repeat(block, times // 10_000)
    yield filler + b"]" + after


def introduction(message: Message, attack: str) -> Iterator[bytes]:
    result: Message = {
        "protocolVersion": "2025-11-25",
        "capabilities": {
            "extensions": {SKILLS: {"directoryRead": True}},
            "resources": {"subscribe": True, "listChanged": True},
            "prompts": {},
        },
        "serverInfo": {"name": "hostile", "version": "1"},
    }
    if attack == "instructions":
        result["instructions"] = "x" * 30 * MIB
    if attack == "capabilities":
        return around(message, {**result, "more": "@"}, b"[]", 4_000_000)
    return iter([answer(message, result)])


PAGES = itertools.count()


def listing(message: Message, attack: str) -> Iterator[bytes]:
    if attack in {"brackets", "hidden", "charset"}:
        return around(message, {"skills": "@"}, b"[]", 5_000_000)
    if attack == "objects":
        return around(message, {"skills": [], "more": "@"}, b'{"a":{}}', 1_500_000)
    if attack == "long":
        before, after = answer(message, {"skills": [], "more": "@"}).split(b"@")
        return itertools.chain([before], itertools.repeat(b"x" * MIB, 100), [after])
    if attack == "pages":
        return iter([answer(message, {"skills": [], "more": "x" * 8 * MIB, "nextCursor": str(next(PAGES))})])
    if attack == "error":
        text = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": 1, "message": "@"}})
        before, after = text.encode().split(b"@")
        return itertools.chain([before], itertools.repeat(b"y" * MIB, 100), [after])
    frontmatter = {"name": "x", "description": "X."}
    honest = {"uri": "skill://x/SKILL.md", "frontmatter": frontmatter, "resources": "dynamic"}
    return iter([answer(message, {"skills": [honest] if attack == "templates" else []})])


def news(attack: str) -> Iterator[bytes]:
    """Yield what is sent without end, one message at a time."""
    methods = {
        "pings": "ping",
        "sampling": "sampling/createMessage",
        "roots": "roots/list",
        "elicitation": "elicitation/create",
        "changes": "notifications/resources/list_changed",
        "logs": "notifications/message",
        "progress": "notifications/progress",
        "unknown": "notifications/whatever",
    }
    for number in itertools.count(1_000_000):
        if attack == "responses":
            yield answer({"id": number})
        elif attack == "garbage":
            yield b"{"
        elif attack == "blank":
            yield b""
        else:
            method = methods[attack]
            own = {} if method.startswith("notifications") else {"id": number}
            yield json.dumps({"jsonrpc": "2.0", "method": method, **own, "params": {}}).encode()


FLOODS = {
    "pings",
    "sampling",
    "roots",
    "elicitation",
    "changes",
    "logs",
    "progress",
    "unknown",
    "responses",
    "garbage",
    "blank",
}


HUGE = {
    ("resources/list", "resources"): ("resources", b"{}", 49_000),
    ("resources/read", "resources"): ("contents", b"[]", 5_000_000),
    ("resources/templates/list", "templates"): (
        "resourceTemplates",
        b'{"uriTemplate":"skill://{a}/SKILL.md"}',
        2_000_000,
    ),
}
"""The list in an answer, its items and their number, by method and attack."""


def respond(message: Message, attack: str) -> Iterator[bytes]:
    method = message.get("method")
    if method == "initialize":
        return introduction(message, attack)
    if method == "skills/list":
        return listing(message, attack)
    if (huge := HUGE.get((str(method), attack))) is not None:
        key, filler, times = huge
        return around(message, {key: "@"}, filler, times)
    if method == "server/discover":
        error = {"code": -32601, "message": "no"}
        return iter([json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()])
    return iter([answer(message)])


def complain() -> None:
    while True:
        sys.stderr.buffer.write(b"!" * 65_536)


def flood(attack: str, write: Callable[[bytes], object]) -> None:
    """Send without end, if that is the attack."""
    if attack == "line":
        while True:
            write(b"[" * 65_536)
    if attack in FLOODS:
        for each in news(attack):
            write(each)


def stdio(attack: str) -> None:
    out = sys.stdout.buffer
    if attack == "stderr":
        threading.Thread(target=complain, daemon=True).start()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and "method" in message:
            for piece in respond(message, attack):
                out.write(piece)
            out.write(b"\n")
            out.flush()
        if message.get("method") == "notifications/initialized":
            if attack == "deaf":
                time.sleep(600)
            flood(attack, lambda piece: out.write(piece if attack == "line" else piece + b"\n"))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    attack, events = sys.argv[1], "events" in sys.argv

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))))
        if "id" not in message or "method" not in message:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        kind = "text/event-stream" if self.events else "application/json"
        charset = "; charset=utf-16" if self.attack == "charset" else ""
        self.start(f"{kind}{charset}")
        if self.attack == "hidden":
            self.chunk(b': "\r')
        if self.attack == "interrupting" and message["method"] == "skills/list":
            for each in news("pings"):
                self.event(each)
        if self.events:
            self.chunk(b"data: ")
        for piece in respond(message, self.attack):
            self.chunk(piece)
        if self.events:
            self.chunk(b"\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self) -> None:
        self.start("text/event-stream")
        flood(self.attack, self.event)
        if self.attack == "retries":
            self.event(b"\nretry: 0\nid: 1")
            self.wfile.write(b"0\r\n\r\n")
        else:
            time.sleep(600)

    def do_DELETE(self) -> None:
        if self.attack == "farewell":
            time.sleep(600)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def event(self, data: bytes) -> None:
        self.chunk(data if self.attack == "line" else b"data: " + data + b"\n\n")

    def start(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.send_header("mcp-session-id", "1")
        self.end_headers()

    def chunk(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Say nothing."""

    def handle(self) -> None:
        with suppress(OSError):  # the client left, and was right
            super().handle()


def http() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    if "http" in sys.argv:
        http()
    else:
        stdio(sys.argv[1])
