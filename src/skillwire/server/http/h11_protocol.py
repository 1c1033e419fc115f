"""uvicorn's HTTP protocol based on h11, for systems without httptools. h11 itself limits the request head."""

import asyncio
import time
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from skillwire.server.http.byte_budget import Share
from skillwire.server.http.connections import GuardedConfig


class BoundedH11Protocol(H11Protocol):
    """Applies the connection limits, and counts received bytes and unread responses."""

    body_bytes = 0

    def connection_made(  # pyright: ignore[reportIncompatibleMethodOverride] - like its base
        self, transport: asyncio.Transport
    ) -> None:
        self.made = time.monotonic()
        super().connection_made(transport)
        self.access_log = (
            False  # uvicorn would build a log line for each request if the root logger has a handler
        )
        config = cast("GuardedConfig", self.config)
        self._unread = Share(config.budget, transport.abort, transport.get_write_buffer_size)
        config.guard.admit(self, self.connections)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread.release()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread.take_measured()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.release()

    def data_received(self, data: bytes) -> None:
        self.body_bytes += len(data)
        super().data_received(data)
