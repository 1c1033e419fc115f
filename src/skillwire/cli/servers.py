"""`skillwire servers`: list the servers in the files of MCP clients, probe them, or forget their data."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from cyclopts import Parameter

from skillwire.cli.server_table import ServerRow, print_servers, with_logins
from skillwire.cli.state import open_existing_state
from skillwire.config.clients.known import KnownServer, KnownServers, MayReach, known_servers
from skillwire.config.server_targets import Allow, TokenEnv, may_reach, resolve_targets
from skillwire.config.settings import state_folder_from
from skillwire.errors import UsageError
from skillwire.host.login.tokens import with_login
from skillwire.host.store.logins import Logins
from skillwire.safe_text import quoted
from skillwire.terminal.options import json_of
from skillwire.terminal.output import stderr_console


def servers(
    names: Annotated[
        list[str] | None,
        Parameter(name="SERVER", help="Server to probe: its label, its URL, or `--` and its command."),
    ] = None,
    /,
    *,
    probe: Annotated[bool, Parameter(help="Connect to every server that is ready.")] = False,
    forget: Annotated[
        list[str] | None,
        Parameter(
            name="--forget",
            metavar="LABEL",
            help="Delete everything stored about a server: approvals, grants, files and login (repeatable).",
        ),
    ] = None,
    allow: Allow = None,
    token_env: TokenEnv = None,
    json: Annotated[
        bool,
        json_of(
            "{servers: [{label, client, file, transport, address, state, asks_first, login,"
            " probe}], unreadable: [{client, file, reason}], remembered}"
        ),
    ] = False,
) -> int:
    """List the MCP servers that are configured on this machine, and your logins.

    Reads the files of Claude Code, Claude Desktop, VS Code, Cursor, Codex, Gemini CLI and Goose, and
    `.mcp.json`. Never changes these files. With `--probe`, or if you name servers, connects to the servers
    and shows how many skills they offer. Otherwise, no server is started or contacted. After you remove a
    server from its file, use `--forget` to delete everything stored about it.

    Exit code 1: a server did not answer, or a file cannot be read.

    For example:

    ```
    skillwire servers
    skillwire servers --probe
    skillwire servers github http://127.0.0.1:8765/mcp
    skillwire servers --forget github
    ```
    """
    if forget:
        return _forget(forget)
    known = known_servers(os.environ)
    if names:
        return _ask_named(known, names, allow, token_env, as_json=json)
    rows = [ServerRow.of(each) for each in known.servers]
    if probe:
        rows = _probe_servers(known.servers, allow or ())
    rows = with_logins(rows, known.servers, Logins(state_folder_from(os.environ)))
    return print_servers(rows, known.unreadable, _remembered(known), as_json=json)


def _forget(labels: Sequence[str]) -> int:
    """Delete everything stored about the servers. Raises `UsageError` for an unknown label."""
    with open_existing_state() as state:
        known = set[str]() if state is None else set(state.labels())
        if unknown := next((label for label in labels if label not in known), None):
            listed = ", ".join(map(quoted, sorted(known))) or "none"
            message = f"nothing is stored about a server {quoted(unknown)}"
            raise UsageError(message, hint=f"servers with stored data: {listed}")
        for label in labels:
            if state is not None:
                state.forget(label)
                stderr_console().print(
                    f"deleted the approvals, grants, cached files and login of {quoted(label)}"
                )
    return 0


def _remembered(known: KnownServers) -> list[str]:
    """Return the labels of servers that have stored data but that no client's file names (H24)."""
    with open_existing_state() as state:
        return [] if state is None else [label for label in state.labels() if label not in known.labels]


def _ask_named(
    known: KnownServers,
    names: Sequence[str],
    allow: Sequence[str] | None,
    token_env: str | None,
    *,
    as_json: bool,
) -> int:
    """Probe the named servers, print the results and return the exit code."""
    from skillwire.cli.remote import probe_all  # noqa: PLC0415 - it loads the SDK

    targets = resolve_targets(names, allow, token_env)
    probes = probe_all(targets)
    rows = [
        ServerRow.of(known.labels[target.label]) if target.label in known.labels else ServerRow.typed(target)
        for target in targets
    ]
    probed = [row.asked(probes[row.label]) for row in rows]
    return print_servers(probed, (), (), as_json=as_json)


def _may_be_probed(server: KnownServer, allow: Sequence[str], agrees: MayReach) -> bool:
    """Return whether `--probe` may contact a server.

    A server in a project's file may be contacted only with consent or `--allow`, because it would learn that
    someone opened the project.
    """
    if server.needs_consent:
        return agrees(server)
    return not server.file.in_project or server.label in allow


def _must_be_public(server: KnownServer, allow: Sequence[str]) -> bool:
    """Return whether a server may be probed only at a public address.

    This applies to an `http` URL in a project's file without `--allow`.
    """
    return server.is_plain_in_project and server.label not in allow


def _probe_servers(known: Sequence[KnownServer], allow: Sequence[str]) -> list[ServerRow]:
    """Probe every ready server that may be probed, and return a row for each known server."""
    from skillwire.cli.remote import probe_all  # noqa: PLC0415 - it loads the SDK

    agrees = may_reach(allow)
    ready = [each for each in known if each.ready and _may_be_probed(each, allow, agrees)]
    logins = Logins(state_folder_from(os.environ))
    targets = [
        with_login(replace(each.target, public_only=_must_be_public(each, allow)), logins)
        for each in ready
        if each.target
    ]
    probes = probe_all(targets)
    rows = (ServerRow.of(each) for each in known)
    return [row.asked(probes[row.label]) if row.was_probed(probes) else row for row in rows]
