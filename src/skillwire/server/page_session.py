"""Who may use the pages: the token, entered once, becomes a cookie; every request shows that it is ours."""

import base64
import hmac
import secrets
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

COOKIE = "skillwire_page"
MAX_AGE = 30 * 24 * 3600
CSRF_HEADER = "x-skillwire-page"


class PageSession:
    """Knows the token, if there is one, and the secret that only a page of this server can have read."""

    def __init__(self, token: str | None, clock: Callable[[], float] = time.time) -> None:
        self._token = token
        self._clock = clock
        # From the token: a cookie outlives a restart of the server, and not a change of the token.
        self._key = hmac.digest((token or "").encode(), b"skillwire: the cookie of the pages", "sha256")
        self.csrf = secrets.token_urlsafe(24)
        """Sent back with each call. Another origin can have the browser send requests, but not read this."""

    @property
    def open(self) -> bool:
        """Whether nobody has to show anything, as on `/mcp`."""
        return self._token is None

    def knows(self, token: str) -> bool:
        return self._token is not None and hmac.compare_digest(token.encode(), self._token.encode())

    def vouches(self, scope: Scope) -> bool:
        """Whether a request carries a good cookie, or the token itself."""
        if self._token is None:
            return False
        headers = Headers(scope=scope)
        lines = headers.getlist("cookie")
        sent = (each.strip().partition("=") for line in lines for each in line.split(";"))
        if any(self._is_good(value) for name, _, value in sent if name == COOKIE):
            return True
        given = headers.getlist("authorization")
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        return scheme.lower() == "bearer" and self.knows(token.strip())

    def cookie(self, *, secure: bool) -> str:
        """Return the header that lets a browser in."""
        until = str(int(self._clock()) + MAX_AGE)
        return _header(f"{until}.{self._signature(until)}", MAX_AGE, secure=secure)

    def no_cookie(self, *, secure: bool) -> str:
        """Return the header that has a browser forget its cookie."""
        return _header("", 0, secure=secure)

    def has_csrf(self, headers: Headers) -> bool:
        return hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), self.csrf.encode())

    def _is_good(self, value: str) -> bool:
        until, _, signature = value.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(until).encode()):
            return False
        return int(until) > self._clock()

    def _signature(self, until: str) -> str:
        signed = hmac.digest(self._key, until.encode(), "sha256")
        return base64.urlsafe_b64encode(signed).rstrip(b"=").decode("ascii")


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this very server, or from no page at all.

    Other pages on this machine may call `/mcp` of a loopback server. They may not steer it.
    """
    site = headers.get("sec-fetch-site")
    if site not in {None, "same-origin", "none"}:
        return False
    origins = headers.getlist("origin")
    if not origins:
        return True
    return len(origins) == 1 and urlsplit(origins[0]).netloc.lower() == headers.get("host", "").lower()


def _header(value: str, max_age: int, *, secure: bool) -> str:
    header = f"{COOKIE}={value}; Path=/ui; Max-Age={max_age}; HttpOnly; SameSite=Strict"
    return f"{header}; Secure" if secure else header
