"""One budget of memory for what HTTP clients have half sent, or not yet read."""

import time
from collections.abc import Callable
from typing import Self

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

UNCOUNTED_BYTES = 64 * 1024
"""Bytes of a body or an answer that are not counted. Ordinary requests work though the budget is used up."""
_PATIENCE, _LEAST_PROGRESS = 5.0, 16 * 1024
"""Seconds in which a request has to move by at least this many bytes, when memory is short."""
_BUSY = b'{"error": "the server holds too many large requests and answers; try again later"}'


class Share:
    """What one request or connection holds of the budget, until it is released."""

    def __init__(
        self, budget: "ByteBudget", evict: Callable[[], None], measure: Callable[[], int] | None = None
    ) -> None:
        """`evict` must end the request. `measure` tells what is held now, where that shrinks by itself."""
        self._budget = budget
        self.evict, self.measure = evict, measure
        self.held = self.unnoted = 0
        self.moved = 0.0

    def take(self, number: int) -> bool:
        """Hold `number` bytes more. Return whether there was room for them."""
        return self._budget.take(self, number)

    def take_measured(self) -> None:
        """Hold what is measured now. If there is no room for it, end the request."""
        if self.measure is not None and not self.take(self.measure()):
            self.evict()

    def release(self) -> None:
        """Give back all that is held."""
        self._budget.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class ByteBudget:
    """Counts bytes up to a limit. Under pressure, the share that has not moved for longest has to go.

    So a few clients that send or read slowly cannot lock out others.
    """

    def __init__(self, limit: int, patience: float = _PATIENCE) -> None:
        """A share that moved within the last `patience` seconds is safe."""
        self._limit, self._patience = limit, patience
        self._shares: dict[Share, None] = {}
        """The one that moved last comes last."""
        self.used = 0

    def take(self, share: Share, number: int) -> bool:
        """Count `number` bytes more for `share`. Return whether there was room."""
        if not self.has_room(number, share):
            return False
        share.held += number
        share.unnoted += number
        self.used += number
        if share not in self._shares or share.unnoted >= _LEAST_PROGRESS:  # a trickle is no progress
            self._moved(share)
        return True

    def has_room(self, number: int, asking: Share | None = None) -> bool:
        """Whether there is room for `number` bytes. Makes some, where others do not move."""
        while self.used + number > self._limit:
            oldest = next((each for each in self._shares if each is not asking), None)
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
        """Take back all that `share` holds."""
        self._shares.pop(share, None)
        self.used -= share.held
        share.held = 0

    def _has_shrunk(self, share: Share) -> bool:
        """Whether a share holds noticeably less than is counted for it. Count it anew."""
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
    """Counts the large bodies of requests, and refuses large answers for which there is no room.

    What a client does not read of an answer is counted by its connection.
    """

    def __init__(self, app: ASGIApp, budget: ByteBudget) -> None:
        self._app = app
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = anyio.CancelScope()
        exchange = _Exchange(receive, send, self._budget, Share(self._budget, request.cancel))
        with request, exchange.share:
            try:
                await self._app(scope, exchange.receive, exchange.send)
            except Exception:
                if not exchange.refused:  # else the application takes it for a lost connection
                    raise
        if not exchange.started and (exchange.refused or request.cancelled_caught):
            await refuse(send)


class _Exchange:
    """One request and its answer."""

    def __init__(self, receive: Receive, send: Send, budget: ByteBudget, share: Share) -> None:
        self._receive, self._send, self._budget, self.share = receive, send, budget, share
        self._length = 0
        self.refused = self.started = False

    async def receive(self) -> Message:
        message = {"type": "http.disconnect"} if self.refused else await self._receive()
        came = len(message.get("body", b""))
        self._length += came
        if self._length > UNCOUNTED_BYTES and came and not self.share.take(came):
            self.refused = True
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            length = _content_length(message)
            self.refused = self.refused or (length > UNCOUNTED_BYTES and not self._budget.has_room(length))
            self.started = not self.refused
        if not self.refused:
            await self._send(message)


async def refuse(send: Send) -> None:
    """Answer that there is no room now."""
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
