"""Split standard input into lines of limited length, and answer repeated requests from the cache."""

import re
from collections.abc import Iterator

from skillwire.protocol.bounds import MAX_MESSAGE_BYTES
from skillwire.server.cached_requests import MAX_TRACE_BYTES, TRACE_KEYS, Question
from skillwire.server.response_cache import BEFORE_ID, BEFORE_RESULT, ResponseCache

_COMPACT_START, _SPACED_START = b'{"jsonrpc":"2.0","id":', b'{"jsonrpc": "2.0", "id": '
_LAST = b',"id":'
_AFTER_COMPACT, _AFTER_SPACED, _AFTER_LAST = len(_COMPACT_START), len(_SPACED_START), len(_LAST)
_ID = b'"id"'
_ESCAPE = b"\\"
"""The escape character. With escapes, the key `id` could be written in many ways."""
_ZERO, _END = b"0}"
_DIGITS = 15
"""Maximum number of digits in an id that is cut out of a line."""
_TRACE_KEY = rb'"(?:%s)": ?' % "|".join(TRACE_KEYS).encode()
_TRACE = re.compile(rb'(%s)"[ !#-\[\]-~]*"' % _TRACE_KEY)
"""A member of the trace context whose value is plain text, without quotes and escapes."""
_EMPTY_TRACE = re.compile(_TRACE_KEY + rb'""')
_TRACE_NAMES = tuple(f'"{each}"'.encode() for each in TRACE_KEYS)
_MAX_LINES = 8192
"""Maximum number of stored request lines."""
_MAX_LINE_BYTES = 1024
"""Maximum size of a stored line, in bytes."""


class LineTooLongError(Exception):
    """A line that exceeded the limit and was discarded."""


class LineSplitter:
    """Collects chunks of bytes and returns complete lines. Buffers at most `limit` bytes and one chunk."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self.begun = 0
        """Bytes of the last, incomplete line."""
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes | LineTooLongError]:
        """Add a chunk. Return each line that it completes, without the newline.

        Blank lines are skipped. A line over the limit is returned as a `LineTooLongError`.
        """
        *ended, rest = chunk.split(b"\n")
        lines: list[bytes | LineTooLongError] = []
        for piece in ended:
            if not self.begun and not self._skipping and len(piece) <= self._limit:
                if piece and not piece.isspace():  # the usual case is a complete line in one chunk
                    lines.append(piece)
                continue
            self._add(piece)
            lines.extend(self._take())
        if rest:
            self._add(rest)
        return lines

    def end(self) -> Iterator[bytes | LineTooLongError]:
        """Yield the text after the last newline, if there is any."""
        if self._skipping or self.begun:
            yield from self._take()

    def _add(self, piece: bytes) -> None:
        if self._skipping:
            return
        self.begun += len(piece)
        self._pieces.append(piece)
        if self.begun > self._limit:
            self._skipping = True
            self._pieces.clear()

    def _take(self) -> Iterator[bytes | LineTooLongError]:
        line = b"".join(self._pieces)
        skipped, self._skipping, self.begun = self._skipping, False, 0
        self._pieces.clear()
        if skipped:
            yield LineTooLongError()
        elif line.strip():
            yield line


class RequestMemo:
    """Maps the bytes of a request line without its id to the question in the request.

    A repeated request differs from the earlier request only in its id and its trace context, so it need not
    be parsed again. The id must come directly after `jsonrpc` or be the last member. At any other position,
    it could belong to a nested object.
    """

    def __init__(self, response_cache: ResponseCache) -> None:
        self._response_cache = response_cache
        self._known: dict[bytes, Question] = {}

    def answer_known(self, chunk: bytes, enough: int) -> tuple[bytes, bytes]:
        """Return the responses to the first lines of a chunk, and the rest of the chunk.

        The rest begins at the first line that is unknown, not cached or incomplete, or after `enough`
        response bytes. Usually there is no rest, so lines are matched in place instead of being split first.
        """
        pieces: list[bytes] = []
        begin, length = 0, len(chunk)
        while begin < length and (end := chunk.find(b"\n", begin)) > 0:
            request_id, rest = _split_id(chunk, begin, end)
            cache_key = self._known.get(rest) or self._find_traced(rest)
            if (
                cache_key is None
                or enough < 0
                or (result := self._response_cache.get_cached(cache_key)) is None
            ):
                break
            pieces += (BEFORE_ID, request_id, BEFORE_RESULT, result, b"}\n")
            enough -= len(result)
            begin = end + 1
        return b"".join(pieces), chunk[begin:]

    @property
    def line_count(self) -> int:
        """The number of lines that are remembered."""
        return len(self._known)

    def find(self, line: bytes) -> tuple[bytes, Question] | None:
        """Return the encoded id and the question of a line, or None if the line is unknown."""
        request_id, rest = _split_id(line, 0, len(line))
        cache_key = self._known.get(rest) or self._find_traced(rest)
        return None if cache_key is None else (request_id, cache_key)

    def _find_traced(self, rest: bytes) -> Question | None:
        """Return the question of a line, without its id, that has a trace context; None if it has none."""
        without = _drop_trace(rest)
        if without is rest or len(rest) - len(without) > MAX_TRACE_BYTES:
            return None
        return self._known.get(without)

    def remember(self, line: bytes, request_id: bytes, cache_key: Question) -> None:
        """Remember the parsed question of a line, so that the same line with another id need not be parsed.

        Do nothing if the id cannot be cut out unambiguously, or if the line is too long.
        """
        written_id, rest = _split_id(line, 0, len(line))
        rest = _drop_trace(rest)
        if len(rest) > _MAX_LINE_BYTES or not written_id or written_id != request_id:
            return
        if _ID in rest or _ESCAPE in rest:  # a second `id` may follow, and the last one counts
            return
        if any(key in _EMPTY_TRACE.sub(b"", rest) for key in _TRACE_NAMES):  # written unusually
            return  # each value would be another line
        if len(self._known) >= _MAX_LINES:
            self._known.clear()
        self._known[rest] = cache_key


def _drop_trace(rest: bytes) -> bytes:
    """Return a line with empty values in its trace context. Return the same object if it has none.

    A value without quotes and escapes can be replaced with any other such value without a change to the rest
    of the message. So two lines with the same result differ only in the text of these values, wherever they
    are.
    """
    for name in _TRACE_NAMES:
        if name in rest:
            return _TRACE.sub(rb'\1""', rest)
    return rest


def _split_id(chunk: bytes, begin: int, end: int) -> tuple[bytes, bytes]:
    """Return the id of the line from `begin` to `end`, and the line without it.

    Returns two empty values unless the id is a non-negative whole number.
    """
    compact = chunk.startswith(_COMPACT_START, begin)
    if compact or chunk.startswith(_SPACED_START, begin):
        at = begin + (_AFTER_COMPACT if compact else _AFTER_SPACED)
        after = chunk.find(b",", at, end)
        request_id, rest = chunk[at:after], chunk[after:end]
    elif (at := chunk.rfind(_LAST, begin, end)) > 0 and chunk[end - 1] == _END:
        request_id, rest = chunk[at + _AFTER_LAST : end - 1], chunk[begin:at]
    else:
        return b"", b""
    is_number = (
        request_id.isdigit()
        and len(request_id) <= _DIGITS
        and (request_id[0] != _ZERO or len(request_id) == 1)
    )
    return (request_id, rest) if is_number else (b"", b"")
