"""Where whoever runs the server decides: who may register, and who may call what."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillwire.drive.registration import Auth, ClientInfo, Descriptor
from skillwire.model.entry import Json


@dataclass(frozen=True, slots=True)
class Request:
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
    request: Request


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
