"""The operator's policy: limits, and hooks that decide who may register and call."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillwire.core.record import Json
from skillwire.drive.registration import Auth, ClientInfo, Descriptor


@dataclass(frozen=True, slots=True)
class DriveLimits:
    """Limits on clients and on what they send."""

    sessions: int = 1000
    """Clients connected at the same time."""
    unauthenticated: int = 64
    """How many of them may lack the server's token. A further one displaces the oldest."""
    total_paths: int = 50_000
    """Paths of all clients together."""
    total_bytes: int = 64 * 1024 * 1024
    """Bytes of memory for the registrations of all clients together."""
    body: int = 1024 * 1024
    """Bytes of one message, or of one request body."""
    values: int = 100_000
    """JSON values in one message or body. They are counted before parsing, because each takes memory."""
    calls: int = 64
    """Unanswered calls to one client."""
    waiting: int = 256
    """Messages queued for one client."""
    waiting_bytes: int = 2 * 1024 * 1024
    """Bytes of these messages."""
    total_waiting_bytes: int = 64 * 1024 * 1024
    """Bytes of the messages queued for all clients together."""
    register_seconds: float = 10.0
    """How long a session may last without a registered client."""
    ping_seconds: float = 30.0
    silence_seconds: float = 90.0
    """How long a client may be silent before its session ends."""
    answer_seconds: float = 15.0
    """How long a client may take to answer a call."""


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
    """Whether there is a body, and it is `null`."""


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

        `auth` came with its message, `transport_auth` with its connection.
        """

    async def authorize_invocation(self, invocation: Invocation) -> None:
        """Raise `DeniedError` to refuse this call."""

    def request_auth(self, headers: Mapping[str, str]) -> Auth | None:  # noqa: ARG002 - for subclasses
        """Return what a client may know about an HTTP reader. `headers` are the headers of its request.

        Without this hook, cookies and authorization never reach a client.
        """
        return None
