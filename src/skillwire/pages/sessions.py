"""Sessions of the pages in a browser.

A token or one-time key opens a session, and the page sends the session id in a header. There is no cookie,
because a browser sends cookies to every port of a host, and so to other local servers. The page keeps the
session id in its storage, which is bound to its origin, including the port.
"""

import secrets
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from skillwire.server.http.credentials import ExpiringSecrets, bearer_token, is_same

SESSION_HEADER = "x-skillwire-session"
CSRF_HEADER = "x-skillwire-page"
MAX_SESSIONS = 100
"""Maximum number of sessions. A further session ends the oldest."""
SESSION_SECONDS = 7 * 24 * 3600.0
"""Seconds after which a session ends."""
_SECRET_BYTES = 32


class PageSession:
    """The session of a page that sent the token or a one-time key."""

    def __init__(self, expires_at: float) -> None:
        self.expires_at = expires_at
        self.closed = False
        self._listeners: list[Callable[[], None]] = []

    def on_end(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when the session ends. Return a function that removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def end(self) -> None:
        self.closed = True
        for listener in tuple(self._listeners):
            listener()


class PageSessions:
    """Checks the token, one-time keys and the CSRF token, and manages sessions.

    Stores only hashes of session ids.
    """

    def __init__(
        self,
        token: str | None,
        *,
        new_key: Callable[[str], None] | None = None,
        max_sessions: int = MAX_SESSIONS,
        seconds: float = SESSION_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the sessions for a server.

        With `new_key`, one-time keys also open sessions. `new_key` is called with each key after the first.
        """
        self._token = token
        self._new_key = new_key
        self._key = None if new_key is None else secrets.token_urlsafe(_SECRET_BYTES)
        self._seconds = seconds
        self._clock = clock
        self._sessions = ExpiringSecrets[PageSession](
            seconds, max_sessions, clock=clock, ended=PageSession.end
        )
        self.csrf = secrets.token_urlsafe(24)
        """The CSRF token that a call without a session must send. Pages from other origins cannot read it."""

    @property
    def open(self) -> bool:
        """Whether pages work without a session, because the server has no token."""
        return self._token is None

    @property
    def key(self) -> str | None:
        """The one-time key that opens the next session, or None if one-time keys are not used."""
        return self._key

    def log_in_with_token(self, token: str) -> str | None:
        """Return the id of a new session, or None if the token is wrong."""
        return self._begin() if self._is_token(token) else None

    def log_in_with_key(self, key: str) -> str | None:
        """Return the id of a new session, or None if the key is wrong.

        Each key works once. A new key replaces it, and `new_key` is called with the new key.
        """
        if self._key is None or self._new_key is None or not is_same(key, self._key):
            return None
        self._key = secrets.token_urlsafe(_SECRET_BYTES)
        self._new_key(self._key)
        return self._begin()

    def find(self, headers: Headers) -> PageSession | None:
        """Return the session of a request, or None if the request has no valid session."""
        values = headers.getlist(SESSION_HEADER)
        return self._sessions.find(values[0]) if len(values) == 1 else None

    def leave(self, headers: Headers) -> None:
        """End the session of a request, and its event streams."""
        for value in headers.getlist(SESSION_HEADER):
            self._sessions.revoke(value)

    def is_over(self, session: PageSession) -> bool:
        return session.closed or session.expires_at <= self._clock()

    def is_authorized(self, scope: Scope) -> bool:
        """Return whether a request has a valid session."""
        return self.find(Headers(scope=scope)) is not None

    def has_token(self, headers: Headers) -> bool:
        """Return whether a request sends the token itself, as a bearer token."""
        token = bearer_token(headers)
        return token is not None and self._is_token(token)

    def has_csrf(self, headers: Headers) -> bool:
        return is_same(headers.get(CSRF_HEADER, ""), self.csrf)

    def _begin(self) -> str:
        return self._sessions.issue(PageSession(self._clock() + self._seconds))

    def _is_token(self, token: str) -> bool:
        return self._token is not None and is_same(token, self._token)


def is_same_origin(headers: Headers) -> bool:
    """Return whether a request comes from this server's pages, or from no web page at all.

    Web pages from other loopback addresses may call `/mcp`, but not the routes of these pages.
    """
    if any(site not in {"same-origin", "none"} for site in headers.getlist("sec-fetch-site")):
        return False
    origins = headers.getlist("origin")
    if not origins:
        return True
    return len(origins) == 1 and urlsplit(origins[0]).netloc.lower() == headers.get("host", "").lower()
