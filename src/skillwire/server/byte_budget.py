"""One budget of memory for what HTTP clients have half sent, or not yet read."""

import time
from collections.abc import Callable
from typing import Self

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

UNCOUNTED = 64 * 1024
"""Bytes of a body or an answer that are not counted. Ordinary requests work though the budget is used up."""
_PIECE = 256 * 1024
"""Bytes of an answer that the transport gets at once. It would keep a copy of all that is unread."""
_PATIENCE, _LEAST_PROGRESS = 5.0, 16 * 1024
"""Seconds in which a request has to move by at least this many bytes, when memory is short."""
_BUSY = b'{"error": "the server holds too many large requests and answers; try again later"}'


class Share:
    """What one request holds of the budget, until the block ends that it is used in."""

    def __init__(self, budget: "ByteBudget", evict: Callable[[], None]) -> None:
        """`evict` must end the request."""
        self._budget = budget
        self.evict = evict
        self.held = self.unnoted = 0
        self.moved = 0.0

    def take(self, number: int) -> bool:
        """Hold `number` bytes more. Return whether there was room for them."""
        return self._budget.take(self, number)

    def progress(self, number: int) -> None:
        """Note that the client has sent or read `number` bytes."""
        self._budget.progress(self, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Give back all that is held."""
        self._budget.release(self)


class ByteBudget:
    """Counts bytes up to a limit. Under pressure, the request that has not moved for longest has to go.

    So a few clients that send or read slowly cannot lock out others.
    """

    def __init__(self, limit: int, patience: float = _PATIENCE) -> None:
        """A request that moved within the last `patience` seconds is safe."""
        self._limit, self._patience = limit, patience
        self._shares: dict[Share, None] = {}
        """The one that moved last comes last."""
        self.used = 0

    def take(self, share: Share, number: int) -> bool:
        """Count `number` bytes more for `share`. Return whether there was room."""
        while self.used + number > self._limit:
            if not self._make_room(share):
                return False
        share.held += number
        self.used += number
        self.progress(share, number)
        return True

    def progress(self, share: Share, number: int) -> None:
        """Note that `share` moved by this many bytes. A trickle is no progress."""
        share.unnoted += number
        if share not in self._shares or share.unnoted >= _LEAST_PROGRESS:
            self._shares.pop(share, None)
            self._shares[share] = None
            share.moved, share.unnoted = time.monotonic(), 0

    def _make_room(self, asking: Share) -> bool:
        oldest = next((each for each in self._shares if each is not asking), None)
        if oldest is None or time.monotonic() - oldest.moved < self._patience:
            return False
        self.release(oldest)
        oldest.evict()
        return True

    def release(self, share: Share) -> None:
        """Take back all that `share` holds."""
        self._shares.pop(share, None)
        self.used -= share.held
        share.held = 0


class BudgetGuard:
    """Counts the large bodies and large answers of every request."""

    def __init__(self, app: ASGIApp, budget: ByteBudget) -> None:
        self._app = app
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = anyio.CancelScope()
        exchange = _Exchange(receive, send, Share(self._budget, request.cancel))
        with request, exchange.share:
            try:
                await self._app(scope, exchange.receive, exchange.send)
            except Exception:
                if not exchange.refused:  # else the application takes it for a lost connection
                    raise
        if not exchange.started and (exchange.refused or request.cancelled_caught):
            await _refuse(send)


class _Exchange:
    """One request and its answer."""

    def __init__(self, receive: Receive, send: Send, share: Share) -> None:
        self._receive, self._send, self.share = receive, send, share
        self._length = 0
        self._declared = False
        self.refused = self.started = False

    async def receive(self) -> Message:
        message = {"type": "http.disconnect"} if self.refused else await self._receive()
        came = len(message.get("body", b""))
        self._length += came
        if self._length > UNCOUNTED and came and not self.share.take(came):
            self.refused = True
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if self.refused:
            return
        if message["type"] == "http.response.start":
            length = _content_length(message)
            self._declared = length > UNCOUNTED
            if self._declared and not self.share.take(length):
                self.refused = True
                return
            self.started = True
        body: bytes = message.get("body", b"")
        if len(body) <= _PIECE:
            await self._send(message)
        elif self._declared or self.share.take(len(body)):
            await _send_in_pieces(self._send, body, self.share, more=message.get("more_body", False))
        else:  # a stream has no other end than that of its connection
            self.share.evict()
            await anyio.lowlevel.checkpoint()


async def send_large(budget: ByteBudget, send: Send, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Send an answer of status 200 in pieces, and count it while it waits to be read."""
    with anyio.CancelScope() as request, Share(budget, request.cancel) as share:
        if share.take(len(body)):
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await _send_in_pieces(send, body, share, more=False)
        else:
            await _refuse(send)


async def _send_in_pieces(send: Send, body: bytes, share: Share, *, more: bool) -> None:
    view = memoryview(body)
    for begin in range(0, len(view), _PIECE):
        await send({"type": "http.response.body", "body": view[begin : begin + _PIECE], "more_body": True})
        share.progress(_PIECE)
    # Waits until the last piece is on its way. Until then it counts.
    await send({"type": "http.response.body", "body": b"", "more_body": more})


async def _refuse(send: Send) -> None:
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
