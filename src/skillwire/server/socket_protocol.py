"""WebSockets as uvicorn speaks them, with a bound on answers that a client asks for and does not read."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

MAX_UNREAD = 2 * 1024 * 1024
"""Bytes that wait for a client which goes on to ask: more than one message that it reads slowly."""


class BoundedSocket(WebSocketsSansIOProtocol):
    """Hangs up on a client that sends pings and reads no pongs: nothing else holds these back."""

    def handle_ping(self) -> None:
        if self.transport.get_write_buffer_size() > MAX_UNREAD:
            self.transport.abort()
        else:
            super().handle_ping()
