"""The server's side of one client connection: a bounded outbox and pending calls."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import anyio
import orjson

from skillwire.core.record import Json
from skillwire.drive.errors import BusyError, GoneError, ResolverError, TimedOutError
from skillwire.drive.messages import Answer, CallError, CallResult
from skillwire.drive.policy import DriveLimits
from skillwire.drive.registration import Auth, ClientInfo, PathTable
from skillwire.errors import CallFailedError


class OutboxBudget:
    """The number of bytes that may still be queued for all clients together."""

    def __init__(self, size: int) -> None:
        self.left = size


class Outbox:
    """Bounded queue of messages to one client."""

    def __init__(self, messages: int, size: int, budget: OutboxBudget) -> None:
        """Limit the queue to this number of messages and bytes, within the shared `budget`."""
        self._messages = messages
        self._size = size
        self._budget = budget
        self._waiting: dict[int, bytes] = {}
        self._put = 0
        self._held = 0
        self._closed = False
        self._changed = anyio.Event()

    @property
    def held(self) -> int:
        """Number of bytes in the queue."""
        return self._held

    def put(self, message: bytes) -> int | None:
        """Add a message and return its number. Return None if the queue is closed, or a limit is reached."""
        left = min(self._size - self._held, self._budget.left)
        if self._closed or len(self._waiting) >= self._messages or len(message) > left:
            return None
        self._put += 1
        self._waiting[self._put] = message
        self._hold(len(message))
        self.wake()
        return self._put

    def drop(self, number: int) -> None:
        """Remove a message, if it is still in the queue."""
        self._hold(-len(self._waiting.pop(number, b"")))

    def take_now(self) -> bytes | None:
        """Return the next message, or None if the queue is empty."""
        if not self._waiting:
            return None
        message = self._waiting.pop(next(iter(self._waiting)))
        self._hold(-len(message))
        return message

    async def take(self, active: Callable[[], bool] = lambda: True) -> bytes | None:
        """Wait for the next message.

        Return None if the queue is closed and empty, or if `active` returns False.
        """
        while active():
            if (message := self.take_now()) is not None or self._closed:
                return message
            await self._changed.wait()
        return None

    def close(self) -> None:
        """Accept no more messages. Messages in the queue can still be taken."""
        self._closed = True
        self.wake()

    def clear(self) -> None:
        """Accept no more messages, and drop the messages in the queue."""
        self._waiting.clear()
        self._hold(-self._held)
        self.close()

    def _hold(self, more: int) -> None:
        """Add `more`, which may be negative, to the bytes in the queue. Subtract it from the budget."""
        self._held += more
        self._budget.left -= more

    def wake(self) -> None:
        """Wake all waiting tasks, so that they check again."""
        previous, self._changed = self._changed, anyio.Event()
        previous.set()


class Mode(StrEnum):
    """The transport of a session."""

    WEBSOCKET = "ws"
    HTTP_LOOP = "http-loop"


@dataclass(frozen=True, slots=True)
class Closing:
    """The code and reason with which a session ends, as in WebSocket."""

    code: int
    reason: str = ""

    REASON_BYTES = 123

    def short_reason(self) -> str:
        """Return the reason, cut to the size that a close frame allows."""
        return self.reason.encode()[: self.REASON_BYTES].decode(errors="ignore")


NORMAL = Closing(1000)
REPLACED = Closing(4000, "Replaced by newer client session")


@dataclass(frozen=True, slots=True)
class Connection:
    """The transport and identity of a client's connection."""

    mode: Mode
    secure: bool = False
    auth: Auth | None = None
    verify_token: Callable[[object], bool] | None = None
    """A function that returns whether the first message contains the server's token.

    None if the client has already sent the token, or if the server requires none.
    """
    ticket_auth: Auth | None = None
    """The claim that the client sent to `/mdp/auth`.

    On the HTTP loop, `auth` is the claim of the last request.
    """


@dataclass(slots=True, eq=False)
class _Pending:
    """A call that waits for the client's answer."""

    answered: anyio.Event = field(default_factory=anyio.Event)
    result: CallResult | CallFailedError | None = None

    def answer(self, result: CallResult | CallFailedError) -> None:
        if self.result is None:  # only the first answer counts
            self.result = result
            self.answered.set()


class Session:
    """The session of one connected program. Only the hub registers clients and ends sessions."""

    def __init__(self, connection: Connection, limits: DriveLimits, budget: OutboxBudget) -> None:
        """Create a session. All sessions share the `budget`."""
        self.id = secrets.token_urlsafe(24)  # on the HTTP loop, the id authenticates the client
        self.connection = connection
        self.client: ClientInfo | None = None
        self.registered_auth: Auth | None = None
        self.authenticated = connection.verify_token is None
        """Whether the client has sent the server's token. True if no token is required."""
        self.table = PathTable()
        self.connected_at = self.seen_at = time.time()
        self.seen = self.pinged = self.nameless = time.monotonic()
        self.closing: Closing | None = None
        self.ended = anyio.Event()
        self._limits = limits
        self._pending: dict[str, _Pending] = {}
        self.outbox = Outbox(limits.waiting, limits.waiting_bytes, budget)
        self._polls = 0

    @property
    def auth_source(self) -> str:
        """Where the client sent its claim: `transport`, `message`, `transport+message` or `none`."""
        sources = {"transport": self.connection.auth, "message": self.registered_auth}
        return "+".join(name for name, auth in sources.items() if auth is not None) or "none"

    def touch(self) -> None:
        """Record that the client is active."""
        self.seen, self.seen_at = time.monotonic(), time.time()

    async def poll(self) -> bytes | None:
        """Wait for the next message. Return None when the session ends or a later poll begins."""
        self._polls += 1
        own = self._polls
        self.outbox.wake()
        return await self.outbox.take(lambda: own == self._polls)

    def post(self, message: dict[str, Json]) -> None:
        """Queue a message for the client. If the queue is full or closed, drop the message."""
        self.outbox.put(orjson.dumps(message))

    async def ask(self, request_id: str, call: bytes) -> Answer:
        """Send a call, and return the client's answer. Raises `CallFailedError`."""
        client_id = "" if self.client is None else self.client.id
        if self.closing is not None:
            raise GoneError(client_id)
        if len(self._pending) >= self._limits.calls:
            raise BusyError(client_id)
        if (posted := self.outbox.put(call)) is None:
            raise BusyError(client_id)
        pending = self._pending[request_id] = _Pending()
        try:
            with anyio.move_on_after(self._limits.answer_seconds):
                await pending.answered.wait()
        finally:
            del self._pending[request_id]
            self.outbox.drop(posted)  # drop it if it has not been sent yet
        match pending.result:
            case None:
                raise TimedOutError(client_id, self._limits.answer_seconds)
            case CallFailedError() as failed:
                raise failed
            case CallResult(error=CallError() as error):
                raise ResolverError(error)
            case CallResult(data=data):
                return data

    def answer(self, result: CallResult) -> None:
        """Process a client's answer. Late or unexpected answers are ignored."""
        if (pending := self._pending.get(result.request_id)) is not None:
            pending.answer(result)

    def close(self, closing: Closing) -> None:
        """End the session. Queued messages can still be fetched; unanswered calls fail."""
        self.closing = closing
        self.ended.set()
        self.outbox.close()
        self.fail_calls()

    def fail_calls(self) -> None:
        """Fail all unanswered calls with `GoneError`."""
        client_id = "" if self.client is None else self.client.id
        for pending in self._pending.values():
            pending.answer(GoneError(client_id))

    def discard(self) -> None:
        """Drop the queued messages, and accept no more."""
        self.outbox.clear()
