"""What a verb serves: a library, the ways in to it, and the answers that are kept ready."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from skillwire import __version__
from skillwire.catalog.library import Library
from skillwire.server.lane import Lane
from skillwire.server.serve_options import NAME, ServeOptions, all_surfaces
from skillwire.surfaces.base import Surface
from skillwire.wire.messages import Freshness

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from skillwire.cli.gateway import Gateway


@dataclass(frozen=True, slots=True)
class Service:
    """A server that is made when somebody needs it. Until then, nothing loads the MCP SDK."""

    library: Library
    surfaces: Sequence[Surface]
    freshness: Freshness
    name: str = NAME
    lane: Lane | None = None
    gateway: "Gateway | None" = None
    """What pages show and steer, if there are pages."""
    well_known: bool = True
    """Whether programs can install the skills over HTTP, from `/.well-known/agent-skills/`."""

    @classmethod
    def of(
        cls,
        library: Library,
        serve_options: ServeOptions,
        freshness: Freshness,
        *,
        name: str = NAME,
        with_lane: bool = True,
        gateway: "Gateway | None" = None,
        well_known: bool = True,
    ) -> "Service":
        surfaces = all_surfaces(library, serve_options)
        lane = Lane(surfaces, freshness, name=name, version=__version__) if with_lane else None
        return cls(library, surfaces, freshness, name, lane, gateway, well_known)

    def server(self) -> "Server[Any]":
        """Return the server of the SDK, which is loaded only now."""
        return import_module("skillwire.server.skills").skills_server(
            self.library, name=self.name, freshness=self.freshness, surfaces=self.surfaces
        )
