"""Clients that cannot keep a connection open: they fetch what they are asked, and post what they say."""

from collections.abc import Mapping
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import Response

from skillwire.drive.errors import FullError, RefusedError
from skillwire.drive.hub import Hub
from skillwire.drive.identity import Identities
from skillwire.drive.loop_names import SESSION_HEADER
from skillwire.drive.reading import Fields, ShapeError
from skillwire.drive.session import Closing, Connection, Mode, Session
from skillwire.drive.web import JSON_TYPE, HttpError, json_response, queries, read_json

_DEFAULT_WAIT_MS = 25_000
_MAX_WAIT_MS = 60_000
_DIGITS = 9


class LoopEndpoint:
    """Carries sessions over single requests."""

    def __init__(self, hub: Hub, identities: Identities) -> None:
        self._hub = hub
        self._identities = identities

    async def connect(self, request: Request) -> Response:
        """Answer `POST connect`: begin a session."""
        await read_json(request, self._hub.limits.body, self._hub.limits.values)
        auth = self._identities.of(request)
        try:
            session = self._hub.connect(Connection(Mode.HTTP_LOOP, request.url.scheme == "https", auth))
        except FullError as error:
            raise HttpError(503, str(error)) from error
        return json_response({"sessionId": session.id})

    async def send(self, request: Request) -> Response:
        """Answer `POST send`: take one message of the client."""
        value = await read_json(request, self._hub.limits.body, self._hub.limits.values)
        session = self._session(request)
        try:
            await self._hub.receive(session, Fields.of(value, "the body").values.get("message"))
        except ShapeError as error:
            raise HttpError(400, f"Invalid MDP client message: {error}") from error
        except (RefusedError, FullError) as error:
            self._hub.leave(session, Closing(1008, str(error)))
            raise HttpError(400, str(error)) from error
        return json_response({"ok": True}, 202)

    async def poll(self, request: Request) -> Response:
        """Answer `GET poll`: wait for the next message to the client, and give it out."""
        session = self._session(request)
        session.touch()
        wait = _wait_ms(queries(request.scope))
        message = await _next_message(session, request, wait / 1000)
        session.touch()
        if message is None and session.closing is not None:
            raise self._over(session.id)
        if message is None:
            return Response(status_code=204)
        return Response(b'{"message":' + message + b"}", media_type=JSON_TYPE)

    async def disconnect(self, request: Request) -> Response:
        """Answer `POST disconnect`: end a session."""
        self._hub.leave(self._session(request))
        return Response(status_code=204)

    def _session(self, request: Request) -> Session:
        name = request.headers.get(SESSION_HEADER) or queries(request.scope).get("sessionId", "")
        if (session := self._hub.session(name, Mode.HTTP_LOOP)) is None:
            raise self._over(name)
        return session

    def _over(self, name: str) -> HttpError:
        ending = self._hub.ending(name)
        if ending is None:
            return HttpError(404, "there is no such session; begin another with `connect`")
        return HttpError(404, ending.reason or "the session is over", ending.code)


async def _next_message(session: Session, request: Request, seconds: float) -> bytes | None:
    """Return the next message; None when the time is up, the session over, or whoever asked gone."""
    if (found := session.outbox.take_now()) is not None:
        return found

    async def hang_up_with_the_client(scope: anyio.CancelScope) -> None:
        # Whoever hung up must not take a message along that a later request would have got.
        while True:
            message: Mapping[str, Any] = await request.receive()
            if message["type"] == "http.disconnect":
                scope.cancel()
                return

    with anyio.move_on_after(seconds):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hang_up_with_the_client, tasks.cancel_scope)
            found = await session.outbox.take()
            tasks.cancel_scope.cancel()
    return found


def _wait_ms(asked: Mapping[str, str]) -> int:
    text = asked.get("waitMs", "")
    if not text:
        return _DEFAULT_WAIT_MS
    if not text.isascii() or not text.isdigit():
        raise HttpError(400, "`waitMs` must be a whole number of milliseconds")
    # Python reads no number of thousands of digits.
    return _MAX_WAIT_MS if len(text) > _DIGITS else min(int(text), _MAX_WAIT_MS)
