"""What a verb serves: a library, the ways in to it, and the answers that are kept ready."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from skillwire import __version__
from skillwire.catalog.library import Library
from skillwire.server.lane import Lane
from skillwire.server.offering import NAME, Offering, all_surfaces
from skillwire.surfaces.base import Surface
from skillwire.wire.messages import Freshness

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from skillwire.drive.live import LiveSkills


@dataclass(frozen=True, slots=True)
class Service:
    """A server that is made when somebody needs it. Until then, nothing loads the MCP SDK."""

    library: Library
    surfaces: Sequence[Surface]
    freshness: Freshness
    name: str = NAME
    lane: Lane | None = None
    live: "LiveSkills | None" = None
    """What running programs offer, if they may connect."""

    @classmethod
    def of(
        cls,
        library: Library,
        offering: Offering,
        freshness: Freshness,
        *,
        name: str = NAME,
        with_lane: bool = True,
        live: "LiveSkills | None" = None,
    ) -> "Service":
        surfaces = all_surfaces(library, offering)
        lane = Lane(surfaces, freshness, name=name, version=__version__) if with_lane else None
        return cls(library, surfaces, freshness, name, lane, live)

    def server(self) -> "Server[Any]":
        """Return the server of the SDK, which is loaded only now."""
        return import_module("skillwire.server.skills").skills_server(
            self.library, name=self.name, freshness=self.freshness, surfaces=self.surfaces
        )
