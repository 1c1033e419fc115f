"""A memory budget for partly received HTTP requests and unread responses."""

import time
from collections.abc import Callable
from typing import Self

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

UNCOUNTED_BYTES = 64 * 1024
"""Number of bytes of a body or response that are not counted, so that small requests work even if the budget
is used up.
"""
_PATIENCE, _LEAST_PROGRESS = 5.0, 16 * 1024
"""Seconds and bytes. If memory is short, a request that transfers fewer bytes in this time may be evicted."""
_BUSY = b'{"error": "the server is processing too many large requests and answers; try again later"}'


class Share:
    """The bytes of the budget that one request or connection uses, until they are released."""

    def __init__(
        self, budget: "ByteBudget", evict: Callable[[], None], measure: Callable[[], int] | None = None
    ) -> None:
        """Create a share. `evict` must end the request or connection.

        `measure` returns the bytes that are in use now. Set it if that number can shrink without a call to
        `release`.
        """
        self._budget = budget
        self.evict, self.measure = evict, measure
        self.held = self.unnoted = 0
        self.moved = 0.0

    def take(self, number: int) -> bool:
        """Reserve `number` more bytes. Return whether there was room."""
        return self._budget.take(self, number)

    def take_measured(self) -> None:
        """Reserve the bytes that `measure` returns now. If there is no room, call `evict`."""
        if self.measure is not None and not self.take(self.measure()):
            self.evict()

    def release(self) -> None:
        """Release all bytes of this share."""
        self._budget.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class ByteBudget:
    """Counts bytes up to a limit.

    At the limit, evicts the share that has made no progress for the longest time, so that a few clients that
    send or read slowly cannot lock out all others.
    """

    def __init__(self, limit: int, patience: float = _PATIENCE) -> None:
        """Create a budget. A share that made progress in the last `patience` seconds is not evicted."""
        self._limit, self._patience = limit, patience
        self._shares: dict[Share, None] = {}
        """The shares in use, ordered by last progress, the most recent last."""
        self.used = 0

    def take(self, share: Share, number: int) -> bool:
        """Count `number` more bytes for `share`. Return whether there was room."""
        if not self.has_room(number, share):
            return False
        share.held += number
        share.unnoted += number
        self.used += number
        if share not in self._shares or share.unnoted >= _LEAST_PROGRESS:  # a few bytes are not progress
            self._moved(share)
        return True

    def has_room(self, number: int, requesting: Share | None = None) -> bool:
        """Return whether there is room for `number` bytes. Evicts shares without progress if necessary."""
        while self.used + number > self._limit:
            oldest = next((each for each in self._shares if each is not requesting), None)
            if oldest is None:
                return False
            if self._has_shrunk(oldest):
                continue
            if time.monotonic() - oldest.moved < self._patience:
                return False
            self.release(oldest)
            oldest.evict()
        return True

    def release(self, share: Share) -> None:
        """Release all bytes of `share`."""
        self._shares.pop(share, None)
        self.used -= share.held
        share.held = 0

    def _has_shrunk(self, share: Share) -> bool:
        """Measure a share again. Return whether it uses noticeably less than was counted."""
        less = 0 if share.measure is None else share.held - share.measure()
        if less < _LEAST_PROGRESS:
            return False
        share.held -= less
        self.used -= less
        self._moved(share)
        return True

    def _moved(self, share: Share) -> None:
        self._shares.pop(share, None)
        self._shares[share] = None
        share.moved, share.unnoted = time.monotonic(), 0


class BudgetGuard:
    """ASGI middleware that counts large request bodies, and refuses large responses if there is no room.

    The connection counts the part of a response that the client has not read.
    """

    def __init__(self, app: ASGIApp, budget: ByteBudget) -> None:
        self._app = app
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = anyio.CancelScope()
        exchange = _Exchange(scope, receive, send, self._budget, Share(self._budget, request.cancel))
        with request, exchange.share:
            try:
                await self._app(scope, exchange.receive, exchange.send)
            except Exception:
                if not exchange.refused:  # to the application, a refused request looks like a lost connection
                    raise
        if not exchange.started and (exchange.refused or request.cancelled_caught):
            await refuse(send)


class _Exchange:
    """One request and its response, with their share of the budget."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, budget: ByteBudget, share: Share) -> None:
        self._receive, self._send, self._budget, self.share = receive, send, budget, share
        self._length = 0
        self._has_body = scope["method"] != "HEAD"  # the response to HEAD only states the length of a body
        self.refused = self.started = False

    async def receive(self) -> Message:
        message = {"type": "http.disconnect"} if self.refused else await self._receive()
        received = len(message.get("body", b""))
        self._length += received
        if self._length > UNCOUNTED_BYTES and received and not self.share.take(received):
            self.refused = True
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            length = _content_length(message) if self._has_body else 0
            self.refused = self.refused or (length > UNCOUNTED_BYTES and not self._budget.has_room(length))
            self.started = not self.refused
        if not self.refused:
            await self._send(message)


async def refuse(send: Send) -> None:
    """Send a 503 response, which says that the budget is used up."""
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(_BUSY)).encode()),
        (b"connection", b"close"),
        (b"retry-after", b"5"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": _BUSY})


def _content_length(start: Message) -> int:
    for name, value in start.get("headers", ()):
        if name.lower() == b"content-length":
            return int(value)
    return 0
