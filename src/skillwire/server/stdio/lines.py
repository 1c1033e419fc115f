"""Split standard input into bounded lines, and recognise requests that were seen before."""

from collections.abc import Iterator

from skillwire.protocol.bounds import MAX_MESSAGE_BYTES
from skillwire.server.response_cache import BEFORE_ID, BEFORE_RESULT, Question, ResponseCache

_COMPACT_START, _SPACED_START = b'{"jsonrpc":"2.0","id":', b'{"jsonrpc": "2.0", "id": '
_LAST = b',"id":'
_BEHIND_DENSE, _BEHIND_SPACED, _BEHIND_LAST = len(_COMPACT_START), len(_SPACED_START), len(_LAST)
_ID = b'"id"'
_ESCAPE = b"\\"
"""Lets a name be spelled in many ways."""
_ZERO, _END = b"0}"
_DIGITS = 15
"""Of an id that is recognised. Nobody counts further."""
_MOST = 8192
_LONGEST = 1024
"""Bytes of a line that is remembered."""


class LineTooLongError(Exception):
    """A line that was thrown away unread."""


class LineSplitter:
    """Collects chunks and gives out the lines that are whole. Never holds more than one line and a chunk."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self.begun = 0
        """Bytes of a line whose end has not come yet."""
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes | LineTooLongError]:
        """Take a chunk; return each line that it ends, without its newline."""
        *ended, rest = chunk.split(b"\n")
        lines: list[bytes | LineTooLongError] = []
        for piece in ended:
            if not self.begun and not self._skipping and len(piece) <= self._limit:
                if piece and not piece.isspace():  # a whole line, as most are
                    lines.append(piece)
                continue
            self._add(piece)
            lines.extend(self._take())
        if rest:
            self._add(rest)
        return lines

    def end(self) -> Iterator[bytes | LineTooLongError]:
        """Yield what stands behind the last newline, if anything does."""
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
    """Remembers the question of each line by all that stands around the id.

    The id is the first member behind the version, or the last of all: there it cannot be anybody else's. With
    another whole number in its place, a line is the same request with another id.
    """

    def __init__(self, response_cache: ResponseCache) -> None:
        self._lane = response_cache
        self._known: dict[bytes, Question] = {}

    def answer_known(self, chunk: bytes, enough: int) -> tuple[bytes, bytes]:
        """Return the answers to the first lines of a chunk, and the rest of it, which was left alone.

        The rest begins with a line that is not known, not ready or not whole, or before which there was more
        than `enough` already. Most often there is none: so lines are not even cut out before they are known.
        """
        pieces: list[bytes] = []
        begin, length = 0, len(chunk)
        while begin < length and (end := chunk.find(b"\n", begin)) > 0:
            request_id, rest = _split_id(chunk, begin, end)
            cache_key = self._known.get(rest)
            if cache_key is None or enough < 0 or (result := self._lane.get_cached(cache_key)) is None:
                break
            pieces += (BEFORE_ID, request_id, BEFORE_RESULT, result, b"}\n")
            enough -= len(result)
            begin = end + 1
        return b"".join(pieces), chunk[begin:]

    def note(self, line: bytes, request_id: bytes, cache_key: Question) -> None:
        """Remember what a line meant, if it can be told from its spelling alone."""
        spelled, rest = _split_id(line, 0, len(line))
        if len(line) > _LONGEST or not spelled or spelled != request_id:
            return
        if _ID in rest or _ESCAPE in rest:  # there may be another id, which the last one overrules
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[rest] = cache_key


def _split_id(chunk: bytes, begin: int, end: int) -> tuple[bytes, bytes]:
    """Return the id of the line from `begin` to `end`, and the rest of it; nothing if it has no such id.

    Such an id is a whole number that is not negative, as JSON spells it.
    """
    dense = chunk.startswith(_COMPACT_START, begin)
    if dense or chunk.startswith(_SPACED_START, begin):
        at = begin + (_BEHIND_DENSE if dense else _BEHIND_SPACED)
        behind = chunk.find(b",", at, end)
        request_id, rest = chunk[at:behind], chunk[behind:end]
    elif (at := chunk.rfind(_LAST, begin, end)) > 0 and chunk[end - 1] == _END:
        request_id, rest = chunk[at + _BEHIND_LAST : end - 1], chunk[begin:at]
    else:
        return b"", b""
    whole = (
        request_id.isdigit()
        and len(request_id) <= _DIGITS
        and (request_id[0] != _ZERO or len(request_id) == 1)
    )
    return (request_id, rest) if whole else (b"", b"")
