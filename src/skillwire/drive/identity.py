"""Who connects: what headers and cookie claim, and `/mdp/auth`, where browsers say it first.

A browser cannot send headers with a WebSocket. So its client posts what it would have said to `/mdp/auth`,
and the cookie says it afterwards.
"""

import hmac
from dataclasses import replace

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from skillwire.drive.cookie import MAX_AGE, MAX_COOKIE, AuthCookie, set_cookie
from skillwire.drive.depth import TOO_DEEP, too_deep
from skillwire.drive.limits import DriveLimits
from skillwire.drive.loop_names import LOOP_PATH
from skillwire.drive.reading import Fields, ShapeError
from skillwire.drive.registration import Auth
from skillwire.drive.web import HttpError, read_json

AUTH_PATH = "/mdp/auth"


_OWN_HEADERS = "x-mdp-auth-"
_NO_CONTEXT = "Auth endpoint requires an auth context"


class Identities:
    """Reads who somebody claims to be. With a token, only the cookie of somebody who knew it is worth one."""

    def __init__(
        self, limits: DriveLimits, token: str | None = None, cookie: AuthCookie | None = None
    ) -> None:
        self._limits = limits
        self._token = token
        self._cookie = cookie or AuthCookie()

    def of(self, headers: Headers) -> Auth | None:
        """Return what a connection claims, by its cookie and its headers."""
        known = self._cookie.of(headers)
        sent = _sent(headers)
        if known is None or sent is None:
            return sent or known
        return replace(sent, metadata=known.metadata)

    def vouches(self, scope: Scope) -> bool:
        """Whether the cookie of a connecting client shows that it knew the server's token."""
        if scope["type"] != "websocket" and not scope["path"].startswith(f"{LOOP_PATH}/"):
            return False
        known = self._cookie.of(Headers(scope=scope))
        return known is not None and self._is_token(known.token)

    async def introduce(self, request: Request) -> Response:
        """Answer `POST /mdp/auth`."""
        value = await read_json(request, self._limits.body)
        auth = _sent(request.headers) if value is None else _posted(value)
        if auth is None:
            raise HttpError(400, _NO_CONTEXT)
        if self._token is not None and not self._is_token(auth.token):
            raise HttpError(401, "that is not the token of this server")
        sealed = self._cookie.sealed(auth)
        if len(sealed) > MAX_COOKIE:
            raise HttpError(400, f"what is to be kept in a cookie may have {MAX_COOKIE:,} bytes")
        return _answer(sealed, MAX_AGE, request)

    async def forget(self, request: Request) -> Response:
        """Answer `DELETE /mdp/auth`."""
        return _answer("", 0, request)

    def _is_token(self, text: str | None) -> bool:
        return text is not None and self._token is not None and _same(text, self._token)


def _answer(value: str, max_age: int, request: Request) -> Response:
    cookie = set_cookie(value, max_age, secure=request.url.scheme == "https")
    return Response(status_code=204, headers={"set-cookie": cookie, "cache-control": "no-store"})


def _posted(value: object) -> Auth | None:
    if too_deep(value):
        raise HttpError(400, f"the body is {TOO_DEEP}")
    try:
        part = Fields.of(value).part_or_none("auth")
        return None if part is None else Auth.read(part)
    except ShapeError as error:
        raise HttpError(400, f"{_NO_CONTEXT}: {error}") from error


def _sent(headers: Headers) -> Auth | None:
    own = {name: value for name, value in headers.items() if name.startswith(_OWN_HEADERS)}
    authorization = headers.get("authorization")
    if authorization is None:
        return Auth(headers=own) if own else None
    scheme, _, token = authorization.partition(" ")
    return Auth(scheme, token.strip(), {"authorization": authorization, **own})


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
