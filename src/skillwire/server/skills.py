"""The server that a library makes: every surface, in one place."""

from typing import Any

from mcp.server.lowlevel.server import Server

from skillwire import __version__
from skillwire.catalog.library import Library
from skillwire.server.build import build_server
from skillwire.surfaces.directory import DirectorySurface
from skillwire.surfaces.documents import ProblemsDocument
from skillwire.surfaces.extension import ExtensionSurface
from skillwire.surfaces.resources import ResourcesSurface
from skillwire.wire.messages import Freshness


def skills_server(
    library: Library,
    *,
    name: str = "skillwire",
    version: str = __version__,
    instructions: str | None = None,
    freshness: Freshness | None = None,
) -> Server[Any]:
    """Return an MCP server for the skills of `library`. `instructions` may point at skill URIs (S20)."""
    surfaces = (
        ExtensionSurface(library),
        DirectorySurface(library),
        ResourcesSurface(library, [ProblemsDocument()]),
    )
    return build_server(surfaces, name=name, version=version, instructions=instructions, freshness=freshness)
