"""`.mcp.json` of a project, which several clients share. Variables are `${NAME}` and `${NAME:-default}`."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.base import BRACES, Client, DeclaredServer, Variables, declared, entries
from skillwire.config.clients.files import ClientEnvironment, Place


def _places(around: ClientEnvironment) -> Iterator[Place]:
    yield from (Place(folder / ".mcp.json", folder) for folder in around.projects)


def _servers(
    document: Mapping[str, object], place: Place, around: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = Variables(BRACES, around.environment)
    for name, raw in entries(document, "mcpServers"):
        yield declared(name, raw, variables, place.project)


PROJECT = Client("project", "a project's .mcp.json", _places, _servers)
