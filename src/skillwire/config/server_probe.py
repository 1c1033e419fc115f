"""Ask whether there is an MCP server at a URL that the user did not write in full."""

import json
import time
from collections.abc import Iterator
from typing import Any, cast

import httpx2

from skillwire import __version__
from skillwire.errors import SourceError
from skillwire.sources.web.address import WebAddress

_SECONDS = 10.0
"""Seconds for the whole answer."""
_STEP_SECONDS = 5.0
"""Seconds for the connection, and for each part of the answer."""
_MAX_BYTES = 256 * 1024
_VERSION = "2025-11-25"
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": _VERSION,
        "capabilities": {},
        "clientInfo": {"name": "skillwire", "version": __version__},
    },
}
_ACCEPT = {"Accept": "application/json, text/event-stream", "Accept-Encoding": "identity"}
_UNAUTHORIZED = 401
_SESSION = "mcp-session-id"


def is_mcp_server(url: str, *, may_need_token: bool = False) -> bool:
    """Return whether a server at `url` answers `initialize` with JSON-RPC.

    With `may_need_token`, also return True if it answers that it requires a token. Sends no token, no login
    and no cookie, and follows no redirect.
    """
    try:
        address = WebAddress.parse(url)
    except SourceError:
        return False  # reported when the address is opened
    try:
        with (
            httpx2.Client(trust_env=not address.loopback, timeout=_STEP_SECONDS) as client,
            client.stream("POST", address.url, json=_INITIALIZE, headers=_ACCEPT) as response,
        ):
            if may_need_token and response.status_code == _UNAUTHORIZED:
                return True
            answered = any(map(_is_answer, _messages(response)))
            if answered and (session := response.headers.get(_SESSION)):
                client.delete(address.url, headers={_SESSION: session, "mcp-protocol-version": _VERSION})
            return answered
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError):
        return False


def _messages(response: httpx2.Response) -> Iterator[str]:
    """Yield the texts in an answer that may be messages: each event of a stream, then the whole body."""
    received, yielded = bytearray(), 0
    end = time.monotonic() + _SECONDS
    for piece in response.iter_raw():
        received += piece
        if len(received) > _MAX_BYTES or time.monotonic() > end:
            return
        *lines, _ = received.split(b"\n")
        for line in lines[yielded:]:
            if line.startswith(b"data:"):
                yield line.removeprefix(b"data:").decode(errors="replace")
        yielded = len(lines)
    yield received.decode(errors="replace")


def _is_answer(text: str) -> bool:
    """Return whether a text is the JSON-RPC answer to `initialize`."""
    try:
        message: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict):
        return False
    answer = cast("dict[str, object]", message)
    return answer.get("jsonrpc") == "2.0" and any(
        isinstance(answer.get(key), dict) for key in ("result", "error")
    )
