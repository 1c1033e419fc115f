"""HTTP as uvicorn speaks it with httptools, and bounds on what a client may send.

Most of what is bounded here comes before anyone knows who the client is.
"""

import asyncio
import time
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from skillwire.server.http.byte_budget import Share
from skillwire.server.http.connections import GuardedConfig

MAX_HEAD = 64 * 1024
"""Bytes of a request that are no body: its line and headers, later the lines of chunks and trailers."""
MAX_HEADERS = 128
"""Headers of a request. Each costs far more memory than its bytes."""
MAX_PIPELINED = 64
"""Requests that are sent before the one before them is answered."""
MAX_WAITING = 256 * 1024
"""Bytes of all these requests together. Nobody has looked at them yet, so the budget does not count them."""
_PER_REQUEST, _PER_HEADER = 2048, 128
"""Bytes of memory that a request and a header take besides what was sent."""
_CHUNK_LINE = 16
"""Bytes that the line of a chunk may have without being counted."""
_MAX_REST = 16 * 1024 * 1024
"""Bytes of the rest of a body that are read and thrown away after the answer. A client that is still sending
would otherwise not see it."""
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class _RefusedError(Exception):
    """Raised inside the parser, so that it reads no further."""


class BoundedHttptoolsProtocol(HttpToolsProtocol):
    """Bounds everything that the parser would otherwise collect for as long as a client sends it."""

    body_bytes = 0
    """Of all bodies so far."""
    _outside = 0
    """Bytes of the current request that are no body."""
    _in_head = True
    _refused = False
    _running: RequestResponseCycle | None = None
    _rest = 0
    _waiting_bytes = 0

    def connection_made(  # pyright: ignore[reportIncompatibleMethodOverride] - as its base does
        self, transport: asyncio.Transport
    ) -> None:
        self.made = time.monotonic()
        self._waiting: dict[RequestResponseCycle, int] = {}
        """Requests behind the one that is being answered, and what each takes."""
        super().connection_made(transport)
        self.access_log = (
            False  # uvicorn would build a line for each request if the root logger has a handler
        )
        config = cast("GuardedConfig", self.config)
        self._unread = Share(config.budget, transport.abort, transport.get_write_buffer_size)
        config.guard.admit(self, self.connections)

    def connection_lost(self, exc: Exception | None) -> None:
        # uvicorn tells only the latest request. One before it would wait for ever.
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
        if self.pipeline:  # their size is bounded, and only a reader notices that the client leaves
            heads = sum(len(name) + len(value) + _PER_HEADER for name, value in self.headers)
            self._wait(_PER_REQUEST + len(self.url) + heads)
            self.flow.resume_reading()
        if self.parser is not None and not self.parser.should_upgrade():
            self.headers = []  # trailers must not become headers of a request that was let in already

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
            # The rest of a body that was refused has come: the connection is idle only now.
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
            # It was answered instead of asked for its body: what comes next may be that, or a request.
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        if self._running is not None and not self._running.response_complete:
            self.transport.abort()  # an error in the middle of another answer would pass for part of it
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
        """Count bytes of a request that waits for the one before it."""
        self._waiting[self.cycle] = self._waiting.get(self.cycle, 0) + size
        self._waiting_bytes += size
        if self._waiting_bytes > MAX_WAITING:
            self._refuse()

    def _refuse(self) -> None:
        self._refused = True
        raise _RefusedError
