"""HTTP as uvicorn speaks it, with a bound on what a client may say before anybody knows who it is."""

from importlib.util import find_spec
from typing import Any

MAX_HEAD = 64 * 1024
"""Bytes of a request's line and headers together."""
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def http_protocol() -> Any:
    """Return what `uvicorn.Config(http=…)` takes: the fast parser where it is to be had, bounded."""
    if find_spec("httptools") is None:
        return "h11"  # which is bounded by itself
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: PLC0415 - an optional package

    class Bounded(HttpToolsProtocol):
        """Hangs up on a client whose headers do not end: the parser would collect them for ever."""

        _head = 0

        def data_received(self, data: bytes) -> None:
            self._head += len(data)
            super().data_received(data)
            if self._head > MAX_HEAD and not self.transport.is_closing():
                self.transport.write(_TOO_LARGE)
                self.transport.close()

        def on_headers_complete(self) -> None:
            self._head = -(1 << 62)  # what follows is a body, and has its own bound
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._head = 0
            super().on_message_complete()

    return Bounded
