"""The last good content of a `SKILL.md`, spilled to a temporary file until an edit breaks it."""

import tempfile
import threading
import weakref
import zlib
from typing import IO, Self, TypeAlias

from skillwire.core.record import Digest
from skillwire.errors import SourceError
from skillwire.sources.folder.files import read_file

Spilled: TypeAlias = int | bytes
"""Where something begins in the file; or the thing itself, made small, where it could not be put there."""

_MAX_SPILLED_BYTES = 256 * 1024 * 1024
"""Bytes of the file. What was put by and is not wanted any more stays in it, too."""


class SpillFile:
    """Takes bytes and gives them back, in any thread. What finds no room in the file stays in memory."""

    def __init__(self, most: int = _MAX_SPILLED_BYTES) -> None:
        self._room = most
        self._file: IO[bytes] | None = None
        self._end = 0
        self._lock = threading.Lock()

    def put(self, content: bytes) -> Spilled:
        """Put some bytes by."""
        with self._lock:
            at = self._end
            if self._write(content):
                self._end += len(content)
                return at
        return zlib.compress(content, 1)

    def take(self, spilled: Spilled, length: int) -> bytes:
        """Return what was put by, which had this length. Raises `SourceError` if it is lost."""
        if isinstance(spilled, bytes):
            return zlib.decompress(spilled)
        assert self._file is not None, "something was put into it"
        with self._lock:
            try:
                self._file.seek(spilled)
                content = self._file.read(length)
            except OSError as error:
                raise SourceError(f"cannot be read: {(error.strerror or 'lost').lower()}") from error
        if len(content) < length:
            raise SourceError("cannot be read: it was put by, and is lost")
        return content

    def _write(self, content: bytes) -> bool:
        if self._end + len(content) > self._room:
            return False
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - for as long as this lives
                weakref.finalize(self, self._file.close)
            self._file.seek(self._end)
            return self._file.write(content) == len(content)
        except OSError:
            self._room = 0  # no place for it, or no room any more: nobody tries again
            return False


class LastGood:
    """Some bytes. They are put by when there is time: a scan has none."""

    __slots__ = ("_content", "_length", "_shelved", "_spool", "_unread")

    def __init__(self, content: bytes, spill_file: SpillFile) -> None:
        self._spool = spill_file
        self._content: bytes | None = content
        self._length = len(content)
        self._shelved: Spilled | None = None
        self._unread: tuple[str, int, Digest] | None = None

    @classmethod
    def from_file(cls, location: str, size: int, digest: Digest, spill_file: SpillFile) -> Self:
        """Return what will be read when there is time, from a file that is known to have this digest."""
        kept = cls(b"", spill_file)
        kept._unread = location, size, digest
        return kept

    def is_available(self) -> bool:
        """Whether the bytes are here, or still where they were."""
        if self._unread is not None:
            self._read(*self._unread)
        return self._unread is None

    def content(self) -> bytes:
        """Return the bytes. Raises `SourceError` if they were put by and are lost."""
        assert self.is_available(), "whoever holds it has asked"
        if (content := self._content) is not None:
            return content
        assert self._shelved is not None, "it is put by before it is let go of"
        return self._spool.take(self._shelved, self._length)

    def spill(self) -> None:
        """Hold the bytes out of memory from now on. May be called from any thread."""
        if self.is_available() and (content := self._content) is not None:
            self._shelved = self._spool.put(content)
            self._content = None

    def _read(self, location: str, size: int, digest: Digest) -> None:
        try:
            content, _ = read_file(location, size)
        except SourceError:
            return
        if Digest.of(content) == digest:
            self._content, self._length, self._unread = content, len(content), None
