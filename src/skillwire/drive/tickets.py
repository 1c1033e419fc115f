"""The cookie that `/mdp/auth` sets: a ticket for one connection, which says nothing to anyone else.

A browser sends cookies to every port of a host, and clients open their WebSocket on `/`, so other servers on
this machine may see this one. Hence the value is random, works once and for a minute, only for the origin
that got it, and only to connect as a program. What it stands for stays here.
"""

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import orjson
from starlette.datastructures import Headers

from skillwire.drive.reading import Fields
from skillwire.drive.registration import Auth

NAME = "mdp_auth"
TICKET_SECONDS = 60
"""How long a ticket can be used."""
MAX_TICKETS = 1000
"""Unused tickets. One more takes the place of the oldest."""
MAX_CLAIM = 4096
"""Bytes of what a ticket stands for, as JSON; and of what the headers of a connection claim."""

MAX_CLAIM_VALUES = 256
"""JSON values in that."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a client said of itself before it connects."""

    claim: bytes
    origin: str | None
    """The web origin of the page that got the ticket; None for programs that are no pages."""
    knows_token: bool
    until: float

    @property
    def auth(self) -> Auth:
        return Auth.read(Fields.of(orjson.loads(self.claim)))


class Tickets:
    """Every ticket that can still be used, by the hash of its value."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, max_tickets: int = MAX_TICKETS) -> None:
        self._clock = clock
        self._max_tickets = max_tickets
        self._tickets: dict[bytes, Ticket] = {}

    def issue(self, claim: bytes, headers: Headers, *, knows_token: bool) -> str:
        """Return the value of a new cookie."""
        now = self._clock()
        for digest, ticket in tuple(self._tickets.items()):
            if ticket.until > now and len(self._tickets) < self._max_tickets:
                break  # the oldest comes first
            del self._tickets[digest]
        value = secrets.token_urlsafe(32)
        ticket = Ticket(claim, headers.get("origin"), knows_token, now + TICKET_SECONDS)
        self._tickets[_digest(value)] = ticket
        return value

    def take(self, headers: Headers) -> Ticket | None:
        """Use up the ticket of a request, if it has a good one."""
        for digest in _digests(headers):
            ticket = self._tickets.get(digest)
            if ticket is not None and ticket.origin == headers.get("origin") and ticket.until > self._clock():
                return self._tickets.pop(digest)
        return None

    def revoke(self, headers: Headers) -> None:
        """Forget the tickets of a request."""
        for digest in _digests(headers):
            self._tickets.pop(digest, None)


def set_cookie(value: str, *, secure: bool) -> str:
    """Return the header that sets the cookie, or with an empty value takes it back."""
    max_age = TICKET_SECONDS if value else 0
    header = f"{NAME}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Strict"
    return f"{header}; Secure" if secure else header


def without_ticket(cookies: str) -> str:
    """Return a `Cookie` header without ours."""
    parts = (each.strip() for each in cookies.split(";"))
    return "; ".join(each for each in parts if each.partition("=")[0].strip() != NAME)


def _digests(headers: Headers) -> list[bytes]:
    # By hand: the parser of the standard library gives up at a cookie that it does not like.
    sent = (each.strip().partition("=") for line in headers.getlist("cookie") for each in line.split(";"))
    return [_digest(value.strip('"')) for name, _, value in sent if name == NAME]


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()
