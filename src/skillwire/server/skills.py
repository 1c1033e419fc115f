"""The server that a library makes."""

from collections.abc import Sequence
from typing import Any

from mcp.server.lowlevel.server import Server

from skillwire import __version__
from skillwire.catalog.library import Library
from skillwire.server.announce import Announcer
from skillwire.server.build import build_server
from skillwire.server.serve_options import NAME, ServeOptions, all_surfaces
from skillwire.surfaces.base import Surface
from skillwire.wire.messages import Freshness


def skills_server(
    library: Library,
    *,
    name: str = NAME,
    version: str = __version__,
    instructions: str | None = None,
    freshness: Freshness | None = None,
    options: ServeOptions | None = None,
    surfaces: Sequence[Surface] | None = None,
) -> Server[Any]:
    """Return an MCP server of the official SDK for `library`. `instructions` may name skill URIs (S20).

    For as long as it runs, the library follows its sources, and clients are told of changes. `surfaces` are
    those of the `options`, where somebody else asks them, too.
    """
    if surfaces is None:
        surfaces = all_surfaces(library, options or ServeOptions())
    return build_server(
        surfaces,
        name=name,
        version=version,
        instructions=instructions,
        freshness=freshness,
        announcer=Announcer(library, surfaces),
    )
