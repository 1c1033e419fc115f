"""Who may talk to the HTTP server at all: one wall around the whole application."""

import hmac
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from skillwire.server.address import HostPolicy

HEALTH_PATH = "/healthz"
TOKEN_SHOWN = "skillwire.token_shown"  # noqa: S105 - a name
"""Key in the scope of a request that sent the server's token in its header."""


class HostGuard:
    """Refuses requests for another host and from foreign web pages."""

    def __init__(self, app: ASGIApp, policy: HostPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        hosts, origins = _all(scope, b"host"), _all(scope, b"origin")
        host = hosts[0] if len(hosts) == 1 else None
        if not self._policy.takes_host(host):
            refused = _refused(421, "this server does not answer to that Host; allow it with `--allow-host`")
        elif len(origins) > 1 or not self._policy.takes_origin(origins[0] if origins else None, host):
            refused = _refused(
                403, "pages of that Origin may not call this server; allow it with `--allow-origin`"
            )
        else:
            await self._app(scope, receive, send)
            return
        await refused(scope, receive, send)


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def nobody(_scope: Scope) -> bool:
    """Vouch for no request."""
    return False


class TokenGuard:
    """Refuses requests without the bearer token. Only the health check is open, and what asks by itself.

    `vouches` says of a request without the token whether it has shown otherwise that it knows it.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        *,
        open_paths: Collection[str] = (),
        vouches: Callable[[Scope], bool] = nobody,
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._open_paths = frozenset({HEALTH_PATH, *open_paths})
        self._vouches = vouches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or self._lets_in(scope):
            await self._app(scope, receive, send)
            return
        given = "authorization" in Headers(scope=scope)
        refused = _refused(401, "that is not the token" if given else "this server wants a bearer token")
        refused.headers["www-authenticate"] = 'Bearer realm="skillwire"'
        await refused(scope, receive, send)

    def _lets_in(self, scope: Scope) -> bool:
        if self._knows(scope):
            scope[TOKEN_SHOWN] = True
            return True
        is_open = scope["type"] == "http" and scope["path"] in self._open_paths
        return is_open or self._vouches(scope)

    def _knows(self, scope: Scope) -> bool:
        given = _all(scope, b"authorization")
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


def _refused(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=status)
