"""What becomes of 401 and 403: the request that got it fails with a sentence that says what to do.

The SDK makes "Server returned an error response" of them. So such an answer is replaced by an error of the
protocol that only this process can have written, and that error is recognized where the request was sent.
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
"""No server can know it: else one could put sentences of its own in the place of ours."""
_LONGEST_SCOPE = 300
UNAUTHORIZED, FORBIDDEN = 401, 403


def is_refusal(response: httpx2.Response) -> bool:
    """Whether an answer says that a login is needed, or one that is good for more."""
    if response.status_code == UNAUTHORIZED:
        return True
    return (
        response.status_code == FORBIDDEN
        and extract_field_from_www_auth(response, "error") == "insufficient_scope"
    )


def explain(response: httpx2.Response, message: str) -> None:
    """Put a sentence of ours in the place of what a server says beside 401 or 403."""
    scope = extract_scope_from_www_auth(response) or ""
    data = {"mark": _MARK, "scope": scope[:_LONGEST_SCOPE]}
    error = {"code": _CODE, "message": message, "data": data}
    content = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    response.stream = _Instead(content, cast("httpx2.AsyncByteStream", response.stream))
    for name in ("content-length", "content-encoding", "transfer-encoding"):
        response.headers.pop(name, None)
    response.headers["content-type"] = "application/json"


def scope_of(response: httpx2.Response) -> str:
    return extract_scope_from_www_auth(response) or ""


def wants_login(error: MCPError) -> WantsLoginError | None:
    """Return what an error means if it is one that `explain` wrote."""
    data: object = error.error.data
    if not isinstance(data, dict):
        return None
    fields = cast("Mapping[str, Any]", data)
    if not secrets.compare_digest(str(fields.get("mark", "")).encode(), _MARK.encode()):
        return None
    return WantsLoginError(error.message, str(fields.get("scope", "")))


class _Instead(httpx2.AsyncByteStream):
    """Other bytes than those that came, which are not read."""

    def __init__(self, content: bytes, stream: httpx2.AsyncByteStream) -> None:
        self._content, self._stream = content, stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content

    async def aclose(self) -> None:
        await self._stream.aclose()
