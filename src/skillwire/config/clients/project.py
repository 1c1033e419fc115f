"""A project's `.mcp.json`, which several clients read. Variables are `${NAME}` and `${NAME:-default}`."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.base import BRACES, Client, DeclaredServer, Variables, declare_server, entries
from skillwire.config.clients.files import ClientEnvironment, ClientFile


def _files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield from (ClientFile(folder / ".mcp.json", folder) for folder in client_env.projects)


def _servers(
    document: Mapping[str, object], client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = Variables(BRACES, client_env.environment)
    for name, raw in entries(document, "mcpServers"):
        yield declare_server(name, raw, variables, client_file.project)


PROJECT = Client("project", "a project's .mcp.json", _files, _servers)
