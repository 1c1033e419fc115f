"""Turn HTTP 401 and 403 into an error that names the command to log in with.

The SDK reports both as "Server returned an error response". So the body of such an answer is replaced by a
JSON-RPC error with a mark that only this process knows. `wants_login` recognizes the mark.
"""

import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import httpx2
import orjson
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.exceptions import MCPError

from skillwire.host.reaching.errors import WantsLoginError

_CODE = -32042
_MARK = secrets.token_hex(16)
"""No server knows it. Otherwise a server could make its own text look like a message of this program."""
_LONGEST_SCOPE = 300
UNAUTHORIZED, FORBIDDEN = 401, 403


def is_refusal(response: httpx2.Response) -> bool:
    """Whether the server requires a login, or a login with more scopes."""
    if response.status_code == UNAUTHORIZED:
        return True
    return (
        response.status_code == FORBIDDEN
        and extract_field_from_www_auth(response, "error") == "insufficient_scope"
    )


def explain(response: httpx2.Response, message: str) -> None:
    """Replace the body of a 401 or 403 by `message`."""
    data = {"mark": _MARK, "scope": scope_of(response)[:_LONGEST_SCOPE]}
    error = {"code": _CODE, "message": message, "data": data}
    content = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    response.stream = _Replacement(content, cast("httpx2.AsyncByteStream", response.stream))
    for name in ("content-length", "content-encoding", "transfer-encoding"):
        response.headers.pop(name, None)
    response.headers["content-type"] = "application/json"


def scope_of(response: httpx2.Response) -> str:
    """Return the scopes that a challenge names."""
    return extract_scope_from_www_auth(response) or ""


def wants_login(error: MCPError) -> WantsLoginError | None:
    """Return the error that `explain` wrote; None for any other."""
    data: object = error.error.data
    if not isinstance(data, dict):
        return None
    fields = cast("Mapping[str, Any]", data)
    if not secrets.compare_digest(str(fields.get("mark", "")).encode(), _MARK.encode()):
        return None
    return WantsLoginError(error.message, str(fields.get("scope", "")))


class _Replacement(httpx2.AsyncByteStream):
    """A body to read instead of the one that came."""

    def __init__(self, content: bytes, stream: httpx2.AsyncByteStream) -> None:
        self._content, self._stream = content, stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content

    async def aclose(self) -> None:
        await self._stream.aclose()
