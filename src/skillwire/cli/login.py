"""`skillwire login`: let a person log in to a server that demands it, and keep that."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import anyio
from cyclopts import Parameter
from rich.text import Text

from skillwire.cli.output import print_line, talk
from skillwire.cli.reaching import Allow, reached
from skillwire.cli.remote.remembering import opened_state
from skillwire.config.settings import token_from
from skillwire.host.login.flow import KnownClient, LoginRequest, checked_scopes, log_in
from skillwire.host.login.loopback import PATIENCE, Show, loopback, open_in_browser
from skillwire.host.login.stored import keep_login
from skillwire.host.reaching.target import Target
from skillwire.host.state.state import State
from skillwire.model.display import quoted, visible
from skillwire.model.errors import StateError, UsageError

_LAST_PORT = 65535


def login(
    server: Annotated[str, Parameter(name="SERVER", help="A server's label or URL.")],
    /,
    *,
    scope: Annotated[
        list[str] | None,
        Parameter(name="--scope", help="What to ask for beside what the server asks for (repeatable)."),
    ] = None,
    no_browser: Annotated[
        bool, Parameter(help="Print the address of the login page, and open nothing.")
    ] = False,
    client_id: Annotated[
        str | None,
        Parameter(help="The client that you registered, where clients cannot register themselves."),
    ] = None,
    client_secret_env: Annotated[
        str | None, Parameter(help="The environment variable with the secret of that client.")
    ] = None,
    port: Annotated[
        int, Parameter(help="The port of this machine that the browser is sent to; any by default.")
    ] = 0,
    timeout: Annotated[
        float, Parameter(name="--timeout", help="Seconds to wait for you to log in.")
    ] = PATIENCE,
    allow_private: Annotated[
        bool, Parameter(help="Let the server send you to a login server in a private network.")
    ] = False,
    allow: Allow = None,
) -> int:
    """Log in to a server that demands it, in your browser, and keep the tokens.

    You are shown the address of the login page first. The tokens are kept in the keyring of your system if
    there is one, else in a file that only you can read. They are for this label and this address alone, and
    are renewed when they expire.

    For example:

    ```
    skillwire login github
    skillwire login https://example.com/mcp --no-browser
    skillwire login github --scope "repo read:org"
    ```
    """
    if not 0 <= port <= _LAST_PORT:
        raise UsageError(f"`--port {port}` is no port", hint="as in `--port 8123`")
    if not 0 < timeout < 24 * 3600:
        raise UsageError(
            f"`--timeout {timeout:g}` is no number of seconds up to a day", hint="as in `--timeout 60`"
        )
    asked = checked_scopes(scope or ())
    client = _client(client_id, client_secret_env)
    (target,) = reached([server], allow)
    must_be_reached_by_url(target)
    with opened_state() as state:
        show = _show(no_browser=no_browser)
        anyio.run(_Login(target, state, asked, client, allow_private, show, port, timeout).run)
    return 0


def must_be_reached_by_url(target: Target) -> None:
    """Raise `UsageError` for a server that no login is used for."""
    if target.url is None:
        hint = "it gets your environment variables; its documentation says which it wants"
        raise UsageError(f"{quoted(target.label)} is started by a command, which needs no login", hint=hint)
    if target.has_token:
        hint = "remove the header from the file that names the server, or go on without a login"
        raise UsageError(f"{quoted(target.label)} is sent an `Authorization` header already", hint=hint)


def _client(name: str | None, secret_env: str | None) -> KnownClient | None:
    if name is None:
        if secret_env is not None:
            raise UsageError("`--client-secret-env` is of no use without a client", hint="add `--client-id`")
        return None
    return KnownClient(name, token_from(secret_env, os.environ) or "")


def _show(*, no_browser: bool) -> Show:
    def show(request: LoginRequest) -> None:
        console = talk()
        console.print(Text(f"{quoted(request.label)}, {visible(request.server)}"))
        console.print(Text(f"sends you to the login server {quoted(request.issuer)}"))
        if request.scope:
            console.print(Text(f"which is asked for {quoted(request.scope)}"))
        if no_browser:
            console.print("open this address in a browser on this machine:")
            print_line(visible(request.url))
            sys.stdout.flush()
        else:
            console.print(Text(f"opening in your browser: {visible(request.url)}"))
            open_in_browser(request)

    return show


@dataclass(frozen=True, slots=True)
class _Login:
    """A login that is about to begin."""

    target: Target
    state: State
    scope: str
    client: KnownClient | None
    allow_private: bool
    show: Show
    port: int
    patience: float

    async def run(self) -> None:
        target, logins = self.target, self.state.logins
        if self.state.bind(target.label, target.identity):
            talk().print(
                f"{quoted(target.label)} is another server than before; what was approved of it is gone"
            )
        try:
            async with loopback(self.show, port=self.port, patience=self.patience) as handler:
                record = await log_in(
                    target,
                    handler,
                    scope=self._with_earlier(),
                    client=self.client,
                    allow_private=self.allow_private,
                )
        except OSError as error:
            told = f"port {self.port} of this machine cannot be used: {error.strerror or error}"
            raise UsageError(told, hint="choose another with `--port`") from error
        kept = await keep_login(logins, record)
        where = "the keyring of your system" if kept.in_keyring else quoted(str(logins.folder))
        talk().print(Text(f"logged in to {quoted(target.label)}; the tokens are in {where}"))

    def _with_earlier(self) -> str:
        """Return what to ask for: a login that is good for more is also good for what it was good for."""
        earlier = None
        if self.scope:
            with suppress(StateError):
                earlier = self.state.logins.find(self.target.label, self.target.identity)
        return checked_scopes([*([] if earlier is None else [earlier.scope]), self.scope])
