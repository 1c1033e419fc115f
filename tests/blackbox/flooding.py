"""A server that floods. It imports the standard library only, so that it runs by its path.

`python flooding.py ATTACK` on pipes, `http_server` over HTTP. `honest` is no attack: an empty list.
"""

import itertools
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MIB = 1024 * 1024
EXTENSION = "io.modelcontextprotocol/skills"
FLOODS: dict[str, dict[str, Any]] = {
    "pings": {"id": 1_000_000, "method": "ping"},
    "changes": {"method": "notifications/resources/list_changed"},
    "answers": {"id": 1_000_000, "result": {}},
}
LARGE = ("values", "long")
ATTACKS = (*LARGE, "endless", *FLOODS)


def greeting(message: dict[str, Any]) -> bytes | None:
    """Answer everything but a request for the list of skills."""
    if "id" not in message or message.get("method") == "skills/list":
        return None
    if message.get("method") == "initialize":
        capabilities: dict[str, Any] = {"extensions": {EXTENSION: {}}, "resources": {}}
        info = {"name": "hostile", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    if message.get("method") == "resources/list":
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"resources": []}}).encode()
    error = {"code": -32601, "message": "no"}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()


def attack(name: str, message: dict[str, Any]) -> Iterator[bytes]:
    """Yield the pieces of what is sent as a list of skills."""
    start, end = b'{"jsonrpc":"2.0","id":%d,"result":{"skills":[' % message["id"], b"]}}"
    if name == "honest":
        yield start + end
    elif name == "values":  # of three bytes each, and of a hundred when they are parsed
        yield from itertools.chain([start], itertools.repeat(b"[]," * 10_000, 500), [b"[]", end])
    elif name == "long":
        yield from itertools.chain([start, b'"'], itertools.repeat(b"x" * MIB, 300), [b'"', end])
    elif name == "endless":
        yield from itertools.repeat(b"[" * 65_536, 10_000)
    else:
        line = json.dumps({"jsonrpc": "2.0", **FLOODS[name]}).encode() + b"\n"
        yield from itertools.repeat(line * 100, 100_000)


def program(name: str) -> list[str]:
    """Return the command of a server on pipes that does this."""
    return [sys.executable, str(Path(__file__)), name]


def http_server(name: str) -> ThreadingHTTPServer:
    """Return a server over HTTP that does this."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200 if "id" in message else 202)
            self.send_header("content-type", "application/json")
            self.send_header("connection", "close")
            self.end_headers()
            with suppress(OSError):
                if (answer := greeting(message)) is not None:
                    self.wfile.write(answer)
                elif "id" in message:
                    for piece in attack(name, message):
                        self.wfile.write(piece)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    return server


def main(name: str) -> None:
    """Answer on stdin and stdout."""
    out = sys.stdout.buffer
    with suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if (answer := greeting(message)) is not None:
                out.write(answer + b"\n")
            elif message.get("method") == "skills/list":
                for piece in attack(name, message):
                    out.write(piece)
                out.write(b"\n")
            out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
