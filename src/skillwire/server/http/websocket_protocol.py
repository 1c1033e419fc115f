"""WebSockets as uvicorn speaks them, with bounds on what is half sent, and on what is not read."""

import time
from typing import Any, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from skillwire.server.http.byte_budget import UNCOUNTED_BYTES, Share
from skillwire.server.http.connections import GuardedConfig

MAX_UNREAD = 2 * 1024 * 1024
"""Bytes that wait for a client which goes on to ask: more than one message that it reads slowly."""

CLOSE_SECONDS = 2.0
"""For the client's answer to a close frame. uvicorn waits for ten, in which a connection is of no use."""
MAX_FRAMES = 1024
"""Frames of one message. Each takes far more memory than its bytes."""


class BoundedWebSocketProtocol(WebSocketsSansIOProtocol):
    """Counts half messages and unread answers. Hangs up on a client that sends pings and reads no pongs."""

    _half = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.made = time.monotonic()
        self.close_timeout = CLOSE_SECONDS
        budget = cast("GuardedConfig", self.config).budget
        self._coming = Share(budget, transport.abort)
        self._unread = Share(budget, transport.abort, transport.get_write_buffer_size)

    def connection_lost(self, exc: Exception | None) -> None:
        self._coming.release()
        self._unread.release()
        self.connections.add(self)  # the base removes it, also if it had to make room and is not there
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._half += len(data)
        if self._half > UNCOUNTED_BYTES and not self._coming.take(len(data)):
            self.transport.abort()
            return
        super().data_received(data)
        if not self.frames and len(self.conn.reader.buffer) <= UNCOUNTED_BYTES:
            # Nothing is half sent but the beginning of a frame: the rest were pings and the like.
            self._half = len(self.conn.reader.buffer)
            self._coming.release()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) < MAX_FRAMES:
            super().handle_cont(event)
        else:
            self.transport.abort()

    def send_receive_event_to_app(self) -> None:
        super().send_receive_event_to_app()
        self._half = 0
        self._coming.release()

    def handle_ping(self) -> None:
        if self.transport.get_write_buffer_size() > MAX_UNREAD:
            self.transport.abort()
        else:
            super().handle_ping()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread.take_measured()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.release()
