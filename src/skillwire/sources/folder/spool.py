"""Bytes that are seldom wanted, put by in a file without a name: out of memory, and gone with the process."""

import tempfile
import threading
import weakref
import zlib
from typing import IO, TypeAlias

from skillwire.model.errors import SourceError

Shelved: TypeAlias = int | bytes
"""Where something begins in the file; or the thing itself, made small, where it could not be put there."""

_MOST = 256 * 1024 * 1024
"""Bytes of the file. What was put by and is not wanted any more stays in it, too."""


class Spool:
    """Takes bytes and gives them back, in any thread. What finds no room in the file stays in memory."""

    def __init__(self, most: int = _MOST) -> None:
        self._room = most
        self._file: IO[bytes] | None = None
        self._end = 0
        self._lock = threading.Lock()

    def put(self, content: bytes) -> Shelved:
        """Put some bytes by."""
        with self._lock:
            at = self._end
            if self._write(content):
                self._end += len(content)
                return at
        return zlib.compress(content, 1)

    def take(self, shelved: Shelved, length: int) -> bytes:
        """Return what was put by, which had this length. Raises `SourceError` if it is lost."""
        if isinstance(shelved, bytes):
            return zlib.decompress(shelved)
        assert self._file is not None, "something was put into it"
        with self._lock:
            try:
                self._file.seek(shelved)
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
