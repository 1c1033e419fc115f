"""Secrets that clients send: bearer tokens, and random secrets that expire and are stored only as hashes."""

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
    """Do nothing. The default for `ended`."""


class ExpiringSecrets(Generic[Value]):
    """Random secrets, each mapped to a value until it expires or is revoked.

    Only hashes are stored. Issuing more than `limit` secrets revokes the oldest.
    """

    def __init__(
        self,
        seconds: float,
        limit: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        ended: Callable[[Value], None] = _ignore,
    ) -> None:
        """Create an empty store.

        `ended` is called with the value of each secret that expires or is revoked.
        """
        self._seconds, self._limit, self._clock, self._ended = seconds, limit, clock, ended
        self._values: dict[bytes, tuple[float, Value]] = {}

    def issue(self, value: Value) -> str:
        """Return a new secret for `value`."""
        now = self._clock()
        for digest, (until, _) in tuple(self._values.items()):  # the oldest secret comes first
            if until > now and len(self._values) < self._limit:
                break
            self._end(digest)
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        self._values[_digest(secret)] = (now + self._seconds, value)
        return secret

    def find(self, secret: str) -> Value | None:
        """Return the value of a secret, or None if it is unknown, expired or revoked."""
        digest = _digest(secret)
        if (found := self._values.get(digest)) is None:
            return None
        until, value = found
        if until <= self._clock():
            self._end(digest)
            return None
        return value

    def revoke(self, secret: str) -> None:
        """Revoke a secret. Unknown secrets are ignored."""
        self._end(_digest(secret))

    def _end(self, digest: bytes) -> None:
        if (found := self._values.pop(digest, None)) is not None:
            self._ended(found[1])


def is_same(one: str, other: str) -> bool:
    """Return whether two secrets are equal, in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


def bearer_token(headers: Headers) -> str | None:
    """Return the bearer token in the `Authorization` header.

    Return None unless there is exactly one such header, with the scheme `Bearer`.
    """
    values = headers.getlist("authorization")
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return token.strip() if scheme.lower() == "bearer" else None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
