"""The content of a `SKILL.md` that was good, kept for the day when an edit breaks it."""

import zlib
from typing import Self

from skillwire.model.digest import Digest
from skillwire.model.errors import SourceError
from skillwire.sources.folder.files import read_file


class Kept:
    """Some bytes. They are made small when there is time: a scan has none."""

    __slots__ = ("_packed", "_plain", "_unread")

    def __init__(self, content: bytes) -> None:
        self._plain: bytes | None = content
        self._packed = b""
        self._unread: tuple[str, int, Digest] | None = None

    @classmethod
    def unread(cls, location: str, size: int, digest: Digest) -> Self:
        """Return what will be read when there is time, from a file that is known to have this digest."""
        kept = cls(b"")
        kept._unread = location, size, digest
        return kept

    @property
    def available(self) -> bool:
        """Whether the bytes are here, or still where they were."""
        if self._unread is not None:
            self._read(*self._unread)
        return self._unread is None

    def content(self) -> bytes:
        """Return the bytes."""
        assert self.available, "whoever holds it has asked"
        plain = self._plain
        return zlib.decompress(self._packed) if plain is None else plain

    def pack(self) -> None:
        """Hold the bytes in less memory from now on. May be called from any thread."""
        if self.available and (plain := self._plain) is not None:
            self._packed = zlib.compress(plain, 1)
            self._plain = None

    def _read(self, location: str, size: int, digest: Digest) -> None:
        try:
            content, _ = read_file(location, size)
        except SourceError:
            return
        if Digest.of(content) == digest:
            self._plain, self._unread = content, None
