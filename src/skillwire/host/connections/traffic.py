"""How much a server may send: for each answer, and unasked. It is counted before anything is parsed."""

import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias

from skillwire.protocol.messages import (
    DIRECTORY_READ,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_TEMPLATES,
    SKILLS_GET,
    SKILLS_LIST,
    TOOLS_LIST,
)

MiB = 1024 * 1024
RequestId: TypeAlias = int | str

_STRING = re.compile(rb'"[^"\r\n]*["\r\n]')
_IN_STRING = re.compile(rb'[^"\r\n]*')
_LISTS = (RESOURCES_LIST, RESOURCES_TEMPLATES, PROMPTS_LIST, TOOLS_LIST, DIRECTORY_READ)
_LISTEN = "subscriptions/listen"
_LONGEST_ID = 16
MIN_CHARGE = 256
"""Bytes that each piece of an answer counts for at least: a million pieces of one byte take long, too."""


@dataclass(frozen=True, slots=True)
class TrafficLimits:
    """Bounds on what one connection to a server brings. More ends the answer, or the connection."""

    initialize_bytes: int = MiB
    """Bytes of the answer to `initialize` and `server/discover`, with all instructions."""
    page_bytes: int = 16 * MiB
    """Bytes of one page of a list."""
    page_values: int = 300_000
    """JSON values in one page of `skills/list`: parsed, each takes up to about 450 bytes."""
    plain_page_values: int = 100_000
    """JSON values in one page of any other list. The SDK validates each entry, which takes more memory."""
    listing_bytes: int = 64 * MiB
    """Bytes of all pages of one list together, whatever is in them."""
    entry_bytes: int = 4 * MiB
    """Bytes of the answer to `skills/get`."""
    read_bytes: int = 33 * MiB
    """Bytes of the answer to `resources/read` or `prompts/get`: twice the largest skill, and 1 MiB."""
    answer_values: int = 20_000
    """JSON values in any answer that is not a list. The content of a file is one value."""
    small_answer_bytes: int = 64 * 1024
    """Bytes of every other answer."""
    head_bytes: int = 256 * 1024
    """Bytes of the head of an answer over HTTP, with all heads that only say that the answer is to come."""
    unsolicited_message_bytes: int = MiB
    """Bytes of one message that no one asked for."""
    unsolicited_messages: int = 10_000
    """Unsolicited messages at once. `unsolicited_messages_per_second` more are allowed each second.

    Over HTTP, each piece of a stream counts as a message, too.
    """
    unsolicited_messages_per_second: float = 400.0
    unsolicited_bytes: int = 4 * MiB
    """Bytes that no one asked for, at once."""
    unsolicited_bytes_per_second: float = 256 * 1024.0
    unsolicited_values: int = 100_000
    """JSON values that no one asked for, at once."""
    unsolicited_values_per_second: float = 20_000.0
    unanswered_requests: int = 64
    """Requests of the server that have no answer yet."""
    write_seconds: float = 30.0
    """Seconds for a server to read one message from its stdin."""


@dataclass(slots=True)
class Budget:
    """Bytes that the answers to several requests may have together."""

    total: int
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.total


@dataclass(slots=True)
class Answer:
    """What the answer to one request may have."""

    max_bytes: int
    max_values: int
    budget: Budget | None = None
    stream: bool = False
    """Whether it has no end: what comes in it is not an answer, but news."""
    refused: str = ""
    """Why it was not read to its end."""


@dataclass(slots=True)
class Expected:
    """What the sender of a request knows of the answer, and what became of it."""

    max_bytes: int | None = None
    budget: Budget | None = None
    answer: Answer | None = None

    @property
    def refused(self) -> str:
        """Why the answer was not read to its end, if it was not."""
        return "" if self.answer is None else self.answer.refused


_expected: ContextVar[Expected | None] = ContextVar("expected", default=None)


@contextmanager
def limit_answer(max_bytes: int | None = None, budget: Budget | None = None) -> Generator[Expected]:
    """Bound the answer to the request that this task sends meanwhile, tighter than its kind does."""
    expected = Expected(max_bytes, budget)
    token = _expected.set(expected)
    try:
        yield expected
    finally:
        _expected.reset(token)


class AnswerTooLargeError(Exception):
    """An answer that is longer, or holds more values, than its request allows."""


class JsonValueCounter:
    """Counts the values in JSON that comes in pieces, without parsing it.

    A line break ends every string, as no string of JSON holds one. So nothing outside of the JSON can hide
    what follows: a comment in a stream of events, for instance.
    """

    __slots__ = ("_carry", "_in_string", "values")

    def __init__(self) -> None:
        self.values = 0
        self._carry, self._in_string = b"", False

    def feed(self, piece: bytes) -> int:
        """Count a piece, and return how many values there are by now. It may be too many by a few."""
        text = self._carry + piece
        whole = text.rstrip(b"\\")  # what a backslash escapes may be in the next piece
        self._carry, text = b"\\" * ((len(text) - len(whole)) % 2), whole
        if self._in_string:
            text = text.replace(rb"\\", b"").replace(rb"\"", b"")
            end = _IN_STRING.match(text).end()  # pyright: ignore[reportOptionalMemberAccess] - it always matches
            if end == len(text):
                return self.values
            text, self._in_string = text[end + 1 :], False
        elif b"\\" in text:
            text = text.replace(rb"\\", b"").replace(rb"\"", b"")
        outside, quote, _ = _STRING.sub(b"", text).partition(b'"')
        self._in_string = bool(quote)
        self.values += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        return self.values


class _TokenBucket:
    """An allowance that fills up again over time."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, most: float, rate: float) -> None:
        self._most = self._left = most
        self._rate, self._at = rate, time.monotonic()

    def take(self, count: float) -> bool:
        """Take some of it. Return whether there was enough."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._rate) - count
        self._at = now
        return self._left >= 0


class Traffic:
    """What one connection has brought. The first excess ends the connection, and says why."""

    def __init__(self, limits: TrafficLimits | None = None) -> None:
        self.limits = limits or TrafficLimits()
        self.failure = ""
        """Why the server is not listened to any more."""
        self.on_failure: Callable[[], None] = lambda: None
        self._pending: dict[RequestId, Answer] = {}
        self._unanswered = 0
        most = self.limits
        self._messages = _TokenBucket(most.unsolicited_messages, most.unsolicited_messages_per_second)
        self._bytes = _TokenBucket(most.unsolicited_bytes, most.unsolicited_bytes_per_second)
        self._values = _TokenBucket(most.unsolicited_values, most.unsolicited_values_per_second)

    def abort(self, failure: str) -> None:
        """End the connection, because of what the server does."""
        if not self.failure:
            self.failure = failure
            self.on_failure()

    # What we ask, and what is answered

    def ask(self, request: RequestId, method: str) -> None:
        """Note a request that is about to be sent, with what its answer may have."""
        expected = _expected.get() or Expected()
        expected.answer = self._pending[request] = self._answer(method, expected)

    def answer_to(self, request: object) -> Answer | None:
        """Return what the answer to a request may have; None if there is no such request."""
        return self._pending.get(_normalize_id(request))

    def finish_request(self, request: object) -> bool:
        """Forget a request that was answered or given up. Return whether there was one."""
        return self._pending.pop(_normalize_id(request), None) is not None

    def largest(self) -> Answer:
        """Return what the next message may have at most, where none says beforehand which one it is."""
        waited_for = [each for each in self._pending.values() if not each.stream]
        return Answer(
            max([each.max_bytes for each in waited_for] + [self.limits.unsolicited_message_bytes]),
            max([each.max_values for each in waited_for] + [self.limits.answer_values]),
        )

    def _answer(self, method: str, expected: Expected) -> Answer:
        limits = self.limits
        most: Mapping[str, tuple[int, int]] = {
            "initialize": (limits.initialize_bytes, limits.answer_values),
            "server/discover": (limits.initialize_bytes, limits.answer_values),
            SKILLS_LIST: (limits.page_bytes, limits.page_values),
            SKILLS_GET: (limits.entry_bytes, limits.answer_values),
            RESOURCES_READ: (limits.read_bytes, limits.answer_values),
            PROMPTS_GET: (limits.read_bytes, limits.answer_values),
            **dict.fromkeys(_LISTS, (limits.page_bytes, limits.plain_page_values)),
        }
        size, values = most.get(method, (limits.small_answer_bytes, limits.answer_values))
        if expected.max_bytes is not None:
            size = min(size, expected.max_bytes)
        return Answer(size, values, expected.budget, stream=method == _LISTEN)

    # What the server sends by itself

    def count_unsolicited(self, size: int = 0, values: int = 0, messages: int = 0) -> None:
        """Count what no one asked for."""
        limits = self.limits
        for bucket, count, most, rate, what in (
            (
                self._messages,
                messages,
                limits.unsolicited_messages,
                limits.unsolicited_messages_per_second,
                "messages",
            ),
            (self._bytes, size, limits.unsolicited_bytes, limits.unsolicited_bytes_per_second, "bytes"),
            (self._values, values, limits.unsolicited_values, limits.unsolicited_values_per_second, "values"),
        ):
            if count and not bucket.take(count):
                message = (
                    f"the server sends more than {most:,} {what} at once, or {rate:,.0f} a second, unasked"
                )
                self.abort(message)

    def count_request(self) -> None:
        """Count a request of the server."""
        self._unanswered += 1
        self.count_unsolicited(messages=1)
        if self._unanswered > (most := self.limits.unanswered_requests):
            self.abort(f"the server sends more than {most:,} requests without waiting for the answers")

    def count_response(self) -> None:
        """Note that a request of the server has its answer."""
        self._unanswered -= 1


def _normalize_id(request: object) -> RequestId:
    """Return the id of a request as it was sent: some servers answer `"7"` to 7."""
    if isinstance(request, str) and request.isascii() and request.isdecimal() and len(request) < _LONGEST_ID:
        return int(request)
    return request if isinstance(request, (int, str)) else ""


class Meter:
    """Counts one answer as its bytes come in."""

    def __init__(self, answer: Answer) -> None:
        self._answer, self._counter = answer, JsonValueCounter()
        self._size = 0

    def feed(self, piece: bytes) -> None:
        """Raise `AnswerTooLargeError` if that is more than the answer may have."""
        answer, budget = self._answer, self._answer.budget
        self._size += max(len(piece), MIN_CHARGE)
        if budget is not None:
            budget.left -= len(piece)
        if budget is not None and budget.left < 0:
            answer.refused = f"the answers have more than {budget.total:,} bytes together"
        elif self._size > answer.max_bytes:
            answer.refused = f"the answer has more than {answer.max_bytes:,} bytes"
        elif self._counter.feed(piece) > answer.max_values:
            answer.refused = f"the answer has more than {answer.max_values:,} JSON values"
        if answer.refused:
            raise AnswerTooLargeError(answer.refused)
