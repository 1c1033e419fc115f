"""Where a server that a verb starts can be reached: on stdio, or over HTTP with walls around it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from skillwire.config.settings import DEFAULT_PORT, NO_ADDRESS
from skillwire.model.errors import UsageError

if TYPE_CHECKING:
    from skillwire.cli.listening import Endpoint

Http: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--http",
        help="Serve over HTTP at `[HOST:]PORT` instead of stdio: on loopback without a HOST, "
        "at port 8765 without a value.",
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
    Parameter(
        name="--allow-origin", help="A web page's or browser extension's origin that may call this server."
    ),
]
NoWellKnown: TypeAlias = Annotated[
    bool,
    Parameter(name="--no-well-known", help="Over HTTP, serve nothing at `/.well-known/agent-skills/`."),
]


@dataclass(frozen=True, slots=True)
class Reachable:
    """What the options say of who can reach a server."""

    http: str | None = None
    """None for stdio, `NO_ADDRESS` for the default port."""
    token_env: str | None = None
    allow_public: bool = False
    allow_host: list[str] | None = None
    allow_origin: list[str] | None = None

    def endpoint(self, lets_in: str = "") -> "Endpoint | None":
        """Return where to serve over HTTP, listened to from now on; None for stdio. Raises `UsageError`.

        `lets_in` says what strangers could do there who need no token, if that is more than reading skills.
        """
        if self.http is None:
            self._refuse_without_http()
            return None
        from skillwire.cli.listening import listen_at  # noqa: PLC0415 - stdio has no walls around it

        address = str(DEFAULT_PORT) if self.http == NO_ADDRESS else self.http
        return listen_at(address, self, lets_in)

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
