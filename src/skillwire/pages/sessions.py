"""Who may use the pages: a token or a one-time key buys a session, which the page shows in a header.

There is no cookie. A browser sends cookies to every port of a host, so another server on this machine would
get them. What a page keeps in its storage stays with its own origin, port included.
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
"""Sessions of pages at the same time. One more ends the oldest."""
SESSION_SECONDS = 7 * 24 * 3600.0
"""How long a session lasts."""
_SECRET_BYTES = 32


class PageSession:
    """A page that has shown the token or a one-time key."""

    def __init__(self, expires_at: float) -> None:
        self.expires_at = expires_at
        self.closed = False
        self._listeners: list[Callable[[], None]] = []

    def on_end(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called when the session ends, until what this returns is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def end(self) -> None:
        self.closed = True
        for listener in tuple(self._listeners):
            listener()


class PageSessions:
    """Knows the token, the current one-time key, and every session. Keeps only hashes of session ids."""

    def __init__(
        self,
        token: str | None,
        *,
        new_key: Callable[[str], None] | None = None,
        max_sessions: int = MAX_SESSIONS,
        seconds: float = SESSION_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """With `new_key`, a one-time key opens a session, too. It is called with each further key."""
        self._token = token
        self._new_key = new_key
        self._key = None if new_key is None else secrets.token_urlsafe(_SECRET_BYTES)
        self._seconds = seconds
        self._clock = clock
        self._sessions = ExpiringSecrets[PageSession](
            seconds, max_sessions, clock=clock, ended=PageSession.end
        )
        self.csrf = secrets.token_urlsafe(24)
        """Sent with each call that has no session. Another origin can send requests, but not read this."""

    @property
    def open(self) -> bool:
        """Whether pages may be read without a session, as `/mcp` may without a token."""
        return self._token is None

    @property
    def key(self) -> str | None:
        """The one-time key that opens the next session."""
        return self._key

    def log_in_with_token(self, token: str) -> str | None:
        """Return the id of a new session, or None if that is not the token."""
        return self._begin() if self._is_token(token) else None

    def log_in_with_key(self, key: str) -> str | None:
        """Return the id of a new session, or None if that is not the current key. A key works once."""
        if self._key is None or self._new_key is None or not is_same(key, self._key):
            return None
        self._key = secrets.token_urlsafe(_SECRET_BYTES)
        self._new_key(self._key)
        return self._begin()

    def find(self, headers: Headers) -> PageSession | None:
        """Return the session that a request shows."""
        given = headers.getlist(SESSION_HEADER)
        return self._sessions.find(given[0]) if len(given) == 1 else None

    def leave(self, headers: Headers) -> None:
        """End the session that a request shows, and its event streams."""
        for given in headers.getlist(SESSION_HEADER):
            self._sessions.revoke(given)

    def is_over(self, session: PageSession) -> bool:
        return session.closed or session.expires_at <= self._clock()

    def is_authorized(self, scope: Scope) -> bool:
        """Whether a request shows a session."""
        return self.find(Headers(scope=scope)) is not None

    def has_token(self, headers: Headers) -> bool:
        """Whether a request shows the token itself."""
        given = bearer_token(headers)
        return given is not None and self._is_token(given)

    def has_csrf(self, headers: Headers) -> bool:
        return is_same(headers.get(CSRF_HEADER, ""), self.csrf)

    def _begin(self) -> str:
        return self._sessions.issue(PageSession(self._clock() + self._seconds))

    def _is_token(self, token: str) -> bool:
        return self._token is not None and is_same(token, self._token)


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this very server, or from no page at all.

    Other pages on this machine may call `/mcp` of a loopback server. They may not use these pages.
    """
    if any(site not in {"same-origin", "none"} for site in headers.getlist("sec-fetch-site")):
        return False
    origins = headers.getlist("origin")
    if not origins:
        return True
    return len(origins) == 1 and urlsplit(origins[0]).netloc.lower() == headers.get("host", "").lower()
