"""Bytes of a pipe to lines, with a bound on how long a line may be."""

from collections.abc import Iterator

MAX_LINE = 4 * 1024 * 1024
"""As much as the SDK takes in the body of an HTTP request."""


class LineTooLongError(Exception):
    """A line that was thrown away unread."""


class LineSplitter:
    """Collects chunks and gives out the lines that are whole. Never holds more than one line and a chunk."""

    def __init__(self, limit: int = MAX_LINE) -> None:
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
