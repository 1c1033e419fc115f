"""Windsurf, which is now called Devin Desktop: `mcpServers` in `mcp_config.json`, in one of two folders."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.base import (
    Client,
    DeclaredServer,
    Entry,
    declare_server,
    editor_variables_of,
    entries,
    parse_target,
)
from skillwire.config.clients.files import ClientEnvironment, ClientFile
from skillwire.config.clients.writer import BRACED, ClientWriter
from skillwire.host.connections.target import Target


def _old_file(client_env: ClientEnvironment) -> ClientFile:
    return ClientFile(client_env.home / ".codeium/windsurf/mcp_config.json")


def _new_file(client_env: ClientEnvironment) -> ClientFile:
    return ClientFile(client_env.configuration / "devin/mcp_config.json")


def _files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield _new_file(client_env)
    yield _old_file(client_env)


def _servers(
    document: Mapping[str, object], _client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = editor_variables_of(client_env.environment, client_env.home, client_env.projects[-1])
    for name, raw in entries(document, "mcpServers"):
        yield declare_server(name, raw, variables, make=_target)


def _target(entry: Entry) -> Target:
    return entry.site("serverUrl") if entry.has("serverUrl") else parse_target(entry)


def _user_files(client_env: ClientEnvironment) -> list[ClientFile]:
    """Return the files that exist, else the file in the folder that exists, else the new file."""
    old, new = _old_file(client_env), _new_file(client_env)
    if there := [each for each in (new, old) if each.exists()]:
        return there
    return [old if old.path.parent.is_dir() and not new.path.parent.is_dir() else new]


WINDSURF = Client(
    "windsurf",
    "Windsurf",
    _files,
    _servers,
    ClientWriter(
        ("mcpServers",),
        lambda _, connection: connection.fields(),
        _user_files,
        lambda env: _old_file(env).path.parent.is_dir() or _new_file(env).path.parent.is_dir(),
        "restart it, or refresh the list of MCP servers in its settings",
        changes=BRACED,
        url_note="in the older file `~/.codeium/windsurf/mcp_config.json`, the key for a URL is `serverUrl`",
    ),
)
