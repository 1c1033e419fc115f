"""All skills that a FastMCP server publishes, mounted ones included, as one library."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastmcp import FastMCP

from skillwire.authoring.skill import Skill
from skillwire.catalog.library import Library
from skillwire.catalog.nested import LibrarySource
from skillwire.server.announce import Announcer
from skillwire.server.fastmcp.selection import Selection, Selections, hidden_from
from skillwire.server.fastmcp.tree import Place, SkillHolder, places
from skillwire.server.serve_options import ServeOptions, all_surfaces
from skillwire.sources.base import Source
from skillwire.sources.prefix import PrefixedSource
from skillwire.surfaces.base import Method, Surface, all_methods
from skillwire.surfaces.prompts import PromptContent
from skillwire.surfaces.resources import ResourcesSurface
from skillwire.surfaces.tools import SkillTools


@dataclass(frozen=True, slots=True)
class View:
    """What a server publishes, as long as the same skills are mounted at the same places."""

    places: Sequence[Place]
    library: Library
    surfaces: Sequence[Surface]
    announcer: Announcer
    selections: Selections
    nested: Sequence[tuple[Source, LibrarySource]] = ()
    """Where the library is made of others: each as a source of it, and what knows whether that changed."""

    @property
    def resources(self) -> ResourcesSurface:
        return next(surface for surface in self.surfaces if isinstance(surface, ResourcesSurface))

    @property
    def methods(self) -> dict[str, Method]:
        return all_methods(self.surfaces)

    @property
    def own(self) -> Sequence[SkillHolder]:
        """Those whose skills the server publishes as they are, under no prefix."""
        return [place.holder for place in self.places if not place.prefix]

    def prompts(self) -> dict[str, tuple[str, Skill]]:
        """Return the prompts of skills, by the names that FastMCP gives them, each with its prefix."""
        return {
            "_".join([*_segments(place.prefix), name]): (place.prefix, skill)
            for place in self.places
            for name, skill in place.holder.prompts.items()
        }

    def gave_way(self, uri: str) -> bool:
        """Whether `uri` is that of a skill at whose path another one stands: FastMCP would read from both."""
        if not self.nested or self.library.catalog.serves(uri):
            return False
        return any(place.holder.library.catalog.serves(_inside(place.prefix, uri)) for place in self.places)

    async def seen_on(self, server: FastMCP[Any]) -> tuple[Selection, frozenset[str]]:
        """Return what the client that asks `server` may see, and the URIs of the skills that it may not."""
        hidden = await hidden_from(server, self.library)
        return await self.selections.without(hidden), hidden

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
            announcer = Announcer(holder.library, holder.surfaces)
            return View(found, holder.library, holder.surfaces, announcer, holder.selections)
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
    library = Library([source for source, _ in sources], movable=False)  # FastMCP would not know where
    all_options = [place.holder.options for place in found] or [ServeOptions()]
    options = replace(
        all_options[0],
        every_client=any(each.every_client for each in all_options),
        list_nonconforming=all(each.list_nonconforming for each in all_options),
        prompt_content=_prompt_content(all_options),
        skill_tools=_skill_tools(all_options),
    )
    surfaces = all_surfaces(library, options)
    selections = Selections(library, surfaces, options, {})
    return View(found, library, surfaces, Announcer(library, surfaces), selections, sources)


def _prompt_content(all_options: Sequence[ServeOptions]) -> PromptContent:
    """Return text if one server wants it: every client can read that."""
    wanted = {each.prompt_content for each in all_options}
    return PromptContent.TEXT if PromptContent.TEXT in wanted else PromptContent.RESOURCE


def _skill_tools(all_options: Sequence[ServeOptions]) -> SkillTools:
    """Return what holds for the skills of all servers: text about them must name no tool that is not there.

    Each server still lists its own tools, as its author wants.
    """
    wanted = {each.skill_tools for each in all_options}
    careful = (SkillTools.NEVER, SkillTools.AUTO)
    return next((each for each in careful if each in wanted), SkillTools.ALWAYS)


def _inside(prefix: str, uri: str) -> str:
    """Return a URI as the skills below `prefix` know it; nothing that they know for any other."""
    return uri.replace(f"://{prefix}/", "://", 1) if prefix else uri


def _segments(prefix: str) -> list[str]:
    return prefix.split("/") if prefix else []
