"""One client connection on the server: its bounded outbox and its pending calls."""

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
    """What all that waits may take together."""

    def __init__(self, size: int) -> None:
        self.left = size


class Outbox:
    """Messages that are ready to be sent."""

    def __init__(self, messages: int, size: int, budget: OutboxBudget) -> None:
        """Hold so many messages at most, and so many bytes, as long as there is room."""
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
        """Bytes that wait."""
        return self._held

    def put(self, message: bytes) -> int | None:
        """Add a message; return its number, or None if there is no room or nobody to fetch it."""
        left = min(self._size - self._held, self._budget.left)
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
            await self._changed.wait()
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
        self._budget.left -= more

    def wake(self) -> None:
        """Let everyone who waits look again."""
        news, self._changed = self._changed, anyio.Event()
        news.set()


class Mode(StrEnum):
    """What carries a session."""

    WEBSOCKET = "ws"
    HTTP_LOOP = "http-loop"


@dataclass(frozen=True, slots=True)
class Closing:
    """How a session ends, as a WebSocket says it."""

    code: int
    reason: str = ""

    REASON_BYTES = 123

    def short_reason(self) -> str:
        """Return the reason in as many bytes as a closing frame has room for."""
        return self.reason.encode()[: self.REASON_BYTES].decode(errors="ignore")


NORMAL = Closing(1000)
REPLACED = Closing(4000, "Replaced by newer client session")


@dataclass(frozen=True, slots=True)
class Connection:
    """How a client came."""

    mode: Mode
    secure: bool = False
    auth: Auth | None = None
    verify_token: Callable[[object], bool] | None = None
    """Says of its first message whether it holds the server's token; None if the client has shown it."""
    ticket_auth: Auth | None = None
    """What it said of itself at `/mdp/auth`. On the HTTP loop, `auth` is what the last request said."""


@dataclass(slots=True, eq=False)
class _Pending:
    answered: anyio.Event = field(default_factory=anyio.Event)
    result: CallResult | CallFailedError | None = None

    def answer(self, result: CallResult | CallFailedError) -> None:
        if self.result is None:  # the first counts
            self.result = result
            self.answered.set()


class Session:
    """A client that is connected. The hub alone decides who it is, and when it ends."""

    def __init__(self, connection: Connection, limits: DriveLimits, budget: OutboxBudget) -> None:
        """`budget` is for the messages to all clients."""
        self.id = secrets.token_urlsafe(24)  # on the HTTP loop, whoever knows it is the client
        self.connection = connection
        self.client: ClientInfo | None = None
        self.registered_auth: Auth | None = None
        self.authenticated = connection.verify_token is None
        """Whether the client has shown that it knows the server's token, if there is one."""
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
        """Where the client said who it is."""
        sources = {"transport": self.connection.auth, "message": self.registered_auth}
        return "+".join(name for name, auth in sources.items() if auth is not None) or "none"

    def touch(self) -> None:
        """Note a sign of life."""
        self.seen, self.seen_at = time.monotonic(), time.time()

    async def poll(self) -> bytes | None:
        """Return the next message as soon as there is one; None at the end, or when a later poll comes."""
        self._polls += 1
        own = self._polls
        self.outbox.wake()
        return await self.outbox.take(lambda: own == self._polls)

    def post(self, message: dict[str, Json]) -> None:
        """Put a message where the client will fetch it; one that fetches none misses it."""
        self.outbox.put(orjson.dumps(message))

    async def ask(self, request_id: str, call: bytes) -> Answer:
        """Send a call and return what the client answers. Raises `CallFailedError`."""
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
            self.outbox.drop(posted)  # nobody waits for the answer any more
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
        """Take an answer. One that comes too late, or to no question, changes nothing."""
        if (pending := self._pending.get(result.request_id)) is not None:
            pending.answer(result)

    def close(self, closing: Closing) -> None:
        """End the session: what was posted before can still be fetched, what is unanswered has failed."""
        self.closing = closing
        self.ended.set()
        self.outbox.close()
        self.fail_calls()

    def fail_calls(self) -> None:
        """Fail unanswered calls: the client is gone."""
        client_id = "" if self.client is None else self.client.id
        for pending in self._pending.values():
            pending.answer(GoneError(client_id))

    def discard(self) -> None:
        """Throw away what nobody will fetch any more."""
        self.outbox.clear()
