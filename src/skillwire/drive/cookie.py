"""The cookie that `/mdp/auth` sets: who somebody claims to be, signed, for an hour."""

import base64
import binascii
import hmac
import secrets
import time
from collections.abc import Callable

import orjson
from starlette.datastructures import Headers

from skillwire.drive.reading import Fields, ShapeError
from skillwire.drive.registration import Auth

NAME = "mdp_auth"
MAX_AGE = 3600
MAX_COOKIE = 4096
"""Bytes of a cookie that browsers keep."""


class AuthCookie:
    """Signs with a key of this process alone: after a restart, everybody introduces themselves again."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock

    def sealed(self, auth: Auth) -> str:
        """Return the value of a cookie that holds `auth`."""
        payload = _encoded(orjson.dumps({"auth": auth.to_json(), "until": int(self._clock()) + MAX_AGE}))
        return f"{payload}.{self._signature(payload)}"

    def opened(self, value: str) -> Auth | None:
        """Return what a cookie holds; None if it is not one of ours, or too old."""
        payload, _, signature = value.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(payload).encode()):
            return None
        try:
            fields = Fields.of(orjson.loads(_decoded(payload)))
            return Auth.read(fields.part("auth")) if fields.number("until") > self._clock() else None
        except (ShapeError, ValueError, binascii.Error):
            return None

    def of(self, headers: Headers) -> Auth | None:
        """Return what the cookie of a request holds, if it has a good one."""
        # By hand: the parser of the standard library gives up at a neighbour that it does not like.
        sent = (each.strip().partition("=") for line in headers.getlist("cookie") for each in line.split(";"))
        opened = (self.opened(value.strip('"')) for name, _, value in sent if name == NAME)
        return next((auth for auth in opened if auth is not None), None)

    def _signature(self, payload: str) -> str:
        return _encoded(hmac.digest(self._key, payload.encode(), "sha256"))


def set_cookie(value: str, max_age: int, *, secure: bool) -> str:
    """Return the header that sets the cookie, or with an empty value takes it back."""
    header = f"{NAME}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax"
    return f"{header}; Secure" if secure else header


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
