"""The operator's policy: limits, and hooks that decide who may register and call."""

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
    """Maximum number of clients without the server's token. A further client displaces the oldest."""
    total_paths: int = 50_000
    """Maximum number of paths of all clients together."""
    total_bytes: int = 64 * 1024 * 1024
    """Maximum memory for the registrations of all clients together, in bytes."""
    body: int = 1024 * 1024
    """Maximum size of one message or request body, in bytes."""
    values: int = 100_000
    """Maximum number of JSON values in one message or body.

    Counted before parsing, because each value takes memory.
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
    """A request to a client."""

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
    """A request, and the program that will answer it."""

    client: ClientInfo
    descriptor: Descriptor
    params: Mapping[str, str]
    request: PathRequest


class Hooks:
    """Decides who may register and call.

    The default allows everything; override a method to raise `DeniedError`.
    """

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        """Raise `DeniedError` to refuse `client`.

        `auth` is the claim in the registration message. `transport_auth` is the claim of the connection.
        """

    async def authorize_invocation(self, invocation: Invocation) -> None:
        """Raise `DeniedError` to refuse this call."""

    def request_auth(self, headers: Mapping[str, str]) -> Auth | None:  # noqa: ARG002 - for subclasses
        """Return what a client may know about an HTTP reader.

        `headers` are the headers of the reader's request. By default, cookies and authorization never reach a
        client.
        """
        return None
