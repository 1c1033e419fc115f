"""The last good content of each `SKILL.md`, served while an edit leaves the file broken.

This content is rarely needed, so it is spilled to an anonymous temporary file.
"""

import tempfile
import threading
import weakref
import zlib
from typing import IO, Self, TypeAlias

from skillwire.core.record import Digest
from skillwire.errors import SourceError
from skillwire.sources.folder.files import read_file

Spilled: TypeAlias = int | bytes
"""The offset of content in the spill file, or the compressed content if it did not fit into the file."""

_MAX_SPILLED_BYTES = 256 * 1024 * 1024
"""Maximum size of the spill file in bytes.

Content is never removed from it, even if it is no longer needed.
"""


class SpillFile:
    """A thread-safe anonymous temporary file for byte strings, with a size limit."""

    def __init__(self, max_bytes: int = _MAX_SPILLED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._file: IO[bytes] | None = None
        self._end = 0
        self._lock = threading.Lock()

    def put(self, content: bytes) -> Spilled:
        """Store `content`. Return its offset, or the compressed content if it does not fit into the file."""
        with self._lock:
            at = self._end
            if self._write(content):
                self._end += len(content)
                return at
        return zlib.compress(content, 1)

    def take(self, spilled: Spilled, length: int) -> bytes:
        """Return the content of `length` bytes that `put` stored. Raises `SourceError` if it is lost."""
        if isinstance(spilled, bytes):
            return zlib.decompress(spilled)
        assert self._file is not None, "an offset exists only after a write"
        with self._lock:
            try:
                self._file.seek(spilled)
                content = self._file.read(length)
            except OSError as error:
                raise SourceError(f"cannot be read: {(error.strerror or 'lost').lower()}") from error
        if len(content) < length:
            raise SourceError("cannot be read: its last good version is lost")
        return content

    def _write(self, content: bytes) -> bool:
        if self._end + len(content) > self._max_bytes:
            return False
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as this object exists
                weakref.finalize(self, self._file.close)
            self._file.seek(self._end)
            return self._file.write(content) == len(content)
        except OSError:
            self._max_bytes = 0  # no temporary folder, or the disk is full; do not try again
            return False


class LastGood:
    """The last good content of one file. It stays in memory until `spill` is called after a scan."""

    __slots__ = ("_content", "_length", "_spill_file", "_spilled", "_unread")

    def __init__(self, content: bytes, spill_file: SpillFile) -> None:
        self._spill_file = spill_file
        self._content: bytes | None = content
        self._length = len(content)
        self._spilled: Spilled | None = None
        self._unread: tuple[str, int, Digest] | None = None

    @classmethod
    def from_file(cls, location: str, size: int, digest: Digest, spill_file: SpillFile) -> Self:
        """Create an instance that reads the content later, from a file that is known to have this digest."""
        last_good = cls(b"", spill_file)
        last_good._unread = location, size, digest
        return last_good

    @classmethod
    def spilled(cls, spilled: Spilled, length: int, spill_file: SpillFile) -> Self:
        """Create an instance for content that is already in the spill file."""
        last_good = cls(b"", spill_file)
        last_good._content, last_good._length, last_good._spilled = None, length, spilled
        return last_good

    def is_available(self) -> bool:
        """Read the content if that was not done yet. Return False if its file is gone or has changed."""
        if self._unread is not None:
            self._read(*self._unread)
        return self._unread is None

    def content(self) -> bytes:
        """Return the bytes, which must be available. Raises `SourceError` if the spilled bytes are lost."""
        assert self.is_available(), "the caller has checked"
        if (content := self._content) is not None:
            return content
        assert self._spilled is not None, "content is spilled before it is dropped"
        return self._spill_file.take(self._spilled, self._length)

    def spill(self) -> None:
        """Move the bytes to the spill file, or compress them if they do not fit. Thread-safe."""
        if self.is_available() and (content := self._content) is not None:
            self._spilled = self._spill_file.put(content)
            self._content = None

    def _read(self, location: str, size: int, digest: Digest) -> None:
        try:
            content, _ = read_file(location, size)
        except SourceError:
            return
        if Digest.of(content) == digest:
            self._content, self._length, self._unread = content, len(content), None
