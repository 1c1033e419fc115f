"""Where a server that a verb starts can be reached: on stdio, or over HTTP with walls around it."""

import os
import socket
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from skillwire.config.settings import token_from
from skillwire.model.errors import UsageError
from skillwire.server.address import Address, HostPolicy, check_host, check_origin
from skillwire.server.port import listen

Http: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--http", help="Serve over HTTP at `[HOST:]PORT` instead of stdio; loopback without a HOST."
    ),
]
ClientTokenEnv: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--token-env",
        help="The environment variable with the bearer token that HTTP clients must send.",
    ),
]
AllowPublic: TypeAlias = Annotated[
    bool, Parameter(name="--allow-public", help="Bind a public address without a token.")
]
AllowHost: TypeAlias = Annotated[
    list[str] | None,
    Parameter(name="--allow-host", help="A further name that clients reach this server by."),
]
AllowOrigin: TypeAlias = Annotated[
    list[str] | None,
    Parameter(name="--allow-origin", help="A web page's origin that may call this server."),
]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A port that is listened to, who may come there, and what they must send."""

    listening: socket.socket
    policy: HostPolicy
    token: str | None


@dataclass(frozen=True, slots=True)
class Reachable:
    """What the options say of who can reach a server."""

    http: str | None = None
    token_env: str | None = None
    allow_public: bool = False
    allow_host: list[str] | None = None
    allow_origin: list[str] | None = None

    def endpoint(self, *, lets_programs_in: bool = False) -> Endpoint | None:
        """Return where to serve over HTTP, listened to from now on; None for stdio. Raises `UsageError`."""
        if self.http is None:
            self._refuse_without_http()
            return None
        token = token_from(self.token_env, os.environ)
        address = Address.parse(self.http)
        if not address.is_loopback and token is None:
            self._refuse_without_token(address, lets_programs_in=lets_programs_in)
        hosts = frozenset(map(check_host, self.allow_host or []))
        origins = frozenset(map(check_origin, self.allow_origin or []))
        listening, bound = listen(address)
        return Endpoint(listening, HostPolicy(bound, hosts, origins), token)

    def _refuse_without_http(self) -> None:
        given = {
            "--token-env": self.token_env,
            "--allow-public": self.allow_public,
            "--allow-host": self.allow_host,
            "--allow-origin": self.allow_origin,
        }
        if option := next((option for option, value in given.items() if value), None):
            hint = "stdio has one client, and that one started the server"
            raise UsageError(f"`{option}` needs `--http`", hint=hint)

    def _refuse_without_token(self, address: Address, *, lets_programs_in: bool) -> None:
        if lets_programs_in:
            raise UsageError(
                f"`--drive` lets programs in, and `{address.host}` can be reached from other machines",
                hint="set a token with `--token-env VAR`, or bind a loopback address",
            )
        if not self.allow_public:
            raise UsageError(
                f"`{address.host}` can be reached from other machines, and there is no token",
                hint="set one with `--token-env VAR`, or insist with `--allow-public`",
            )
