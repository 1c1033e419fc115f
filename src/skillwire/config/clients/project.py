"""`.mcp.json` of a project, which several clients share. Variables are `${NAME}` and `${NAME:-default}`."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.client import Client
from skillwire.config.clients.declared import Declared, declared, entries
from skillwire.config.clients.document import Place
from skillwire.config.clients.surroundings import Surroundings
from skillwire.config.clients.variables import BRACES, Variables


def _places(around: Surroundings) -> Iterator[Place]:
    yield from (Place(folder / ".mcp.json", folder) for folder in around.projects)


def _servers(document: Mapping[str, object], place: Place, around: Surroundings) -> Iterator[Declared]:
    variables = Variables(BRACES, around.environment)
    for name, raw in entries(document, "mcpServers"):
        yield declared(name, raw, variables, place.project)


PROJECT = Client("project", "a project's .mcp.json", _places, _servers)
