"""The digest of a file's bytes, as listings spell it."""

import hashlib
import re
from dataclasses import dataclass
from typing import Self

from skillwire.model.errors import InvalidValueError

_SPELLING = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A SHA-256 of raw bytes, written `sha256:` and 64 lower-case hex digits (S8)."""

    text: str

    def __post_init__(self) -> None:
        if not _SPELLING.fullmatch(self.text):
            raise InvalidValueError("digest", self.text, "`sha256:` and 64 lower-case hex digits")

    @classmethod
    def of(cls, content: bytes) -> Self:
        digest = object.__new__(cls)  # it is spelled right: no need to look
        object.__setattr__(digest, "text", "sha256:" + hashlib.sha256(content).hexdigest())
        return digest

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the digest that somebody wrote, or None if that is none."""
        return cls(text) if _SPELLING.fullmatch(text) else None

    def __str__(self) -> str:
        return self.text
