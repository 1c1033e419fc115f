"""`skillwire login` and `skillwire logout`: log in to a server that requires OAuth, and log out."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import anyio
from cyclopts import Parameter
from rich.text import Text

from skillwire.cli.state import open_state
from skillwire.config.clients.known import is_address, parse_label
from skillwire.config.server_targets import Allow, resolve_targets
from skillwire.config.settings import state_folder_from, token_from
from skillwire.errors import KeyringStateError, LoginError, StateError, UsageError
from skillwire.host.connections.target import Target
from skillwire.host.login.browser import PATIENCE, Show, browser_login, has_browser, open_in_browser
from skillwire.host.login.flow import KnownClient, LoginRequest, checked_scopes, log_in
from skillwire.host.login.login_server import revoke
from skillwire.host.login.tokens import keep_login
from skillwire.host.store.login_record import LoginRecord, LoginServerError
from skillwire.host.store.logins import Logins
from skillwire.host.store.state import State
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.output import print_error, print_line, stderr_console

_LAST_PORT = 65535


def login(
    server: Annotated[str, Parameter(name="SERVER", help="A server's label or URL.")],
    /,
    *,
    scope: Annotated[
        list[str] | None,
        Parameter(name="--scope", metavar="SCOPE", help="Additional scope to request (repeatable)."),
    ] = None,
    no_browser: Annotated[
        bool, Parameter(help="Print the URL of the login page instead of opening it.")
    ] = False,
    client_id: Annotated[
        str | None,
        Parameter(
            metavar="ID",
            help="ID of an OAuth client that you registered, for login servers without dynamic registration.",
        ),
    ] = None,
    client_secret_env: Annotated[
        str | None,
        Parameter(metavar="VARIABLE", help="Environment variable with the client secret."),
    ] = None,
    port: Annotated[
        int,
        Parameter(
            metavar="PORT",
            show_default="any free port",
            help="Local port that the login page redirects the browser to.",
        ),
    ] = 0,
    timeout: Annotated[
        float,
        Parameter(
            name="--timeout",
            metavar="SECONDS",
            show_default=lambda value: f"{value:g}",
            help="How long to wait for you to log in.",
        ),
    ] = PATIENCE,
    allow_private: Annotated[bool, Parameter(help="Allow a login server in a private network.")] = False,
    allow: Allow = None,
) -> int:
    """Log in to a server that requires OAuth, and store the tokens.

    Opens the login page in your browser and prints its URL. If this machine has no browser, open the URL
    yourself. Stores the tokens in the system keyring or, if there is none, in a file that only you can read.
    Tokens are sent only to this server and its login server, and only while this server keeps its label and
    URL. Expired tokens are renewed.

    For example:

    ```
    skillwire login github
    skillwire login https://example.com/mcp
    skillwire login github --scope "repo read:org"
    ```
    """
    if not 0 <= port <= _LAST_PORT:
        raise UsageError(f"`--port {port}` is not a port number", hint="for example `--port 8123`")
    if not 0 < timeout < 24 * 3600:
        raise UsageError(
            f"`--timeout {timeout:g}` is not between 0 seconds and one day", hint="for example `--timeout 60`"
        )
    scopes = checked_scopes(scope or ())
    client = _known_client(client_id, client_secret_env)
    (target,) = resolve_targets([server], allow)
    _check(target)
    with open_state() as state:
        show = _show(browser=not no_browser and has_browser())
        anyio.run(_Login(target, state, scopes, client, allow_private, show, port, timeout).run)
    return 0


def logout(
    server: Annotated[str, Parameter(name="SERVER", help="A server's label or URL.")],
    /,
) -> int:
    """Log out of a server: revoke its tokens at the login server, and delete the stored tokens.

    You can also log out of a server that is no longer in any client's file.

    Exit code 1: the login server did not confirm that the tokens are revoked, or the tokens may still be in
    the keyring.

    For example:

    ```
    skillwire logout github
    skillwire logout https://example.com/mcp
    ```
    """
    target = Target.parse(server) if is_address(server) else None
    label = (parse_label(server) if target is None else target.login_label) or ""
    logins = Logins(state_folder_from(os.environ))
    return anyio.run(_log_out, logins, label, target, server)


def _check(target: Target) -> None:
    """Raise `UsageError` if the server is started by a command, or has an `Authorization` header."""
    if target.url is None:
        hint = "such a server reads credentials from environment variables; see its documentation"
        raise UsageError(f"{quoted(target.label)} is started by a command and needs no login", hint=hint)
    if target.has_token:
        hint = "remove the header from the client's file, or use the server without a login"
        raise UsageError(f"{quoted(target.label)} already has an `Authorization` header", hint=hint)


def _known_client(client_id: str | None, secret_env: str | None) -> KnownClient | None:
    """Return the registered OAuth client, or None if `client_id` is None. Raises `UsageError`."""
    if client_id is None:
        if secret_env is not None:
            raise UsageError("`--client-secret-env` requires `--client-id`", hint="add `--client-id`")
        return None
    return KnownClient(client_id, token_from(secret_env, os.environ) or "")


def _show(*, browser: bool) -> Show:
    """Return a function that prints a login request and its URL. With `browser`, it also opens the URL."""

    def show(request: LoginRequest) -> None:
        console = stderr_console()
        console.print(Text(f"server: {quoted(request.label)}, {escape_invisible(request.server)}"))
        console.print(Text(f"login server: {quoted(request.issuer)}"))
        if request.sites:
            sites = ", ".join(quoted(each) for each in request.sites)
            console.print(Text(f"other sites involved: {sites}", style="yellow"))
        if request.scope:
            console.print(Text(f"scopes: {quoted(request.scope)}"))
        if browser:
            console.print(Text(f"opening in your browser: {escape_invisible(request.url)}"))
            open_in_browser(request)
        else:
            console.print("open this URL in a browser on this machine:")
            print_line(escape_invisible(request.url))
            sys.stdout.flush()

    return show


@dataclass(frozen=True, slots=True)
class _Login:
    """The checked arguments of `login`. `run` logs in and stores the tokens."""

    target: Target
    state: State
    scope: str
    client: KnownClient | None
    allow_private: bool
    show: Show
    port: int
    timeout_seconds: float

    async def run(self) -> None:
        target, logins = self.target, self.state.logins
        async with browser_login(self.show, port=self.port, timeout_seconds=self.timeout_seconds) as handler:
            record = await log_in(
                target,
                handler,
                scope=self._with_earlier(),
                client=self.client,
                allow_private=self.allow_private,
            )
        stored = await keep_login(logins, record)
        where = "the system keyring" if stored.in_keyring else quoted(str(logins.folder))
        stderr_console().print(Text(f"logged in to {quoted(stored.label)}; the tokens are in {where}"))

    def _with_earlier(self) -> str:
        """Return the scopes to request: the new scopes and those of an earlier login.

        Without new scopes, return an empty text.
        """
        earlier = None
        if self.scope:
            with suppress(StateError):
                earlier = self.state.logins.find(self.target.login_label, self.target.login_identity)
        return checked_scopes([*([] if earlier is None else [earlier.scope]), self.scope])


async def _log_out(logins: Logins, label: str, target: Target | None, server: str) -> int:
    async with logins.locked(label):
        record, code = _stored(logins, label), 0
        if record is not None and target is not None and record.identity != target.login_identity:
            raise _not_logged_in(server)
        try:
            if not logins.remove(label):
                raise _not_logged_in(server)
        except KeyringStateError as error:
            print_error(str(error), hint=error.hint)
            code = 1
    stderr_console().print(f"logged out of {quoted(label)}")
    if record is None or record.tokens is None:
        return code
    try:
        if not await revoke(record, record.server):
            stderr_console().print("the login server cannot revoke tokens; they are valid until they expire")
    except (LoginServerError, LoginError) as error:
        print_error(f"the login server did not confirm that the tokens are revoked: {error}")
        return 1
    return code


def _stored(logins: Logins, label: str) -> LoginRecord | None:
    """Return the stored login for a label, with its tokens if they can be read.

    Return None if no login is stored, or if its file is damaged.
    """
    record = None
    with suppress(StateError):
        record = logins.find(label)
        record = record and logins.with_tokens(label, record.identity)
    return record


def _not_logged_in(server: str) -> UsageError:
    hint = "`skillwire servers` shows where you are logged in"
    return UsageError(f"you are not logged in to {quoted(server)}", hint=hint)
