"""A web server that answers every POST with the same thing, whatever it was asked."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class PostingSite:
    """A site on loopback. `headers` are those of each request that came."""

    def __init__(self, body: bytes = b"", status: int = 200, **answered: str) -> None:
        self.headers: list[Mapping[str, str]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                site.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.rfile.read(int(self.headers.get("content-length", "0")))
                self.send_response(status)
                for name, value in {"content_type": "application/json", **answered}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                with suppress(OSError):  # the client may refuse the rest
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/mcp"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
