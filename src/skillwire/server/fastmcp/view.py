"""All skills that a FastMCP server publishes, mounted ones included, as one library."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastmcp import FastMCP

from skillwire.authoring.skill import Skill
from skillwire.catalog.library import Library
from skillwire.catalog.nested import LibrarySource
from skillwire.server.announce import Announcer
from skillwire.server.fastmcp.tree import Place, places
from skillwire.server.skills import Offering, all_surfaces
from skillwire.sources.base import Source
from skillwire.sources.prefix import PrefixedSource
from skillwire.surfaces.base import Method, Surface, all_methods
from skillwire.surfaces.resources import ResourcesSurface


@dataclass(frozen=True, slots=True)
class View:
    """What a server publishes, as long as the same skills are mounted at the same places."""

    places: Sequence[Place]
    library: Library
    surfaces: Sequence[Surface]
    announcer: Announcer
    nested: Sequence[tuple[Source, LibrarySource]] = ()
    """Where the library is made of others: each as a source of it, and what knows whether that changed."""

    @property
    def resources(self) -> ResourcesSurface:
        return next(surface for surface in self.surfaces if isinstance(surface, ResourcesSurface))

    @property
    def methods(self) -> dict[str, Method]:
        return all_methods(self.surfaces)

    @property
    def own(self) -> Sequence[Surface]:
        """The surfaces of skills that the server publishes as they are, under no prefix."""
        return [surface for place in self.places if not place.prefix for surface in place.holder.surfaces]

    def prompts(self) -> dict[str, tuple[str, Skill]]:
        """Return the prompts of skills, by the names that FastMCP gives them, each with its prefix."""
        return {
            "_".join([*_segments(place.prefix), name]): (place.prefix, skill)
            for place in self.places
            for name, skill in place.holder.prompts.items()
        }

    async def catch_up(self) -> None:
        """See to it that the library is what the libraries that it is made of are at this moment."""
        await self.library.ready()
        for source, nested in self.nested:
            if nested.behind:
                await self.library.look_again(source)


async def view_of(server: FastMCP[Any], before: View | None) -> View:
    """Return what a server publishes now: the same value as before if that is the same."""
    found = await places(server)
    if before is not None and before.places == found:
        return before
    match found:
        case [Place(holder, "")]:  # the usual case: its own library, so that no two can differ
            return View(found, holder.library, holder.surfaces, Announcer(holder.library, holder.surfaces))
        case _:
            return _composed(found)


def _composed(found: Sequence[Place]) -> View:
    nested = [
        (place, LibrarySource(place.holder.library, f"{place.prefix or 'skills'}-{number}"))
        for number, place in enumerate(found)
    ]
    sources: list[tuple[Source, LibrarySource]] = [
        (PrefixedSource(source, place.prefix) if place.prefix else source, source) for place, source in nested
    ]
    library = Library([source for source, _ in sources])
    offerings = [place.holder.offering for place in found] or [Offering()]
    offering = replace(offerings[0], every_client=any(each.every_client for each in offerings))
    surfaces = all_surfaces(library, offering)
    return View(found, library, surfaces, Announcer(library, surfaces), sources)


def _segments(prefix: str) -> list[str]:
    return prefix.split("/") if prefix else []
