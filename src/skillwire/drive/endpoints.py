"""Accept connections from programs over WebSocket and the HTTP loop."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.drive.errors import FullError, HookFailedError, ProtocolViolationError, UnauthenticatedError
from skillwire.drive.fields import JsonFields, ShapeError
from skillwire.drive.hub import Hub
from skillwire.drive.identity import Identities
from skillwire.drive.messages import SESSION_HEADER
from skillwire.drive.session import NORMAL, Closing, Mode, Session
from skillwire.server.http.routes import JSON_TYPE, HttpError, json_response, parse_query, read_json

_DEFAULT_WAIT_MS = 25_000
_MAX_WAIT_MS = 60_000
UNAUTHENTICATED_WAIT_MS = 1_000
"""Time that a poll waits, in milliseconds, if the client has not sent the server's token yet."""
_CONNECT_BYTES = 4096
"""Maximum size in bytes of a body whose content is ignored."""
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)", re.ASCII)
_NO_BINARY = Closing(1003, "Binary frames are not supported")
_CLOSE_TIMEOUT = 1.0
"""Seconds in which a client can receive the remaining messages over a WebSocket when its session ends."""


class LoopEndpoint:
    """Serves sessions over the HTTP loop, in which clients poll for messages."""

    def __init__(self, hub: Hub, identities: Identities) -> None:
        self._hub = hub
        self._identities = identities

    async def connect(self, request: Request) -> Response:
        """Handle `POST connect`: begin a session, and return its id."""
        await read_json(request, _CONNECT_BYTES, self._hub.limits.values)
        connection = self._identities.connection(Mode.HTTP_LOOP, request)
        try:
            session = self._hub.connect(connection)
        except FullError as error:
            raise HttpError(503, str(error)) from error
        return json_response({"sessionId": session.id})

    async def send(self, request: Request) -> Response:
        """Handle `POST send`: process one message from the client.

        A message that is not allowed, or for whose paths the hub has no room, ends the session. A message
        that is malformed or too large is rejected, and the session goes on.
        """
        value = await read_json(request, self._hub.limits.body, self._hub.limits.values)
        session = self._session(request)
        try:
            await self._hub.receive(session, JsonFields.of(value, "the body").values.get("message"))
        except ShapeError as error:
            raise HttpError(400, f"Invalid MDP client message: {error}") from error
        except HookFailedError as error:
            self._hub.end_session(session, Closing(1011, str(error)))
            raise HttpError(503, str(error)) from error
        except (ProtocolViolationError, FullError) as error:
            self._hub.end_session(session, Closing(1008, str(error)))
            raise HttpError(401 if isinstance(error, UnauthenticatedError) else 400, str(error)) from error
        return json_response({"ok": True}, 202)

    async def poll(self, request: Request) -> Response:
        """Handle `GET poll`: wait for the next message to the client, and return it.

        The status is 204 if no message arrives in time, and 404 if the session has ended.
        """
        session = self._session(request)
        session.touch()
        wait = _wait_ms(parse_query(request.scope)) if session.authenticated else UNAUTHENTICATED_WAIT_MS
        message = await _next_message(session, request, wait / 1000)
        session.touch()
        if message is None and session.closing is not None:
            raise self._gone_error(session.id)
        if message is None:
            return Response(status_code=204)
        return Response(b'{"message":' + message + b"}", media_type=JSON_TYPE)

    async def disconnect(self, request: Request) -> Response:
        """Handle `POST disconnect`: end a session. An unknown or ended session is not an error."""
        if (session := self._known(request)) is not None:
            self._hub.end_session(session)
        return Response(status_code=204)

    def _session(self, request: Request) -> Session:
        if (session := self._known(request)) is None:
            raise self._gone_error(_session_id(request))
        before = session.connection
        auth = self._identities.client_auth(request.headers, before.ticket_auth)
        if auth != before.auth:
            session.connection = replace(before, auth=auth)
        return session

    def _known(self, request: Request) -> Session | None:
        """Return the session of a request, or None if it is unknown or has ended."""
        return self._hub.session(_session_id(request), Mode.HTTP_LOOP)

    def _gone_error(self, name: str) -> HttpError:
        ending = self._hub.ending(name)
        if ending is None:
            return HttpError(404, "there is no such session; begin a new one with `connect`")
        return HttpError(404, ending.reason or "the session is over", ending.code)


def _session_id(request: Request) -> str:
    return request.headers.get(SESSION_HEADER) or parse_query(request.scope).get("sessionId", "")


async def _next_message(session: Session, request: Request, seconds: float) -> bytes | None:
    """Wait for the next message to the client.

    Return None after a timeout, when the session ends, or if the client disconnects or polls again.
    """
    found: bytes | None = None

    async def cancel_on_disconnect(scope: anyio.CancelScope) -> None:
        # A client that disconnected must not consume a message that a later request would get.
        while True:
            message: Mapping[str, Any] = await request.receive()
            if message["type"] == "http.disconnect":
                scope.cancel()
                return

    with anyio.move_on_after(seconds):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_on_disconnect, tasks.cancel_scope)
            found = await session.poll()
            tasks.cancel_scope.cancel()
    return found


def _wait_ms(query: Mapping[str, str]) -> float:
    """Return how long a poll waits, in milliseconds: the parameter `waitMs`, up to a maximum.

    As in the reference implementation, a value that is not a positive number means the default.
    """
    text = query.get("waitMs", "").strip()
    if _RADIX.fullmatch(text):
        wait = min(int(text, 0), _MAX_WAIT_MS)
    else:
        wait = float(text) if _DECIMAL.fullmatch(text) else 0
    return min(wait, _MAX_WAIT_MS) if 0 < wait < math.inf else _DEFAULT_WAIT_MS


class SocketEndpoint:
    """Serves sessions over WebSockets."""

    def __init__(self, hub: Hub, identities: Identities) -> None:
        self._hub = hub
        self._identities = identities

    async def __call__(self, websocket: WebSocket) -> None:
        try:
            session = self._hub.connect(self._identities.connection(Mode.WEBSOCKET, websocket))
        except (FullError, HttpError) as error:
            status = error.status if isinstance(error, HttpError) else 503
            await websocket.send_denial_response(JSONResponse({"error": str(error)}, status))
            return
        try:
            await websocket.accept()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write, session, websocket, tasks.cancel_scope)
                tasks.start_soon(self._read, session, websocket)
                await session.ended.wait()
                # Without a time limit, a client that does not read could keep the connection open forever.
                tasks.cancel_scope.deadline = anyio.current_time() + _CLOSE_TIMEOUT
        finally:
            self._hub.end_session(session)
            session.discard()

    async def _read(self, session: Session, websocket: WebSocket) -> None:
        self._hub.end_session(session, await self._read_until_closed(session, websocket))

    async def _read_until_closed(self, session: Session, websocket: WebSocket) -> Closing:
        """Process messages until the client disconnects or sends an invalid message.

        Return the code and reason with which the session ends.
        """
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return NORMAL
            if (text := message.get("text")) is None:
                return _NO_BINARY
            try:
                value = load_bounded_json(text.encode(), max_values=self._hub.limits.values)
                await self._hub.receive(session, value)
            except orjson.JSONDecodeError as error:
                return Closing(1008, f"not JSON: {error}")
            except HookFailedError as error:
                return Closing(1011, str(error))
            except (JsonTooLargeError, ShapeError, ProtocolViolationError, FullError) as error:
                return Closing(1008, str(error))

    async def _write(self, session: Session, websocket: WebSocket, scope: anyio.CancelScope) -> None:
        """Send queued messages. When the session ends, close the WebSocket with the reason.

        At the end, or if the client is gone, cancel `scope`.
        """
        try:
            while (message := await session.outbox.take()) is not None:
                await websocket.send_text(message.decode())
            closing = session.closing or NORMAL
            await websocket.close(closing.code, closing.short_reason())
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client is gone, and `_read` ends the session
        scope.cancel()
