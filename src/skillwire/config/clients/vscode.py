"""VS Code: `.vscode/mcp.json` of a project, and `mcp.json` of a person."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.client import Client
from skillwire.config.clients.declared import Declared, declared, entries
from skillwire.config.clients.document import Place
from skillwire.config.clients.editors import editor_variables, with_env_file
from skillwire.config.clients.surroundings import Surroundings

_EDITIONS = ("Code", "Code - Insiders")


def _places(around: Surroundings) -> Iterator[Place]:
    yield from (Place(folder / ".vscode/mcp.json", folder) for folder in around.projects)
    yield from (Place(around.application_data / edition / "User/mcp.json") for edition in _EDITIONS)


def _servers(document: Mapping[str, object], place: Place, around: Surroundings) -> Iterator[Declared]:
    variables = editor_variables(place, around)
    for name, raw in entries(document, "servers"):
        yield declared(name, raw, variables, place.project, with_env_file())


VSCODE = Client("vscode", "VS Code", _places, _servers)
