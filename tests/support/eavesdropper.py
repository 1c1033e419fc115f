"""A server on another port of this host that records every credential that browsers send it."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

CREDENTIALS = ("cookie", "authorization", "x-skillwire-session", "x-skillwire-page")


class Eavesdropper:
    """Answers every path with an empty page."""

    def __init__(self) -> None:
        self.asked = 0
        self.heard: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                outer.heard += [f"{name}: {self.headers[name]}" for name in CREDENTIALS if self.headers[name]]
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called there
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
