"""`.mcp.json` of a project, which several clients share. Variables are `${NAME}` and `${NAME:-default}`."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.base import BRACES, Client, DeclaredServer, Variables, declare_server, entries
from skillwire.config.clients.files import ClientEnvironment, Place


def _places(client_env: ClientEnvironment) -> Iterator[Place]:
    yield from (Place(folder / ".mcp.json", folder) for folder in client_env.projects)


def _servers(
    document: Mapping[str, object], place: Place, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = Variables(BRACES, client_env.environment)
    for name, raw in entries(document, "mcpServers"):
        yield declare_server(name, raw, variables, place.project)


PROJECT = Client("project", "a project's .mcp.json", _places, _servers)
