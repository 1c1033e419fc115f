"""A server of embeddings on this machine, as a process of its own: the protocol of OpenAI, with real vectors.

The first line of the file `behavior` says how it answers; it is read for each request. Each request is a line
in the file `requests`.
"""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_ANSWERS: dict[str, bytes] = {
    "no json": b"<html>welcome</html>",
    "no object": b"[1, 2]",
    "no data": b"{}",
    "too few": b'{"data": []}',
    "text": b'{"data": [{"index": 0, "embedding": ["a", "b"]}]}',
    "empty vector": b'{"data": [{"index": 0, "embedding": []}]}',
    "zero": b'{"data": [{"index": 0, "embedding": [0, 0, 0]}]}',
    "huge number": b'{"data": [{"index": 0, "embedding": [1e999, 1]}]}',
    "wrong index": b'{"data": [{"index": 7, "embedding": [1, 2]}]}',
    "other size": b'{"data": [{"index": 0, "embedding": [1, 2]}]}',
    "deep": b"[" * 100_000,
    "too large": b'{"data": "' + b"x" * (9 * 1024 * 1024) + b'"}',
}
NONSENSE = [*_ANSWERS, "status 500", "redirect"]
"""Behaviors of a server that answers a query at once, but not with its vector."""


@dataclass(frozen=True, slots=True)
class EmbeddingsServer:
    """A running server."""

    url: str
    folder: Path
    process: "subprocess.Popen[str]"

    def behave(self, behavior: str) -> None:
        """Choose how it answers: `well`, `slow`, `another model`, or one of `NONSENSE`."""
        (self.folder / "behavior").write_text(behavior)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Every request so far: its body, and its token."""
        path = self.folder / "requests"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def texts(self) -> list[str]:
        """Every text that was sent so far."""
        return [text for request in self.requests for text in request["body"]["input"]]


@contextmanager
def embeddings_server(folder: Path) -> Generator[EmbeddingsServer]:
    """Run a server until the end of the block."""
    command = [sys.executable, "-m", "tests.support.embeddings_server", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            server = EmbeddingsServer(process.stdout.readline().strip(), folder, process)
            server.behave("well")
            yield server
        finally:
            process.kill()


class _Handler(BaseHTTPRequestHandler):
    folder: Path
    model: Any

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with (self.folder / "requests").open("a") as file:
            file.write(json.dumps({"body": body, "token": self.headers["Authorization"]}) + "\n")
        behavior = (self.folder / "behavior").read_text()
        if behavior == "slow":
            time.sleep(20)
        if behavior == "redirect":
            self.send_response(307)
            self.send_header("Location", f"{self.path}?again")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = 128 if behavior == "another model" else 256
        answer = _ANSWERS.get(behavior) or _vectors(self.model, body["input"], size)
        self.send_response(500 if behavior == "status 500" else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in the base class
        pass


def _vectors(model: Any, texts: list[str], size: int) -> bytes:
    import anyio  # noqa: PLC0415 - only in the process of the server

    async def embed() -> list[list[float]]:
        return [(await model.embed_query(text))[0][:size].tolist() for text in texts]

    found = list(enumerate(anyio.run(embed)))
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in reversed(found)]
    return json.dumps({"object": "list", "data": data, "model": "static"}).encode()


def _serve(folder: Path) -> None:
    from skillwire.search.semantic.local_model import LocalModel  # noqa: PLC0415 - as above

    handler = type("Handler", (_Handler,), {"folder": folder, "model": LocalModel()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
