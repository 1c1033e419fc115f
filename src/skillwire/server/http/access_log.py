"""The access log: one line on stderr for each request."""

import sys
import time
from contextlib import suppress
from datetime import UTC, datetime

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillwire.safe_text import escape_invisible

_MAX_PATH = 300
"""Maximum number of characters of a path."""
_UPGRADED = 101


class AccessLog:
    """Prints a line when a response ends: time, client, method, path, status and milliseconds.

    Query strings and headers are left out, because they may contain secrets.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        status: int | None = None

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                status = message["status"]
            elif message["type"] == "websocket.accept":
                status = _UPGRADED
            elif message["type"] == "websocket.close" and status is None:
                status = 403  # what the server answers in place of an upgrade
            await send(message)

        begun, began = datetime.now(UTC), time.monotonic()
        try:
            await self._app(scope, receive, watched)
        except Exception:
            status = status or 500
            raise
        finally:
            _print(_line(scope, begun, status, (time.monotonic() - began) * 1000))


def _line(scope: Scope, begun: datetime, status: int | None, milliseconds: float) -> str:
    client = scope.get("client")
    method = scope.get("method", "WEBSOCKET")
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
    words = (
        begun.strftime("%Y-%m-%dT%H:%M:%SZ"),
        client[0] if client else "-",
        method,
        path,
        "-" if status is None else str(status),  # no status: the client left before there was a response
        f"{milliseconds:.1f}ms",
    )
    return " ".join(escape_invisible(word, _MAX_PATH).replace(" ", "%20") for word in words)


def _print(line: str) -> None:
    with suppress(OSError, ValueError):  # without a terminal, the server goes on
        sys.stderr.write(f"{line}\n")
