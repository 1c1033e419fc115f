"""uvicorn's HTTP protocol based on httptools, with limits on the data that a client sends.

Most of these limits apply before the client is authenticated.
"""

import asyncio
import time
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from skillwire.server.http.byte_budget import Share
from skillwire.server.http.connections import GuardedConfig

MAX_HEAD = 64 * 1024
"""Maximum size of a request outside its body, in bytes: request line, headers, chunk lines and trailers."""
MAX_HEADERS = 128
"""Maximum number of headers in a request. Each takes far more memory than its bytes."""
MAX_PIPELINED = 64
"""Maximum number of requests that wait for the response to an earlier request on the same connection."""
MAX_WAITING = 256 * 1024
"""Maximum size of these waiting requests together, in bytes. The byte budget does not count them yet."""
_PER_REQUEST, _PER_HEADER = 2048, 128
"""Memory in bytes that a request and a header take besides the bytes sent."""
_CHUNK_LINE = 16
"""Number of bytes of a chunk line that are not counted."""
_MAX_REST = 16 * 1024 * 1024
"""Maximum number of bytes of a body that are read and discarded after the response.

Otherwise, a client that is still sending would not see the response.
"""
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class _RefusedError(Exception):
    """Raised inside the parser to stop it."""


class BoundedHttptoolsProtocol(HttpToolsProtocol):
    """Applies the connection limits, and limits all data that the parser would otherwise collect."""

    body_bytes = 0
    """Number of bytes in all bodies so far."""
    _outside = 0
    """Number of bytes of the current request outside its body."""
    _in_head = True
    _refused = False
    _running: RequestResponseCycle | None = None
    _rest = 0
    _waiting_bytes = 0

    def connection_made(  # pyright: ignore[reportIncompatibleMethodOverride] - like its base
        self, transport: asyncio.Transport
    ) -> None:
        self.made = time.monotonic()
        self._waiting: dict[RequestResponseCycle, int] = {}
        """Requests that wait for the current request, and the memory that each takes."""
        super().connection_made(transport)
        self.access_log = (
            False  # uvicorn would build a log line for each request if the root logger has a handler
        )
        config = cast("GuardedConfig", self.config)
        self._unread = Share(config.budget, transport.abort, transport.get_write_buffer_size)
        config.guard.admit(self, self.connections)

    def connection_lost(self, exc: Exception | None) -> None:
        # uvicorn notifies only the latest request. Earlier requests would wait forever.
        earlier = [cycle for cycle, _ in self.pipeline]
        for cycle in earlier if self._running is None else [self._running, *earlier]:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self._unread.release()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._outside += len(data)
        super().data_received(data)
        too_much = self._outside > MAX_HEAD or len(self.headers or ()) > MAX_HEADERS
        if too_much and not self.transport.is_closing():
            self.send_400_response("")

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.headers) > MAX_HEADERS or len(self.pipeline) >= MAX_PIPELINED:
            self._refuse()
        super().on_headers_complete()
        if self.pipeline:  # keep reading to notice a disconnect; the size of waiting requests is limited
            heads = sum(len(name) + len(value) + _PER_HEADER for name, value in self.headers)
            self._wait(_PER_REQUEST + len(self.url) + heads)
            self.flow.resume_reading()
        if self.parser is not None and not self.parser.should_upgrade():
            self.headers = []  # trailers must not become headers of a request that was already admitted

    def on_body(self, body: bytes) -> None:
        self.body_bytes += len(body)
        self._outside = max(self._outside - len(body) - _CHUNK_LINE, 0)
        super().on_body(body)
        if self._waiting and self.cycle in self._waiting:
            self._wait(len(body))
        if self._running is not None and self._running.response_complete:
            self._rest += len(body)
            if self._rest > _MAX_REST:
                self.transport.close()

    def on_message_complete(self) -> None:
        self._in_head, self._outside, self._rest = True, 0, 0
        super().on_message_complete()
        answered = self._running
        if answered is self.cycle and answered is not None and answered.response_complete:
            # The rest of a refused body has arrived, so the connection is idle only now.
            answered.more_body = False
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread.take_measured()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.release()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.more_body and self.expect_100_continue and not self.transport.is_closing():
            # The request was answered without `100 Continue`, so the next bytes may be the body or a new
            # request.
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        if self._running is not None and not self._running.response_complete:
            self.transport.abort()  # an error inside another response would look like part of that response
        elif self._refused or not msg:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        if self._waiting:
            self._waiting_bytes -= self._waiting.pop(cycle, 0)
        super()._start_asgi_task(cycle, app)

    def _wait(self, size: int) -> None:
        """Count bytes of a request that waits for the previous request."""
        self._waiting[self.cycle] = self._waiting.get(self.cycle, 0) + size
        self._waiting_bytes += size
        if self._waiting_bytes > MAX_WAITING:
            self._refuse()

    def _refuse(self) -> None:
        self._refused = True
        raise _RefusedError
