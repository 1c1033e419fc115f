"""The skills that one client may see: FastMCP may have switched others off, or keep them from this client."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastmcp import FastMCP

from skillwire.authoring.skill import Skill
from skillwire.catalog.library import Library
from skillwire.catalog.nested import LibrarySource
from skillwire.server.serve_options import ServeOptions, all_surfaces
from skillwire.surfaces.base import Method, Surface, all_methods

_MOST = 32
"""Selections that are kept. Clients that see the same share one."""


async def hidden_from(server: FastMCP[Any], library: Library) -> frozenset[str]:
    """Return the skills whose `SKILL.md` a server does not list for the client that asks, by their URIs.

    That is the one question: it goes through everything that FastMCP does to a list, middleware included.
    """
    listed = {str(resource.uri) for resource in await server.list_resources()}
    return frozenset(uri for uri in library.catalog.entries if uri not in listed)


@dataclass(frozen=True, slots=True)
class Selection:
    """Some skills of a library, and every way in to them."""

    library: Library
    surfaces: Sequence[Surface]
    source: LibrarySource | None = None

    @property
    def methods(self) -> dict[str, Method]:
        return all_methods(self.surfaces)

    async def catch_up(self) -> None:
        await self.library.ready()
        if self.source is not None and self.source.behind:
            await self.library.look_again(self.source)


class Selections:
    """A library without what is hidden, for each set of hidden skills that came up."""

    def __init__(
        self,
        library: Library,
        surfaces: Sequence[Surface],
        options: ServeOptions,
        prompts: Mapping[str, Skill],
    ) -> None:
        self._everything = Selection(library, surfaces)
        self._options = options
        self._prompts = prompts
        self._known: OrderedDict[frozenset[str], Selection] = OrderedDict()

    async def without(self, hidden: frozenset[str]) -> Selection:
        """Return the skills that are not hidden, as they are now."""
        if not hidden:
            return self._everything
        selection = self._known.pop(hidden, None) or self._made(hidden)
        self._known[hidden] = selection
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        await selection.catch_up()
        return selection

    def _made(self, hidden: frozenset[str]) -> Selection:
        source = LibrarySource(self._everything.library, "skills", hidden)
        library = Library([source])
        prompts = {name: skill for name, skill in self._prompts.items() if skill.uri not in hidden}
        return Selection(library, all_surfaces(library, self._options, prompts), source)
