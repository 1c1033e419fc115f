"""Claude Code: `.claude.json`, with servers for everywhere, and servers for one project alone."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from skillwire.config.clients.client import Client
from skillwire.config.clients.declared import Declared, declared, entries
from skillwire.config.clients.document import Place, as_object
from skillwire.config.clients.surroundings import Surroundings
from skillwire.config.clients.variables import BRACES, Variables


def _places(around: Surroundings) -> Iterator[Place]:
    yield Place(around.named("CLAUDE_CONFIG_DIR", around.home) / ".claude.json")


def _servers(document: Mapping[str, object], _place: Place, around: Surroundings) -> Iterator[Declared]:
    variables = Variables(BRACES, around.environment)
    projects = dict(entries(document, "projects"))
    for folder in around.projects:  # what holds for a project wins over what holds everywhere
        project = as_object(projects.get(str(folder)))
        off = project.get("disabledMcpServers")
        for name, server in entries(project, "mcpServers"):
            found = declared(name, server, variables, folder)
            is_off = isinstance(off, list) and name in off
            yield replace(found, enabled=found.enabled and not is_off)
    for name, server in entries(document, "mcpServers"):
        yield declared(name, server, variables)


CLAUDE_CODE = Client("claude-code", "Claude Code", _places, _servers)
