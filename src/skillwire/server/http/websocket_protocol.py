"""uvicorn's WebSocket protocol, with limits on partly received messages and unread responses."""

import time
from typing import Any, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from skillwire.server.http.byte_budget import UNCOUNTED_BYTES, Share
from skillwire.server.http.connections import GuardedConfig

MAX_UNREAD = 2 * 1024 * 1024
"""Number of unread bytes above which a client that sends a ping is disconnected.

Leaves room for one message that is read slowly.
"""

CLOSE_SECONDS = 2.0
"""Seconds to wait for the client's response to a close frame. uvicorn would wait for ten."""
MAX_FRAMES = 1024
"""Maximum number of frames in one message. Each takes far more memory than its bytes."""


class BoundedWebSocketProtocol(WebSocketsSansIOProtocol):
    """Counts partly received messages and unread responses towards the memory budget.

    Disconnects clients that exceed the budget, send a message in too many frames, or send pings but read
    nothing.
    """

    _partial = 0
    """Number of bytes received of the current message."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.made = time.monotonic()
        self.close_timeout = CLOSE_SECONDS
        budget = cast("GuardedConfig", self.config).budget
        self._incoming = Share(budget, transport.abort)
        self._unread = Share(budget, transport.abort, transport.get_write_buffer_size)

    def connection_lost(self, exc: Exception | None) -> None:
        self._incoming.release()
        self._unread.release()
        self.connections.add(
            self
        )  # the base class removes the connection, and would fail if it was already evicted
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._partial += len(data)
        if self._partial > UNCOUNTED_BYTES and not self._incoming.take(len(data)):
            self.transport.abort()
            return
        super().data_received(data)
        if not self.frames and len(self.conn.reader.buffer) <= UNCOUNTED_BYTES:
            # Only the start of a frame is buffered; everything before it was control frames.
            self._partial = len(self.conn.reader.buffer)
            self._incoming.release()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) < MAX_FRAMES:
            super().handle_cont(event)
        else:
            self.transport.abort()

    def send_receive_event_to_app(self) -> None:
        super().send_receive_event_to_app()
        self._partial = 0
        self._incoming.release()

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
