"""The content of a `SKILL.md` that was good, kept for the day when an edit breaks it."""

from typing import Self

from skillwire.model.digest import Digest
from skillwire.model.errors import SourceError
from skillwire.sources.folder.files import read_file
from skillwire.sources.folder.spool import Shelved, Spool


class Kept:
    """Some bytes. They are put by when there is time: a scan has none."""

    __slots__ = ("_content", "_length", "_shelved", "_spool", "_unread")

    def __init__(self, content: bytes, spool: Spool) -> None:
        self._spool = spool
        self._content: bytes | None = content
        self._length = len(content)
        self._shelved: Shelved | None = None
        self._unread: tuple[str, int, Digest] | None = None

    @classmethod
    def unread(cls, location: str, size: int, digest: Digest, spool: Spool) -> Self:
        """Return what will be read when there is time, from a file that is known to have this digest."""
        kept = cls(b"", spool)
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

    def put_by(self) -> None:
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
