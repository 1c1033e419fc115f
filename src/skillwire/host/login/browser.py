"""Receive the redirect of a login on a loopback address (RFC 8252, section 7.3)."""

import asyncio
import os
import re
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import anyio

from skillwire.errors import LoginError, UsageError
from skillwire.host.login.flow import LoginRequest

PATIENCE = 300.0
"""Default time in which the user must log in, in seconds."""
_PATH = "/callback"
_MAX_HEAD = 16 * 1024
_HEAD_SECONDS = 10.0
_AT_ONCE, _IN_ALL = 16, 1000
"""Maximum number of connections: concurrently, and in total since the last login began.

A web page in the user's browser could open any number.
"""
_REQUEST = re.compile(rb"GET (/[!-~]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*([!-~]*)[ \t]*\r\n", re.IGNORECASE)
_PAGE = "<!doctype html><meta charset=utf-8><title>Skillwire</title><p>{}\n"
_DONE = "You can close this page and go back to the terminal."
_UNKNOWN = "This request does not belong to a login."

Show = Callable[[LoginRequest], None]


class LoopbackLogin:
    """Shows login pages, and waits for the browser's redirect. Handles any number of logins.

    A request has no effect unless it contains the `state` of a login that is waiting.
    """

    def __init__(self, port: int, show: Show, timeout_seconds: float) -> None:
        self._port, self._show, self._timeout_seconds = port, show, timeout_seconds
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._open, self._left = 0, _IN_ALL

    @property
    def redirect_uri(self) -> str:
        return f"http://127.0.0.1:{self._port}{_PATH}"

    async def __call__(self, request: LoginRequest) -> str:
        """Return the URL to which the browser was redirected.

        Raises `LoginError` if no redirect arrives in time.
        """
        redirect = self._waiting[request.state] = asyncio.get_running_loop().create_future()
        self._left = _IN_ALL
        try:
            self._show(request)
            with anyio.fail_after(self._timeout_seconds):
                return await redirect
        except TimeoutError as error:
            message = f"no one logged in within {self._timeout_seconds:g} seconds"
            raise LoginError(request.label, message, "try again, or wait longer with `--timeout`") from error
        finally:
            del self._waiting[request.state]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the request on a connection, unless there are too many, and close the connection."""
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
        """Return the response to a request. If the request belongs to a login, resume that login."""
        request, host = _REQUEST.match(head), _HOST.search(head)
        if request is None or host is None or host[1] != f"127.0.0.1:{self._port}".encode():
            return _http(400, _UNKNOWN)
        url = urlsplit(request[1].decode())
        state = parse_qs(url.query).get("state", [])
        redirect = self._waiting.get(state[0]) if len(state) == 1 and url.path == _PATH else None
        if redirect is None:
            return _http(400, _UNKNOWN)
        if not redirect.done():
            redirect.set_result(f"{self.redirect_uri}?{url.query}")
        return _http(200, _DONE)


def open_in_browser(request: LoginRequest) -> None:
    """Open a login page in the user's browser, without waiting for it."""
    # Some browser commands return only when the browser is closed.
    threading.Thread(target=_open, args=(request.url,), daemon=True).start()


def has_browser() -> bool:
    """Return whether a graphical browser can be opened. A text browser would take over the terminal."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


@asynccontextmanager
async def browser_login(
    show: Show = open_in_browser, *, port: int = 0, timeout_seconds: float = PATIENCE
) -> AsyncGenerator[LoopbackLogin]:
    """Yield a handler that opens login pages and waits for the browser's redirect on a local port.

    `show` is called with each login page. If `port` is 0, any free port is used. Each login must finish
    within `timeout_seconds`. Raises `UsageError` if the port cannot be used.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        if sys.platform != "win32":  # on Windows, it would let other programs listen on the same port
            # Otherwise, the port stays in use for a minute after each login.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen()
        except OSError as error:
            message = f"cannot use port {port} of this machine: {error.strerror or error}"
            raise UsageError(message, hint="choose another port") from error
        handler = LoopbackLogin(listener.getsockname()[1], show, timeout_seconds)
        server = await asyncio.start_server(handler.serve, sock=listener, limit=_MAX_HEAD)
        try:
            yield handler
        finally:
            server.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await server.wait_closed()


def _open(url: str) -> None:
    with suppress(Exception):  # the user can still open the printed URL
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
