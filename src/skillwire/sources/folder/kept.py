"""The content of a `SKILL.md` that was good, kept for the day when an edit breaks it."""

import zlib


class Kept:
    """Some bytes. They are made small when there is time: a scan has none."""

    __slots__ = ("_packed", "_plain")

    def __init__(self, content: bytes) -> None:
        self._plain: bytes | None = content
        self._packed = b""

    def content(self) -> bytes:
        """Return the bytes."""
        plain = self._plain
        return zlib.decompress(self._packed) if plain is None else plain

    def pack(self) -> None:
        """Hold the bytes in less memory from now on. May be called from any thread."""
        if (plain := self._plain) is not None:
            self._packed = zlib.compress(plain, 1)
            self._plain = None
