"""Lines that wait for their response, and limits on the responses that are made and written together."""

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

from skillwire.server.cached_requests import Question
from skillwire.server.stdio.lines import LineTooLongError
from skillwire.server.stdio.pipes import PipeWriter

MAX_UNREAD_BYTES = 1024 * 1024
"""Number of unread response bytes above which no more requests are read from the client."""
MAX_WRITE_AHEAD_BYTES = 16 * 1024
"""Number of response bytes to write before preparing more, so that the client can start reading."""
_MAX_IN_A_ROW = 32
_MAX_BYTES_IN_A_ROW = 256 * 1024
"""Maximum number and size of responses that are made, rather than cached, before other tasks have their turn.

This takes about a millisecond.
"""

Line: TypeAlias = bytes | LineTooLongError


@dataclass(slots=True)
class QueuedLine:
    """A line from the client that is not answered yet."""

    line: Line
    request: tuple[bytes, Question] | None = None
    """The encoded id and the question, once the line is parsed, if the cache can answer it."""
    needs_time: bool = False
    """Whether the response cannot be made without waiting."""


class Turn:
    """Limits the responses that are made, rather than cached, in one turn of the event loop."""

    def __init__(self) -> None:
        self._made = self._made_bytes = 0

    @property
    def has_time(self) -> bool:
        """Whether another response may be made before other tasks have their turn."""
        return self._made < _MAX_IN_A_ROW and self._made_bytes < _MAX_BYTES_IN_A_ROW

    def count(self, number: int) -> None:
        """Count a response of this size."""
        if not self._made:
            asyncio.get_running_loop().call_soon(self._end)
        self._made += 1
        self._made_bytes += number

    def _end(self) -> None:
        self._made = self._made_bytes = 0


class Batch:
    """Responses that are written together."""

    def __init__(self, writer: PipeWriter) -> None:
        self._writer = writer
        self._pieces: list[bytes] = []
        self._joined = 0

    @property
    def is_unread(self) -> bool:
        """Whether the client must read responses before it gets more."""
        return self._writer.pending + self._joined > MAX_UNREAD_BYTES

    def add(self, piece: bytes) -> None:
        """Add a response. Write all so far once they are many, so that the client can start reading."""
        self._pieces.append(piece)
        self._joined += len(piece)
        if self._joined > MAX_WRITE_AHEAD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write all responses so far."""
        if self._pieces:
            self._writer.write(b"".join(self._pieces))
            self._pieces.clear()
            self._joined = 0
