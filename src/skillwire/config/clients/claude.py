"""Claude Code and Claude Desktop: where their files are, and how these files describe servers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

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


CLAUDE_CODE = Client("claude-code", "Claude Code", _code_files, _code_servers)


def _desktop_files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield ClientFile(client_env.application_data / "Claude/claude_desktop_config.json")


def _desktop_servers(
    document: Mapping[str, object], _client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    for name, raw in entries(document, "mcpServers"):
        yield declare_server(name, raw, Variables(NONE, client_env.environment))


CLAUDE_DESKTOP = Client("claude-desktop", "Claude Desktop", _desktop_files, _desktop_servers)
