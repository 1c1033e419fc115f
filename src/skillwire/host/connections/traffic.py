"""Limits on the data that a server sends, in responses and unsolicited.

Unsolicited data belongs to no pending request: notifications, requests from the server and unknown responses.
Bytes and JSON values are counted before they are parsed.
"""

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
"""Minimum number of bytes that a chunk counts for, because a million chunks of one byte also take long to
process.
"""


@dataclass(frozen=True, slots=True)
class TrafficLimits:
    """Limits on the data that a server sends over one connection.

    Exceeding a limit ends the response or the connection.
    """

    initialize_bytes: int = MiB
    """Maximum size of the response to `initialize` or `server/discover`, including instructions, in bytes."""
    page_bytes: int = 16 * MiB
    """Maximum size of one page of a list, in bytes."""
    page_values: int = 300_000
    """Maximum number of JSON values in one page of `skills/list`.

    A parsed value takes up to about 450 bytes.
    """
    plain_page_values: int = 100_000
    """Maximum number of JSON values in one page of any other list.

    The SDK validates each entry, which takes more memory.
    """
    listing_bytes: int = 64 * MiB
    """Maximum size of all pages of one list together, in bytes."""
    entry_bytes: int = 4 * MiB
    """Maximum size of the response to `skills/get`, in bytes."""
    read_bytes: int = 33 * MiB
    """Maximum size of the response to `resources/read` or `prompts/get`, in bytes: twice the largest skill,
    plus 1 MiB.
    """
    answer_values: int = 20_000
    """Maximum number of JSON values in any response that is not a list.

    The content of a file is one value.
    """
    small_answer_bytes: int = 64 * 1024
    """Maximum size of any other response, in bytes."""
    head_bytes: int = 256 * 1024
    """Maximum size of the headers of one HTTP response, including interim (1xx) responses, in bytes."""
    unsolicited_message_bytes: int = MiB
    """Maximum size of one unsolicited message from a program, in bytes.

    While a larger response is pending, the limit of the response applies.
    """
    unsolicited_messages: int = 10_000
    """Maximum number of unsolicited messages at once.

    Each second, `unsolicited_messages_per_second` more are allowed. Over HTTP, each chunk of a stream also
    counts as a message.
    """
    unsolicited_messages_per_second: float = 400.0
    unsolicited_bytes: int = 4 * MiB
    """Maximum number of unsolicited bytes at once."""
    unsolicited_bytes_per_second: float = 256 * 1024.0
    unsolicited_values: int = 100_000
    """Maximum number of unsolicited JSON values at once."""
    unsolicited_values_per_second: float = 20_000.0
    unanswered_requests: int = 64
    """Maximum number of unanswered requests from the server."""
    write_seconds: float = 30.0
    """Seconds in which a server must read one message from its stdin."""


@dataclass(slots=True)
class Budget:
    """A common limit on the size of several responses, in bytes."""

    total: int
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.total


@dataclass(slots=True)
class AnswerLimits:
    """The limits for the response to one request."""

    max_bytes: int
    max_values: int
    budget: Budget | None = None
    stream: bool = False
    """Whether the response is a notification stream, which has no end and counts as unsolicited."""
    refused: str = ""
    """Why reading the response was stopped; empty if it was not stopped."""


@dataclass(slots=True)
class Expected:
    """Tighter limits that the sender of a request sets, and the resulting limits of the response."""

    max_bytes: int | None = None
    budget: Budget | None = None
    answer: AnswerLimits | None = None

    @property
    def refused(self) -> str:
        """Why reading the response was stopped; empty if it was not stopped."""
        return "" if self.answer is None else self.answer.refused


_expected: ContextVar[Expected | None] = ContextVar("expected", default=None)


@contextmanager
def limit_answer(max_bytes: int | None = None, budget: Budget | None = None) -> Generator[Expected]:
    """Set tighter limits for the response to the request that this task sends inside the block.

    Yields the limits. Their `refused` tells why reading the response was stopped.
    """
    expected = Expected(max_bytes, budget)
    token = _expected.set(expected)
    try:
        yield expected
    finally:
        _expected.reset(token)


class AnswerTooLargeError(Exception):
    """A response has more bytes or JSON values than its limits allow."""


class JsonValueCounter:
    """Counts the values in chunks of JSON without parsing them.

    A line break ends every string, because JSON strings contain no line breaks. So a quote outside the JSON,
    such as in a comment of an event stream, cannot hide the text that follows.
    """

    __slots__ = ("_carry", "_in_string", "values")

    def __init__(self) -> None:
        self.values = 0
        self._carry, self._in_string = b"", False

    def feed(self, piece: bytes) -> int:
        """Count a chunk. Return the number of values so far, which may be slightly too high."""
        text = self._carry + piece
        whole = text.rstrip(b"\\")  # the escaped character may be in the next chunk
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
    """A rate limiter: a capacity that refills over time."""

    __slots__ = ("_at", "_capacity", "_left", "_rate")

    def __init__(self, capacity: float, rate: float) -> None:
        self._capacity = self._left = capacity
        self._rate, self._at = rate, time.monotonic()

    def take(self, count: float) -> bool:
        """Take `count` tokens. Return whether there were enough."""
        now = time.monotonic()
        self._left = min(self._capacity, self._left + (now - self._at) * self._rate) - count
        self._at = now
        return self._left >= 0


class Traffic:
    """Tracks the requests and counts the unsolicited data on one connection.

    Too much unsolicited data ends the connection with a reason.
    """

    def __init__(self, limits: TrafficLimits | None = None) -> None:
        self.limits = limits or TrafficLimits()
        self.failure = ""
        """Why the connection was ended; empty while it is open."""
        self.on_failure: Callable[[], None] = lambda: None
        self._pending: dict[RequestId, AnswerLimits] = {}
        self._unanswered = 0
        limit = self.limits
        self._messages = _TokenBucket(limit.unsolicited_messages, limit.unsolicited_messages_per_second)
        self._bytes = _TokenBucket(limit.unsolicited_bytes, limit.unsolicited_bytes_per_second)
        self._values = _TokenBucket(limit.unsolicited_values, limit.unsolicited_values_per_second)

    def abort(self, failure: str) -> None:
        """End the connection for this reason. Only the first reason counts."""
        if not self.failure:
            self.failure = failure
            self.on_failure()

    # Requests to the server, and its responses

    def start_request(self, request: RequestId, method: str) -> None:
        """Register a request before it is sent, with the limits for its response."""
        expected = _expected.get() or Expected()
        expected.answer = self._pending[request] = self._answer(method, expected)

    def answer_to(self, request: object) -> AnswerLimits | None:
        """Return the limits for the response to a request, or None if there is no such request."""
        return self._pending.get(_normalize_id(request))

    def finish_request(self, request: object) -> bool:
        """Unregister a request that was answered or cancelled. Return whether it was registered."""
        return self._pending.pop(_normalize_id(request), None) is not None

    def largest(self) -> AnswerLimits:
        """Return the largest limits of all pending responses and of an unsolicited message.

        This method is for transports that cannot tell responses apart.
        """
        pending = [each for each in self._pending.values() if not each.stream]
        return AnswerLimits(
            max([each.max_bytes for each in pending] + [self.limits.unsolicited_message_bytes]),
            max([each.max_values for each in pending] + [self.limits.answer_values]),
        )

    def _answer(self, method: str, expected: Expected) -> AnswerLimits:
        limits = self.limits
        by_method: Mapping[str, tuple[int, int]] = {
            "initialize": (limits.initialize_bytes, limits.answer_values),
            "server/discover": (limits.initialize_bytes, limits.answer_values),
            SKILLS_LIST: (limits.page_bytes, limits.page_values),
            SKILLS_GET: (limits.entry_bytes, limits.answer_values),
            RESOURCES_READ: (limits.read_bytes, limits.answer_values),
            PROMPTS_GET: (limits.read_bytes, limits.answer_values),
            **dict.fromkeys(_LISTS, (limits.page_bytes, limits.plain_page_values)),
        }
        size, values = by_method.get(method, (limits.small_answer_bytes, limits.answer_values))
        if expected.max_bytes is not None:
            size = min(size, expected.max_bytes)
        return AnswerLimits(size, values, expected.budget, stream=method == _LISTEN)

    # Unsolicited messages from the server

    def count_unsolicited(self, size: int = 0, values: int = 0, messages: int = 0) -> None:
        """Count unsolicited bytes, JSON values and messages. If there are too many, end the connection."""
        limits = self.limits
        for bucket, count, capacity, rate, what in (
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
                message = f"the server sends more than {capacity:,} unsolicited {what} at once"
                self.abort(f"{message}, or {rate:,.0f} a second")

    def count_request(self) -> None:
        """Count a request from the server. If too many are unanswered, end the connection."""
        self._unanswered += 1
        self.count_unsolicited(messages=1)
        if self._unanswered > (limit := self.limits.unanswered_requests):
            self.abort(f"the server sends more than {limit:,} requests without waiting for the answers")

    def count_response(self) -> None:
        """Count the response to a request from the server."""
        self._unanswered -= 1


def _normalize_id(request: object) -> RequestId:
    """Return a request id, as a number if it is decimal digits: some servers answer id 7 with `"7"`."""
    if isinstance(request, str) and request.isascii() and request.isdecimal() and len(request) < _LONGEST_ID:
        return int(request)
    return request if isinstance(request, (int, str)) else ""


class Meter:
    """Counts the bytes and JSON values of one response as they arrive."""

    def __init__(self, answer: AnswerLimits) -> None:
        self._answer, self._counter = answer, JsonValueCounter()
        self._size = 0

    def feed(self, piece: bytes) -> None:
        """Count a chunk. Raises `AnswerTooLargeError` if the response exceeds its limits."""
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
