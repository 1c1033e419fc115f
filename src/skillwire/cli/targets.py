"""From the servers that a person named to how they are reached; what a project's file says is asked about."""

import os
from collections.abc import Sequence
from typing import Annotated, TypeAlias

from cyclopts import Parameter
from rich.text import Text

from skillwire.cli.find import label_of
from skillwire.config.clients.known import KnownServer, MayReach, targets
from skillwire.config.settings import state_folder_from, token_from
from skillwire.errors import UsageError
from skillwire.host.connections.target import Target
from skillwire.host.login.tokens import with_login
from skillwire.host.store.logins import Logins
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.output import confirm, is_interactive, stderr_console

Allow: TypeAlias = Annotated[
    list[str] | None,
    Parameter(
        name="--allow",
        help="A server of a project's file that may be started, sent your secrets, "
        "or reached in your own network, unasked (repeatable).",
    ),
]
TokenEnv: TypeAlias = Annotated[
    str | None,
    Parameter(name="--token-env", help="The environment variable with the bearer token to send to a URL."),
]


def resolve_targets(
    servers: Sequence[str], allow: Sequence[str] | None = None, token_env: str | None = None
) -> list[Target]:
    """Return how to reach each server, with the login that is kept of it, if any.

    Raises `UsageError`, also if somebody should agree and does not.
    """
    token = token_from(token_env, os.environ)
    sending = frozenset[str]() if token_env is None else frozenset({token_env})
    found = targets(servers, os.environ, may_reach=may_reach(allow or ()), sending=sending)
    if token is not None:
        return [target.with_token(token) for target in found]
    logins = Logins(state_folder_from(os.environ))
    return [with_login(target, logins) for target in found]


def skill_targets(
    skill: str, servers: Sequence[str] | None, allow: Sequence[str] | None, token_env: str | None
) -> list[Target]:
    """Return how to reach the servers to look for a skill on. Raises `UsageError`."""
    if servers:
        return resolve_targets(servers, allow, token_env)
    if (label := label_of(skill)) is None:
        raise UsageError(
            f"it is not said on which server {quoted(skill)} is",
            hint="write `LABEL:NAME`, or add `--from SERVER`; `skillwire servers` lists those that are known",
        )
    return resolve_targets([f"{label}:"], allow, token_env)


def may_reach(allowed: Sequence[str]) -> MayReach:
    """Return who decides about servers that a project's file names: what was allowed, else the person."""

    def decide(server: KnownServer) -> bool:
        if server.label in allowed:
            return True
        if not is_interactive():
            return False
        _explain(server)
        return confirm(_question(server))

    return decide


def _explain(server: KnownServer) -> None:
    """Say what a file wants to be done, whole, and as it stands there."""
    console, said = stderr_console(), server.declared
    console.print(
        Text(f"{quoted(str(server.place.path))} is part of a project. It names {quoted(server.label)},")
    )
    if server.starts_process:
        console.print("which is this program, run with all that you may do:")
        console.print(Text(f"  {escape_invisible(said.spelled)}", style="bold"))
        folder = None if server.target is None else server.target.cwd
        console.print(Text(f"  in {escape_invisible(str(folder))}"))
        for variable in said.added:
            console.print(Text(f"  with {escape_invisible(variable)}"))
        return
    if server.inside:
        console.print("which is plain `http` on this machine or in your own network:")
    if said.used:
        secrets = ", ".join(quoted(name) for name in sorted(said.used))
        console.print(Text(f"to which it would send what is in your {secrets}:"))
    console.print(Text(f"  {escape_invisible(said.spelled)}", style="bold"))


def _question(server: KnownServer) -> str:
    if server.starts_process:
        return "run it?"
    return "send them?" if server.declared.used else "reach it?"
