"""The operator's policy: limits, and hooks that decide on registrations and calls."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillwire.core.record import Json
from skillwire.drive.registration import Auth, ClientInfo, Descriptor


@dataclass(frozen=True, slots=True)
class DriveLimits:
    """Limits on clients and their messages."""

    sessions: int = 1000
    """Maximum number of clients connected at the same time."""
    unauthenticated: int = 64
    """Maximum number of clients that have not sent the server's token. A further one replaces the oldest."""
    total_paths: int = 50_000
    """Maximum number of paths of all clients together."""
    total_bytes: int = 64 * 1024 * 1024
    """Maximum estimated memory for the registrations of all clients together, in bytes."""
    body: int = 1024 * 1024
    """Maximum size of one message or request body, in bytes."""
    values: int = 100_000
    """Maximum number of JSON values in one message or body.

    Counted before parsing, because parsed values take far more memory than their text.
    """
    calls: int = 64
    """Maximum number of unanswered calls to one client."""
    waiting: int = 256
    """Maximum number of messages queued for one client."""
    waiting_bytes: int = 2 * 1024 * 1024
    """Maximum size of the messages queued for one client, in bytes."""
    total_waiting_bytes: int = 64 * 1024 * 1024
    """Maximum size of the messages queued for all clients together, in bytes."""
    register_seconds: float = 10.0
    """Seconds after which a session without a registered client ends."""
    ping_seconds: float = 30.0
    silence_seconds: float = 90.0
    """Seconds after which the session of a silent client ends."""
    answer_seconds: float = 15.0
    """Seconds in which a client must answer a call."""


@dataclass(frozen=True, slots=True)
class PathRequest:
    """A request for a path of a client."""

    method: str
    path: str
    query: Mapping[str, Json] | None = None
    body: Json = None
    headers: Mapping[str, str] | None = None
    auth: Auth | None = None
    null_body: bool = False
    """Whether the body is an explicit `null`, as opposed to missing."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A request, the program that will answer it, and the descriptor that matches the requested path."""

    client: ClientInfo
    descriptor: Descriptor
    params: Mapping[str, str]
    request: PathRequest


class Hooks:
    """Decides who may register and call, and what programs get to know about HTTP readers.

    By default, everything is allowed, and programs get to know nothing. A subclass overrides the methods.
    """

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        """Raise `DeniedError` to refuse `client`.

        `auth` is the claim in the registration message. `transport_auth` is the claim in the headers or the
        ticket of the connection.
        """

    async def authorize_invocation(self, invocation: Invocation) -> None:
        """Raise `DeniedError` to refuse this call."""

    def request_auth(self, headers: Mapping[str, str]) -> Auth | None:  # noqa: ARG002 - for subclasses
        """Return the claim about an HTTP reader to send to a client, or None to send no claim.

        `headers` are the headers of the reader's request, without secrets of the server. By default, no claim
        is sent, so cookies and authorization never reach a client.
        """
        return None
