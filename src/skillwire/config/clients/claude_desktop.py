"""Claude Desktop: `claude_desktop_config.json`. It starts programs only, and knows no variables."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.client import Client
from skillwire.config.clients.declared import Declared, declared, entries
from skillwire.config.clients.document import Place
from skillwire.config.clients.surroundings import Surroundings
from skillwire.config.clients.variables import NONE, Variables


def _places(around: Surroundings) -> Iterator[Place]:
    yield Place(around.application_data / "Claude/claude_desktop_config.json")


def _servers(document: Mapping[str, object], _place: Place, around: Surroundings) -> Iterator[Declared]:
    for name, raw in entries(document, "mcpServers"):
        yield declared(name, raw, Variables(NONE, around.environment))


CLAUDE_DESKTOP = Client("claude-desktop", "Claude Desktop", _places, _servers)
