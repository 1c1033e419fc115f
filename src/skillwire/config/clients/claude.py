"""Claude Code and Claude Desktop: where their files are, and how these files describe servers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from skillwire.config.clients.base import (
    BRACES,
    NONE,
    Client,
    DeclaredServer,
    Variables,
    declare_server,
    entries,
)
from skillwire.config.clients.files import ClientEnvironment, ClientFile, as_object
from skillwire.config.clients.project import PROJECT
from skillwire.config.clients.writer import BRACED, ClientWriter, Connection, Fields


def _code_files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield ClientFile(client_env.named("CLAUDE_CONFIG_DIR", client_env.home) / ".claude.json")


def _code_servers(
    document: Mapping[str, object], _client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = Variables(BRACES, client_env.environment)
    projects = dict(entries(document, "projects"))
    for folder in client_env.projects:  # first, because Claude Code prefers a project's servers
        project = as_object(projects.get(str(folder)))
        off = project.get("disabledMcpServers")
        for name, server in entries(project, "mcpServers"):
            found = declare_server(name, server, variables, folder)
            is_off = isinstance(off, list) and name in off
            yield replace(found, enabled=found.enabled and not is_off)
    for name, server in entries(document, "mcpServers"):
        yield declare_server(name, server, variables)


def _has_code(client_env: ClientEnvironment) -> bool:
    folder = client_env.named("CLAUDE_CONFIG_DIR", client_env.home / ".claude")
    return folder.is_dir() or any(each.exists() for each in _code_files(client_env))


CLAUDE_CODE = Client(
    "claude-code",
    "Claude Code",
    _code_files,
    _code_servers,
    ClientWriter(
        ("mcpServers",),
        lambda _, connection: connection.fields(stdio="stdio", http="http"),
        lambda client_env: list(_code_files(client_env)),
        _has_code,
        "start a new session; `/mcp` shows the server",
        PurePosixPath(".mcp.json"),
        "it asks you whether you trust the server of the project",
        changes=BRACED,
    ),
    PROJECT.servers,
)


def _desktop_files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield ClientFile(client_env.application_data / "Claude/claude_desktop_config.json")


def _desktop_servers(
    document: Mapping[str, object], _client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    for name, raw in entries(document, "mcpServers"):
        yield declare_server(name, raw, Variables(NONE, client_env.environment))


def _desktop_fields(_name: str, connection: Connection) -> Fields | None:
    return None if connection.url is not None else connection.fields()


CLAUDE_DESKTOP = Client(
    "claude-desktop",
    "Claude Desktop",
    _desktop_files,
    _desktop_servers,
    ClientWriter(
        ("mcpServers",),
        _desktop_fields,
        lambda client_env: list(_desktop_files(client_env)),
        lambda client_env: any(each.path.parent.is_dir() for each in _desktop_files(client_env)),
        "start it again",
        first="quit it first; otherwise it can overwrite the file when it exits",
        url_note="for a URL, use Settings > Connectors; it must be reachable from the internet",
    ),
)
