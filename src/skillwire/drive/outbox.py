"""What waits to be fetched by a client: in order, within bounds, and only for as long as it matters."""

from collections.abc import Callable

import anyio


class Room:
    """What all that waits may take together."""

    def __init__(self, size: int) -> None:
        self.left = size


class Outbox:
    """Messages that are ready to be sent."""

    def __init__(self, messages: int, size: int, room: Room) -> None:
        """Hold so many messages at most, and so many bytes, as long as there is room."""
        self._messages = messages
        self._size = size
        self._room = room
        self._waiting: dict[int, bytes] = {}
        self._put = 0
        self._held = 0
        self._closed = False
        self._news = anyio.Event()

    @property
    def held(self) -> int:
        """Bytes that wait."""
        return self._held

    def put(self, message: bytes) -> int | None:
        """Add a message; return its number, or None if there is no room or nobody to fetch it."""
        left = min(self._size - self._held, self._room.left)
        if self._closed or len(self._waiting) >= self._messages or len(message) > left:
            return None
        self._put += 1
        self._waiting[self._put] = message
        self._hold(len(message))
        self.wake()
        return self._put

    def drop(self, number: int) -> None:
        """Forget a message. If it was fetched, that changes nothing."""
        self._hold(-len(self._waiting.pop(number, b"")))

    def take_now(self) -> bytes | None:
        """Return the next message, if there is one."""
        if not self._waiting:
            return None
        message = self._waiting.pop(next(iter(self._waiting)))
        self._hold(-len(message))
        return message

    async def take(self, wanted: Callable[[], bool] = lambda: True) -> bytes | None:
        """Return the next message as soon as there is one; None at the end, or once it is not `wanted`."""
        while wanted():
            if (message := self.take_now()) is not None or self._closed:
                return message
            await self._news.wait()
        return None

    def close(self) -> None:
        """Take no more messages. Those that wait can still be fetched."""
        self._closed = True
        self.wake()

    def clear(self) -> None:
        """Take no more messages, and forget those that wait."""
        self._waiting.clear()
        self._hold(-self._held)
        self.close()

    def _hold(self, more: int) -> None:
        self._held += more
        self._room.left -= more

    def wake(self) -> None:
        """Let everyone who waits look again."""
        news, self._news = self._news, anyio.Event()
        news.set()
