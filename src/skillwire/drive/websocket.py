"""Clients on a WebSocket: text frames in, text frames out, and how it ends."""

import anyio
import orjson
from starlette.responses import JSONResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from skillwire.drive.errors import FullError, RefusedError
from skillwire.drive.hub import Hub
from skillwire.drive.identity import Identities
from skillwire.drive.reading import ShapeError
from skillwire.drive.session import NORMAL, Closing, Mode, Session
from skillwire.drive.web import HttpError
from skillwire.model.json_text import JsonTooLargeError, load_bounded_json

_NO_BINARY = Closing(1003, "Binary frames are not supported")
_LAST_WORDS = 1.0
"""Seconds that a client has to take what is left for it when its session ends."""


class SocketEndpoint:
    """Carries sessions over WebSockets."""

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
                await session.over.wait()
                # One that does not take what is left for it would keep the connection for ever.
                tasks.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS
        finally:
            self._hub.leave(session)
            session.discard()

    async def _read(self, session: Session, websocket: WebSocket) -> None:
        self._hub.leave(session, await self._read_until_the_end(session, websocket))

    async def _read_until_the_end(self, session: Session, websocket: WebSocket) -> Closing:
        """Take messages until the client goes or says something wrong; return how it ends."""
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
            except (JsonTooLargeError, ShapeError, RefusedError, FullError) as error:
                return Closing(1008, str(error))

    async def _write(self, session: Session, websocket: WebSocket, scope: anyio.CancelScope) -> None:
        """Send what is posted; at the end of the session, say why."""
        try:
            while (message := await session.outbox.take()) is not None:
                await websocket.send_text(message.decode())
            closing = session.closing or NORMAL
            await websocket.close(closing.code, closing.short_reason())
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client is gone already, and the reader knows
        scope.cancel()
