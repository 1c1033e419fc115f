"""A gzip file as a stream that ends: at its own end, or where it becomes too much."""

import zlib

from skillwire.wire.archive_rules import CUT_SHORT, DAMAGED, GOES_ON, ArchiveError

_PIECE = 65_536


class Gunzip:
    """What a gzip file holds, from the beginning to the end, but no more than `limit` bytes."""

    def __init__(self, content: bytes, limit: int) -> None:
        self._packed = memoryview(content)
        self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._ahead = memoryview(b"")
        self._limit = self._left = limit

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        pieces: list[memoryview] = []
        while size:
            if not self._ahead:
                self._ahead = memoryview(self._next())
            if not self._ahead:
                raise ArchiveError(CUT_SHORT)
            pieces.append(self._ahead[:size])
            self._ahead = self._ahead[size:]
            size -= len(pieces[-1])
        return b"".join(pieces)

    def finish(self) -> None:
        """Go on to the end. Nothing but padding may come."""
        rest = bytes(self._ahead) or self._next()
        while rest:
            if rest.count(0) != len(rest):
                raise ArchiveError(GOES_ON)
            rest = self._next()

    def _next(self) -> bytes:
        """Return some more bytes, or none at the end, where zlib has found the checksum right."""
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed:
                packed, self._packed = self._packed[:_PIECE], self._packed[_PIECE:]
            try:
                piece = self._inflate.decompress(packed, _PIECE)
            except zlib.error as error:
                raise ArchiveError(DAMAGED) from error
            self._left -= len(piece)
            if self._left < 0:
                raise ArchiveError(f"unpacks to more than {self._limit:,} bytes")
            if piece:
                return piece
            if not packed:
                raise ArchiveError(CUT_SHORT)
        if self._inflate.unused_data or self._packed:
            raise ArchiveError(GOES_ON)
        return b""
