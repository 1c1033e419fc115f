"""Resolve the servers that the user named, and ask before contacting servers from a project's files."""

import os
from collections.abc import Sequence
from typing import Annotated, TypeAlias

from cyclopts import Parameter
from rich.text import Text

from skillwire.config.clients.known import KnownServer, MayReach, targets
from skillwire.config.settings import state_folder_from, token_from
from skillwire.config.typed_sources import typed_server
from skillwire.host.connections.target import Target
from skillwire.host.login.tokens import with_login
from skillwire.host.store.logins import Logins
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.options import SERVERS
from skillwire.terminal.output import confirm, is_interactive, stderr_console

Allow: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        group=SERVERS,
        name="--allow",
        metavar="LABEL",
        help="For this server in a project's file, do not ask before starting it, sending it secrets, "
        "or connecting to it in your own network (repeatable).",
    ),
]
TokenEnv: TypeAlias = Annotated[
    str | None,
    Parameter(
        group=SERVERS,
        name="--token-env",
        metavar="VARIABLE",
        help="Environment variable with the bearer token to send to the server's URL.",
    ),
]


def resolve_targets(
    servers: Sequence[str], allow: Sequence[str] | None = None, token_env: str | None = None
) -> list[Target]:
    """Return the target of each server, with the token in `token_env`, or else with its stored login.

    Raises `UsageError` if a server is not known or cannot be used, if the user does not agree to contact it,
    or if the token is missing or not valid.
    """
    token = token_from(token_env, os.environ)
    sending = frozenset[str]() if token_env is None else frozenset({token_env})
    typed = [typed_server(server, with_token=token_env is not None) for server in servers]
    found = targets(typed, os.environ, may_reach=may_reach(allow or ()), sending=sending)
    if token is not None:
        return [target.with_token(token) for target in found]
    logins = Logins(state_folder_from(os.environ))
    return [with_login(target, logins) for target in found]


def may_reach(allowed: Sequence[str]) -> MayReach:
    """Return a function that decides whether to contact a server from a project's file.

    Servers with allowed labels may be contacted. The user is asked about every other server. Without a
    terminal, every other server is refused.
    """

    def decide(server: KnownServer) -> bool:
        if server.label in allowed:
            return True
        if not is_interactive():
            return False
        _explain(server)
        return confirm(_question(server))

    return decide


def _explain(server: KnownServer) -> None:
    """Print what contacting a server would do: run a program, send secrets or enter your own network."""
    console, declared = stderr_console(), server.declared
    console.print(
        Text(f"{quoted(str(server.file.path))} is part of a project. It names {quoted(server.label)},")
    )
    if server.starts_process:
        console.print("which runs this program with all your permissions:")
        console.print(Text(f"  {escape_invisible(declared.as_written)}", style="bold"))
        folder = None if server.target is None else server.target.cwd
        console.print(Text(f"  in {escape_invisible(str(folder))}"))
        for variable in declared.added:
            console.print(Text(f"  with {escape_invisible(variable)}"))
        return
    if server.inside:
        console.print("which is unencrypted `http` at a loopback address or in your own network:")
    if declared.used:
        secrets = ", ".join(quoted(name) for name in sorted(declared.used))
        console.print(Text(f"which would receive the values of your {secrets}:"))
    console.print(Text(f"  {escape_invisible(declared.as_written)}", style="bold"))


def _question(server: KnownServer) -> str:
    if server.starts_process:
        return "run it?"
    return "send them?" if server.declared.used else "connect to it?"
