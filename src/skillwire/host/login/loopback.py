"""Where a browser is sent after a login: a port of this machine, open for one answer and a few minutes."""

import asyncio
import re
import socket
import threading
import webbrowser
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import anyio

from skillwire.host.login.errors import LoginError
from skillwire.host.login.flow import LoginRequest

PATIENCE = 300.0
"""Seconds for a person to log in."""
_PATH = "/callback"
_MAX_HEAD = 16 * 1024
_HEAD_SECONDS = 10.0
_AT_ONCE, _IN_ALL = 16, 1000
"""Connections: a page that somebody visits meanwhile may open any number."""
_REQUEST = re.compile(rb"GET (/[!-~]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*([!-~]*)[ \t]*\r\n", re.IGNORECASE)
_PAGE = "<!doctype html><meta charset=utf-8><title>Skillwire</title><p>{}\n"
_DONE = "You can close this page and go back to the terminal."
_NOT_OURS = "This does not belong to a login."

Show = Callable[[LoginRequest], None]


class LoopbackHandler:
    """Shows a login page, and waits for the browser to come back.

    Whoever does not know the `state` of the login changes nothing.
    """

    def __init__(self, port: int, show: Show, patience: float) -> None:
        self._port, self._show, self._patience = port, show, patience
        self._state = ""
        self._back: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._open, self._left = 0, _IN_ALL

    @property
    def redirect_uri(self) -> str:
        return f"http://127.0.0.1:{self._port}{_PATH}"

    async def __call__(self, request: LoginRequest) -> str:
        """Return the address that the browser was sent to. Raises `LoginError` if it did not come in time."""
        self._state = request.state
        self._show(request)
        try:
            with anyio.fail_after(self._patience):
                return await asyncio.shield(self._back)
        except TimeoutError as error:
            told = f"no one logged in within {self._patience:g} seconds"
            raise LoginError(request.label, told, "try again, or wait longer with `--timeout`") from error

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        self._left -= 1
        self._open += 1
        try:
            if self._open <= _AT_ONCE and self._left >= 0:
                with suppress(asyncio.LimitOverrunError, asyncio.IncompleteReadError):
                    async with asyncio.timeout(_HEAD_SECONDS):
                        head = await reader.readuntil(b"\r\n\r\n")
                        writer.write(self._answer(head))
                        await writer.drain()
        except (OSError, TimeoutError):
            pass
        finally:
            self._open -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _answer(self, head: bytes) -> bytes:
        """Return the answer to a request, and take what it brings if that belongs to this login."""
        request, host = _REQUEST.match(head), _HOST.search(head)
        if request is None or host is None or host[1] != f"127.0.0.1:{self._port}".encode():
            return _http(400, _NOT_OURS)
        asked = urlsplit(request[1].decode())
        said = parse_qs(asked.query)
        if asked.path != _PATH or not self._state or said.get("state") != [self._state]:
            return _http(400, _NOT_OURS)
        if not self._back.done():
            self._back.set_result(f"{self.redirect_uri}?{asked.query}")
        return _http(200, _DONE)


@asynccontextmanager
async def loopback(
    show: Show, *, port: int = 0, patience: float = PATIENCE
) -> AsyncGenerator[LoopbackHandler]:
    """Yield a handler of logins on this machine, on a free port. `show` is called with the page to open.

    Raises `OSError` if a `port` that was chosen is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", port))
        handler = LoopbackHandler(listener.getsockname()[1], show, patience)
        server = await asyncio.start_server(handler.serve, sock=listener, limit=_MAX_HEAD)
        try:
            yield handler
        finally:
            server.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await server.wait_closed()


def open_in_browser(request: LoginRequest) -> None:
    """Open a login page in the person's browser, without waiting for it."""
    # Some browsers end only when they are closed: the program must not wait for that.
    threading.Thread(target=_open, args=(request.url,), daemon=True).start()


def _open(url: str) -> None:
    with suppress(Exception):  # the person has the address, too
        webbrowser.open(url)


def _http(status: int, text: str) -> bytes:
    body = _PAGE.format(text).encode()
    reason = {200: "OK", 400: "Bad Request"}[status]
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Length: {len(body)}\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
