"""HTTP as uvicorn speaks it with h11, where httptools is missing. h11 bounds heads by itself."""

import asyncio
import time
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from skillwire.server.connections import GuardedConfig


class WatchedHttp(H11Protocol):
    """Asks whether there is room, and counts what comes."""

    body_bytes = 0

    def connection_made(  # pyright: ignore[reportIncompatibleMethodOverride] - as its base does
        self, transport: asyncio.Transport
    ) -> None:
        self.made = time.monotonic()
        super().connection_made(transport)
        cast("GuardedConfig", self.config).guard.admit(self, self.connections)

    def data_received(self, data: bytes) -> None:
        self.body_bytes += len(data)
        super().data_received(data)
