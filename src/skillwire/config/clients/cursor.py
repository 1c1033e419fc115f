"""Cursor: `.cursor/mcp.json` of a project, and of a person."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.client import Client
from skillwire.config.clients.declared import Declared, declared, entries
from skillwire.config.clients.document import Place
from skillwire.config.clients.editors import editor_variables, with_env_file
from skillwire.config.clients.surroundings import Surroundings


def _places(around: Surroundings) -> Iterator[Place]:
    yield from (Place(folder / ".cursor/mcp.json", folder) for folder in around.projects)
    yield Place(around.home / ".cursor/mcp.json")


def _servers(document: Mapping[str, object], place: Place, around: Surroundings) -> Iterator[Declared]:
    variables = editor_variables(place, around)
    for name, raw in entries(document, "mcpServers"):
        yield declared(name, raw, variables, place.project, with_env_file())


CURSOR = Client("cursor", "Cursor", _places, _servers)
