"""The last good content of each `SKILL.md`, served while an edit leaves the file broken.

This content is rarely needed, so it is spilled to an anonymous temporary file.
"""

import tempfile
import threading
import time
import weakref
import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import IO, Protocol, Self, TypeAlias

from skillwire.core.record import Digest
from skillwire.errors import SourceError
from skillwire.sources.folder.files import read_file

Spilled: TypeAlias = int | bytes
"""The offset of content in the spill file, or the compressed content if it did not fit into the file."""

_MAX_SPILLED_BYTES = 256 * 1024 * 1024
"""Maximum size of the spill file in bytes.

Content is never removed from it, even if it is no longer needed.
"""


_BATCH_BYTES = 1024 * 1024


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

    def put_all(self, contents: Sequence[bytes]) -> list[Spilled]:
        """Store several byte strings with one write. Return the same as `put` for each."""
        with self._lock:
            at = self._end
            joined = b"".join(contents)
            if self._write(joined):
                self._end += len(joined)
                return list(accumulate(map(len, contents[:-1]), initial=at))
        return [self.put(content) for content in contents]

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


class Spillable(Protocol):
    """An object with content that can be spilled."""

    def unspilled(self) -> bytes | None:
        """Return the content if it is not in the spill file yet. Return None if it is, or cannot be read."""
        ...

    def set_spilled(self, spilled: Spilled, length: int, spill_file: SpillFile) -> None:
        """Drop the content from memory, because it is in the spill file now."""
        ...


def spill_all(items: Iterable[Spillable], spill_file: SpillFile, pause: float = 0.0) -> None:
    """Spill the content of all items, a batch with each write. Wait `pause` seconds after each batch."""
    batch: list[tuple[Spillable, bytes]] = []
    size = 0
    for item in items:
        if (content := item.unspilled()) is not None:
            batch.append((item, content))
            size += len(content)
        if size > _BATCH_BYTES:
            _spill_batch(batch, spill_file)
            batch, size = [], 0
            time.sleep(pause)
    _spill_batch(batch, spill_file)


def _spill_batch(batch: Sequence[tuple[Spillable, bytes]], spill_file: SpillFile) -> None:
    if batch:
        spilled = spill_file.put_all([content for _, content in batch])
        for (item, content), each in zip(batch, spilled, strict=True):
            item.set_spilled(each, len(content), spill_file)


class LastGood:
    """The last good content of one file. It stays in memory until it is spilled."""

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
        last_good.set_spilled(spilled, length, spill_file)
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

    def unspilled(self) -> bytes | None:
        return self._content if self.is_available() else None

    def set_spilled(self, spilled: Spilled, length: int, spill_file: SpillFile) -> None:
        self._spill_file, self._spilled, self._length = spill_file, spilled, length
        self._content = None

    def _read(self, location: str, size: int, digest: Digest) -> None:
        try:
            content, _ = read_file(location, size)
        except SourceError:
            return
        if Digest.of(content) == digest:
            self._content, self._length, self._unread = content, len(content), None
