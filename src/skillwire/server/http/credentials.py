"""Secrets that clients show: bearer tokens, and random values that expire and are stored as hashes only."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from starlette.datastructures import Headers

Value = TypeVar("Value")
_SECRET_BYTES = 32


def _ignore(_value: object) -> None:
    """Do nothing when a secret ends."""


class ExpiringSecrets(Generic[Value]):
    """Random secrets, each of which stands for a value until it expires or is revoked.

    Only hashes are kept. One secret more than allowed ends the oldest.
    """

    def __init__(
        self,
        seconds: float,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        ended: Callable[[Value], None] = _ignore,
    ) -> None:
        """`ended` is called with the value of each secret that ends."""
        self._seconds, self._most, self._clock, self._ended = seconds, most, clock, ended
        self._values: dict[bytes, tuple[float, Value]] = {}

    def issue(self, value: Value) -> str:
        """Return a new secret that stands for `value`."""
        now = self._clock()
        for digest, (until, _) in tuple(self._values.items()):  # the oldest comes first
            if until > now and len(self._values) < self._most:
                break
            self._end(digest)
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        self._values[_digest(secret)] = (now + self._seconds, value)
        return secret

    def find(self, secret: str) -> Value | None:
        """Return what a secret stands for, or None if it has expired or never was one."""
        digest = _digest(secret)
        if (found := self._values.get(digest)) is None:
            return None
        until, value = found
        if until <= self._clock():
            self._end(digest)
            return None
        return value

    def revoke(self, secret: str) -> None:
        """End a secret, if it is one."""
        self._end(_digest(secret))

    def _end(self, digest: bytes) -> None:
        if (found := self._values.pop(digest, None)) is not None:
            self._ended(found[1])


def is_same(one: str, other: str) -> bool:
    """Whether two secrets are the same. Takes as long either way."""
    return hmac.compare_digest(one.encode(), other.encode())


def bearer_token(headers: Headers) -> str | None:
    """Return the token in the `Authorization` header, if there is exactly one such header."""
    given = headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return token.strip() if scheme.lower() == "bearer" else None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
