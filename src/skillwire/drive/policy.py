"""What the operator decides: limits, and hooks for who may register and who may call."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillwire.core.record import Json
from skillwire.drive.registration import Auth, ClientInfo, Descriptor


@dataclass(frozen=True, slots=True)
class DriveLimits:
    """Bounds on clients and on what they send."""

    sessions: int = 1000
    """Clients that are connected at the same time."""
    unauthenticated: int = 64
    """Of those, clients that have not shown the server's token. One more takes the place of the oldest."""
    total_paths: int = 50_000
    """Paths of all clients together."""
    total_bytes: int = 64 * 1024 * 1024
    """Bytes that all clients together take up with what they say of themselves and their paths."""
    body: int = 1024 * 1024
    """Bytes of one message, or of one request's body."""
    values: int = 100_000
    """JSON values in one message or body. They are counted before it is parsed, because each takes memory."""
    calls: int = 64
    """Calls that one client has not answered yet."""
    waiting: int = 256
    """Messages that wait for a client which does not fetch them."""
    waiting_bytes: int = 2 * 1024 * 1024
    """Bytes of those messages."""
    total_waiting_bytes: int = 64 * 1024 * 1024
    """Bytes of the messages that wait for all clients together."""
    register_seconds: float = 10.0
    """How long a session may last without a client."""
    ping_seconds: float = 30.0
    silence_seconds: float = 90.0
    """After how long a client counts as gone that says nothing."""
    answer_seconds: float = 15.0
    """How long a client may take to answer a call."""


@dataclass(frozen=True, slots=True)
class PathRequest:
    """What somebody asks of a client."""

    method: str
    path: str
    query: Mapping[str, Json] | None = None
    body: Json = None
    headers: Mapping[str, str] | None = None
    auth: Auth | None = None
    null_body: bool = False
    """Whether there is a body, which is `null`."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A request, and the program that will answer it."""

    client: ClientInfo
    descriptor: Descriptor
    params: Mapping[str, str]
    request: PathRequest


class Hooks:
    """Decides who may connect and call. Allows everything; override a method and raise `DeniedError`."""

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        """Say whether `client` may register: `auth` came with its message, the other with its connection."""

    async def authorize_invocation(self, invocation: Invocation) -> None:
        """Say whether this call may be made."""

    def request_auth(self, headers: Mapping[str, str]) -> Auth | None:  # noqa: ARG002 - for those who want it
        """Return what a client is told of who reads over HTTP. `headers` are all of the request's.

        Cookies and authorization never reach a client by themselves.
        """
        return None
