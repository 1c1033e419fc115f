"""The digest of a file's bytes, as listings spell it."""

import hashlib
import re
from dataclasses import dataclass
from typing import Self

from skillwire.model.errors import InvalidValueError

_PREFIX = "sha256:"
_SPELLING = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
LENGTH = 32
"""Bytes of a digest."""


@dataclass(frozen=True, slots=True, order=True, init=False)
class Digest:
    """A SHA-256 of raw bytes, written `sha256:` and 64 lower-case hex digits (S8)."""

    raw: bytes
    """Half as long as its spelling: there may be very many."""

    def __init__(self, text: str) -> None:
        if not _SPELLING.fullmatch(text):
            raise InvalidValueError("digest", text, "`sha256:` and 64 lower-case hex digits")
        object.__setattr__(self, "raw", bytes.fromhex(text[len(_PREFIX) :]))

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Return the digest of these bytes."""
        return cls.from_raw(hashlib.sha256(content).digest())

    @classmethod
    def from_raw(cls, raw: bytes) -> Self:
        """Return the digest that somebody has as bytes."""
        if len(raw) != LENGTH:
            raise InvalidValueError("digest", raw.hex(), f"{LENGTH} bytes")
        digest = object.__new__(cls)
        object.__setattr__(digest, "raw", raw)
        return digest

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the digest that somebody wrote, or None if that is none."""
        return cls(text) if _SPELLING.fullmatch(text) else None

    @property
    def text(self) -> str:
        return _PREFIX + self.raw.hex()

    def __str__(self) -> str:
        return self.text
