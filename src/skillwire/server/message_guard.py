"""Only JSON-RPC messages reach the SDK over HTTP. Everything else is answered here, with a clear error."""

from dataclasses import dataclass

import mcp_types as types
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillwire.server.inbound import Refusal, read_message, refusal
from skillwire.server.lines import MAX_LINE


class MessageGuard:
    """Reads the body of each POST to `path`, within bounds, before the SDK does."""

    def __init__(self, app: ASGIApp, path: str, limit: int = MAX_LINE) -> None:
        self._app = app
        self._path = path
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        body = await self._body(scope, receive)
        if body is None:
            return
        if isinstance(body, _Refused):
            await body.response()(scope, receive, send)
        else:
            await self._app(scope, _replay(body, receive), send)

    async def _body(self, scope: Scope, receive: Receive) -> "bytes | _Refused | None":
        """Return the whole body, or why it is refused; None if the client left before its end."""
        headers = Headers(scope=scope)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _Refused(415, refusal(types.INVALID_REQUEST, "the content type is not `application/json`"))
        declared = headers.get("content-length", "")
        total = int(declared) if declared.isascii() and declared.isdigit() else 0
        body = bytearray()
        while max(total, len(body)) <= self._limit:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) <= self._limit and not message.get("more_body", False):
                whole = bytes(body)
                found = read_message(whole)
                return _Refused(400, found) if isinstance(found, Refusal) else whole
        return _Refused(413, refusal(types.INVALID_REQUEST, f"a message may have {self._limit:,} bytes"))


@dataclass(frozen=True, slots=True)
class _Refused:
    status: int
    refusal: Refusal

    def response(self) -> Response:
        body = self.refusal.answer.model_dump_json(by_alias=True, exclude_unset=True)
        return Response(body, status_code=self.status, media_type="application/json")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives out `body` first, once."""
    waiting = [body]

    async def replayed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replayed
