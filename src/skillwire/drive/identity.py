"""Identify clients and readers by headers, and clients also by the ticket cookie that `/mdp/auth` sets."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Scope

from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.drive.fields import TOO_DEEP, JsonFields, ShapeError, compact_json, json_size, too_deep
from skillwire.drive.hub import Hub
from skillwire.drive.messages import LOOP_PATH, SESSION_HEADER
from skillwire.drive.registration import Auth
from skillwire.drive.session import Connection, Mode
from skillwire.server.http.credentials import ExpiringSecrets, bearer_token, is_same
from skillwire.server.http.routes import HttpError, read_json

NAME = "mdp_auth"
TICKET_SECONDS = 60
"""Seconds for which a ticket is valid."""
MAX_TICKETS = 1000
"""Maximum number of unused tickets. A further ticket replaces the oldest."""
MAX_CLAIM = 4096
"""Maximum size in bytes of an identity claim as JSON, in a ticket or in the headers of a connection."""

MAX_CLAIM_VALUES = 256
"""Maximum number of JSON values in a claim."""
AUTH_PATH = "/mdp/auth"
_OWN_HEADERS = "x-mdp-auth-"
_SECRET_HEADERS = ("x-mdp-session-id", "x-skillwire-session", "x-skillwire-page")
_NO_CONTEXT = "Auth endpoint requires an auth context"
_TICKET = "skillwire.drive_ticket"
"""Key in the ASGI scope of a request. Its value is the ticket in the request, already revoked, or None."""
_SECURE = frozenset({"wss", "https"})


@dataclass(frozen=True, slots=True)
class Ticket:
    """The identity claim that a client sent to `/mdp/auth` before it connected."""

    claim: bytes
    origin: str | None
    """The web origin of the page that got the ticket. None if the client is not a web page."""
    has_token: bool

    @property
    def auth(self) -> Auth:
        return Auth.read(JsonFields.of(orjson.loads(self.claim)))


class Tickets:
    """All valid tickets. Each ticket is valid for one use, within `TICKET_SECONDS`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, max_tickets: int = MAX_TICKETS) -> None:
        self._tickets = ExpiringSecrets[Ticket](TICKET_SECONDS, max_tickets, clock=clock)

    def issue(self, claim: bytes, headers: Headers, *, has_token: bool) -> str:
        """Issue a ticket. Return the value of its cookie."""
        return self._tickets.issue(Ticket(claim, headers.get("origin"), has_token))

    def take(self, headers: Headers) -> Ticket | None:
        """Return the valid ticket in a request, and revoke it. Return None if there is none.

        A ticket is valid only for requests from the origin that got it.
        """
        for value in _cookies(headers):
            ticket = self._tickets.find(value)
            if ticket is not None and ticket.origin == headers.get("origin"):
                self._tickets.revoke(value)
                return ticket
        return None

    def revoke(self, headers: Headers) -> None:
        """Revoke the tickets in a request."""
        for value in _cookies(headers):
            self._tickets.revoke(value)


def set_cookie(value: str, *, secure: bool) -> str:
    """Return the `Set-Cookie` value that sets the ticket cookie or, with an empty value, deletes it."""
    max_age = TICKET_SECONDS if value else 0
    header = f"{NAME}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Strict"
    return f"{header}; Secure" if secure else header


def without_ticket(cookies: str) -> str:
    """Return a `Cookie` header without the ticket."""
    parts = (each.strip() for each in cookies.split(";"))
    return "; ".join(each for each in parts if each.partition("=")[0].strip() != NAME)


def _cookies(headers: Headers) -> list[str]:
    # Parsed by hand: the standard library's parser stops at the first invalid cookie.
    sent = (each.strip().partition("=") for line in headers.getlist("cookie") for each in line.split(";"))
    return [value.strip('"') for name, _, value in sent if name == NAME]


class Identities:
    """Determines who clients and readers claim to be. The claims never contain the server's token."""

    def __init__(self, hub: Hub, token: str | None = None, tickets: Tickets | None = None) -> None:
        self._hub = hub
        self._token = token
        self._tickets = tickets or Tickets()

    def connection(self, mode: Mode, request: HTTPConnection) -> Connection:
        """Return the transport and identity of a new session, from its ticket and headers.

        Raises `HttpError` if the headers about the client are too large.
        """
        headers = request.headers
        ticket: Ticket | None = request.scope.get(_TICKET) or self._tickets.take(headers)
        ticket_auth = None if ticket is None else ticket.auth
        authenticated = (
            self._token is None or self._has_valid_token(headers) or (ticket is not None and ticket.has_token)
        )
        return Connection(
            mode,
            request.url.scheme in _SECURE,
            self.client_auth(headers, ticket_auth),
            None if authenticated else self._registers_with_token,
            ticket_auth,
        )

    def client_auth(self, headers: Headers, ticket_auth: Auth | None) -> Auth | None:
        """Return the claim in a client's headers, with the metadata of its ticket if there is one.

        Without a claim in the headers, return `ticket_auth`. Raises `HttpError` if the claim is too large.
        """
        if (sent := _auth_from_headers(headers)) is None:
            return ticket_auth
        sent = sent.without(self._token)
        if json_size(sent.to_json()) > MAX_CLAIM:
            raise HttpError(431, f"the headers about a client may have at most {MAX_CLAIM:,} bytes")
        return sent if ticket_auth is None else replace(sent, metadata=ticket_auth.metadata)

    def _has_valid_token(self, headers: Headers) -> bool:
        """Return whether the `Authorization` header contains the server's token."""
        sent = bearer_token(headers)
        return sent is not None and self._token is not None and is_same(sent, self._token)

    def _registers_with_token(self, message: object) -> bool:
        """Return whether a message registers a client, and contains the server's token."""
        match message:
            case {"type": "registerClient", "auth": {"token": str(token)}}:
                return self._token is not None and is_same(token, self._token)
            case _:
                return False

    def is_authorized(self, scope: Scope) -> bool:
        """Return whether a request without the token in its header may begin or continue a session.

        A ticket in the request is revoked here, and stored in the scope for `connection`. Without a ticket,
        the first message of the session must contain the token; the hub accepts no other message. A request
        in a session over the HTTP loop is authorized by the session id, which only the client knows.
        """
        if scope["type"] != "websocket" and not scope["path"].startswith(f"{LOOP_PATH}/"):
            return False
        if scope["type"] == "websocket" or scope["path"] == f"{LOOP_PATH}/connect":
            headers = Headers(scope=scope)
            if any(headers.getlist("authorization")):
                return False  # an outer guard has already rejected this value as a token
            scope[_TICKET] = self._tickets.take(headers)
            return True
        name = Headers(scope=scope).get(SESSION_HEADER) or _query(scope).get("sessionId", "")
        return self._hub.session(name, Mode.HTTP_LOOP) is not None or self._hub.ending(name) is not None

    async def issue_ticket(self, request: Request) -> Response:
        """Handle `POST /mdp/auth`: check the token, if the server has one, and set a ticket cookie."""
        limits = self._hub.limits
        value = await read_json(request, limits.body, limits.values)
        auth = _auth_from_request(value, request.headers)
        has_token = auth.token is not None and self._token is not None and is_same(auth.token, self._token)
        if self._token is not None and not has_token:
            raise HttpError(401, "the token is wrong")
        claim = compact_json(auth.without(self._token).to_json())
        if len(claim) > MAX_CLAIM:
            raise HttpError(400, f"the auth context may have at most {MAX_CLAIM:,} bytes")
        try:
            load_bounded_json(claim, max_values=MAX_CLAIM_VALUES)
        except JsonTooLargeError as error:
            raise HttpError(400, str(error)) from error
        self._tickets.revoke(request.headers)
        return _answer(self._tickets.issue(claim, request.headers, has_token=has_token), request)

    async def forget(self, request: Request) -> Response:
        """Handle `DELETE /mdp/auth`: revoke the ticket, and delete the cookie."""
        self._tickets.revoke(request.headers)
        return _answer("", request)

    def reader_auth(self, headers: Headers) -> Auth | None:
        """Return the claim about an HTTP reader that the hooks let a program see, or None.

        The hooks get the reader's headers without the server's token, tickets and session ids.
        """
        shown = {name: ", ".join(headers.getlist(name)) for name in headers if name not in _SECRET_HEADERS}
        if cookies := without_ticket("; ".join(headers.getlist("cookie"))):
            shown["cookie"] = cookies
        else:
            shown.pop("cookie", None)
        auth = self._hub.hooks.request_auth(_without_value(shown, self._token))
        return None if auth is None else auth.without(self._token)


def _without_value(headers: Mapping[str, str], token: str | None) -> dict[str, str]:
    return {name: value for name, value in headers.items() if token is None or token not in value}


def _query(scope: Scope) -> dict[str, str]:
    raw: bytes = scope["query_string"]
    return dict(parse_qsl(raw.decode("ascii", errors="replace")))


def _answer(value: str, request: Request) -> Response:
    cookie = set_cookie(value, secure=request.url.scheme == "https")
    return Response(status_code=204, headers={"set-cookie": cookie, "cache-control": "no-store"})


def _auth_from_request(value: object, headers: Headers) -> Auth:
    """Return a client's claim from the body, or else from its headers.

    Raises `HttpError` if neither contains a valid claim, or if the body is nested too deeply.
    """
    if too_deep(value):
        raise HttpError(400, f"the body is {TOO_DEEP}")
    sent = _auth_from_headers(headers)
    try:
        auth = _auth_from_body(value) or sent
    except ShapeError as error:
        if sent is None:
            raise HttpError(400, f"{_NO_CONTEXT}: {error}") from error
        auth = sent
    if auth is None:
        raise HttpError(400, _NO_CONTEXT)
    return auth


def _auth_from_body(value: object) -> Auth | None:
    """Return the claim in the body, or None if there is none. Raises `ShapeError` if the claim is invalid."""
    part = None if value is None else JsonFields.of(value).part_or_none("auth")
    if part is None:
        return None
    auth = Auth.read(part)
    json_size(auth.to_json())
    return auth


def _auth_from_headers(headers: Headers) -> Auth | None:
    own = {name: value for name, value in headers.items() if name.startswith(_OWN_HEADERS)}
    authorization = headers.get("authorization")
    if not authorization:
        return Auth(headers=own) if own else None
    scheme, _, token = authorization.partition(" ")
    return Auth(scheme, token.strip(), {"authorization": authorization, **own})
