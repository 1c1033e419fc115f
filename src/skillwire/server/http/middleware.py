"""ASGI middleware: guards for host, origin and token, message checks, session limit, and closing streams."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import anyio
import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillwire.core.http_body import BodyTooLargeError
from skillwire.protocol.bounds import MAX_MESSAGE_BYTES
from skillwire.server.build import TOKEN_PRESENTED
from skillwire.server.http.address import HostPolicy
from skillwire.server.http.credentials import bearer_token, is_same
from skillwire.server.http.routes import authorize_none, read_body
from skillwire.server.jsonrpc import Refusal, read_message, refusal

HEALTH_PATH = "/healthz"
_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
_NOT_FOUND = 404
"""Status of a request whose session has ended."""


class HostGuard:
    """Refuses requests whose `Host` or `Origin` header the policy does not accept, with status 421 or 403."""

    def __init__(self, app: ASGIApp, policy: HostPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        hosts, origins = _all(scope, b"host"), _all(scope, b"origin")
        host = hosts[0] if len(hosts) == 1 else None
        if not self._policy.accepts_host(host):
            response = _error_response(
                421, "this server does not accept that Host; allow it with `--allow-host`"
            )
        elif len(origins) > 1 or not self._policy.accepts_origin(origins[0] if origins else None, host):
            response = _error_response(
                403, "pages of that Origin may not call this server; allow it with `--allow-origin`"
            )
        else:
            await self._app(scope, receive, send)
            return
        await response(scope, receive, send)


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


class TokenGuard:
    """Refuses requests without the bearer token, except requests for the health check and `open_paths`.

    `is_authorized` decides whether a request without the token is authorized in another way, such as by a
    session.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        *,
        open_paths: Collection[str] = (),
        is_authorized: Callable[[Scope], bool] = authorize_none,
    ) -> None:
        self._app = app
        self._token = token
        self._open_paths = frozenset({HEALTH_PATH, *open_paths})
        self._is_authorized = is_authorized

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or self._is_allowed(scope):
            await self._app(scope, receive, send)
            return
        has_header = "authorization" in Headers(scope=scope)
        response = _error_response(
            401, "the token is wrong" if has_header else "this server requires a bearer token"
        )
        response.headers["www-authenticate"] = 'Bearer realm="skillwire"'
        await response(scope, receive, send)

    def _is_allowed(self, scope: Scope) -> bool:
        if self._has_valid_token(scope):
            scope[TOKEN_PRESENTED] = True
            return True
        is_open = scope["type"] == "http" and scope["path"] in self._open_paths
        return is_open or self._is_authorized(scope)

    def _has_valid_token(self, scope: Scope) -> bool:
        token = bearer_token(Headers(scope=scope))
        return token is not None and is_same(token, self._token)


def _error_response(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=status)


class MessageGuard:
    """Reads and checks the body of each POST request to `path`, within limits, before the SDK does."""

    def __init__(self, app: ASGIApp, path: str, limit: int = MAX_MESSAGE_BYTES) -> None:
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
        """Return the whole body, or the refusal to send.

        Return None if the client disconnected before the end of the body.
        """
        headers = Headers(scope=scope)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _Refused(
                415, refusal(types.INVALID_REQUEST, "the content type must be `application/json`")
            )
        try:
            body = await read_body(scope, receive, self._limit)
        except BodyTooLargeError:
            return _Refused(
                413, refusal(types.INVALID_REQUEST, f"a message may have at most {self._limit:,} bytes")
            )
        except ClientDisconnect:
            return None
        message = read_message(body)
        return _Refused(400, message) if isinstance(message, Refusal) else body


@dataclass(frozen=True, slots=True)
class _Refused:
    status: int
    refusal: Refusal

    def response(self) -> Response:
        body = self.refusal.answer.model_dump_json(by_alias=True, exclude_unset=True)
        return Response(body, status_code=self.status, media_type="application/json")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` function that first returns `body`, then passes calls on."""
    waiting = [body]

    async def replayed() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replayed


class SessionLimit:
    """Limits the number of sessions at `path` to `limit`.

    A new session ends the session that has been idle longest. The SDK can only refuse new sessions, so
    clients that disconnect without ending their session would lock out all others until these sessions
    expire. This middleware learns the session ids from responses. A session is in use while one of its
    requests is running, such as an event stream.
    """

    def __init__(self, app: ASGIApp, path: str, limit: int) -> None:
        self._app, self._path, self._limit = app, path, limit
        self._requests: dict[str, int] = {}
        """Number of running requests of each session, in the order of last use."""
        self._unused: dict[str, None] = {}
        """Sessions without a request since they were opened. They are ended first."""
        self._opening = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if headers.get(_VERSION) not in {None, *HANDSHAKE_PROTOCOL_VERSIONS}:
            # For other protocol versions, the SDK neither opens nor ends sessions.
            await self._app(scope, receive, send)
            return
        identity = headers.get(_SESSION)
        if identity in self._requests:
            await self._use(identity, scope, receive, send)
        elif identity is None and scope["method"] == "POST":
            await self._open(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _use(self, identity: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request in a session, which is marked as in use until the request ends."""
        over = False

        async def watched(message: Message) -> None:
            nonlocal over
            if message["type"] == "http.response.start":
                ended = scope["method"] == "DELETE" and message["status"] < 400
                over = ended or message["status"] == _NOT_FOUND
            await send(message)

        self._unused.pop(identity, None)
        self._requests[identity] = self._requests.pop(identity) + 1
        try:
            await self._app(scope, receive, watched)
        finally:
            running = self._requests.pop(identity, None)
            if running is not None and not over:
                self._requests[identity] = running - 1

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that may open a session. The response contains the session id."""
        if len(self._requests) + self._opening >= self._limit and not await self._make_room(scope):
            response = JSONResponse({"error": "too many sessions are in use; try again later"}, 503)
            await response(scope, receive, send)
            return

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                identity = Headers(raw=message["headers"]).get(_SESSION)
                if identity is not None and message["status"] < 400:
                    self._requests[identity] = 0
                    self._unused[identity] = None
            await send(message)

        self._opening += 1
        try:
            await self._app(scope, receive, watched)
        finally:
            self._opening -= 1

    async def _make_room(self, scope: Scope) -> bool:
        """End one idle session: the oldest one that was never used, or else the one idle longest.

        Return False if every session is in use.
        """
        idle = next(iter(self._unused), None)
        if idle is None:
            idle = next((identity for identity, running in self._requests.items() if not running), None)
        if idle is None:
            return False
        self._unused.pop(idle, None)
        del self._requests[idle]
        headers = [
            (b"host", b"localhost"),
            (b"accept", b"application/json"),
            (_SESSION.encode(), idle.encode()),
        ]
        await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing, _ignored)
        return True


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignored(_message: Message) -> None:
    """Discard a response for which no client waits."""


class StreamCloser:
    """Tracks open event streams, and closes them when the server stops.

    Otherwise, open streams would delay the end of the server.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._streams: set[anyio.CancelScope] = set()
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        complete = False

        async def watched(message: Message) -> None:
            nonlocal complete
            if message["type"] == "http.response.start" and _is_stream(message):
                self._streams.add(request)
                if self._closing:
                    request.cancel()
            complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as request:
            try:
                await self._app(scope, receive, watched)
            finally:
                self._streams.discard(request)
        if (
            request.cancelled_caught and not complete
        ):  # the client sees the end of the stream, not a broken connection
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        """Close every stream, and every stream that opens later."""
        self._closing = True
        for request in self._streams:
            request.cancel()


def _is_stream(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/event-stream")
