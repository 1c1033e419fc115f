"""A provider with skills, and its skills without those that a client may not see."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from fastmcp.server.providers.base import Provider

from skillwire.authoring.skill import Skill
from skillwire.errors import SkillwireError
from skillwire.features.base import Feature, Method, all_methods
from skillwire.library.library import Library
from skillwire.library.library_source import LibrarySource
from skillwire.server.attaching.cached import CachedResponses
from skillwire.server.attaching.taken import TakenNames
from skillwire.server.serve_options import ServeOptions, all_features

_MAX_ATTEMPTS = 20
"""Attempts to find what a client may see while skills change."""
_MAX_SELECTIONS = 32
"""Maximum number of cached selections. Clients that see the same skills share a selection."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Some skills of a library, and the features that serve them."""

    library: Library
    features: Sequence[Feature]
    source: LibrarySource | None = None
    cached: CachedResponses | None = None
    """The response cache. Only the selection of all skills has one."""

    @property
    def methods(self) -> dict[str, Method]:
        return all_methods(self.features)

    async def refresh(self) -> None:
        await self.library.ensure_loaded()
        if self.source is not None and self.source.is_stale:
            await self.library.rescan_source(self.source)


class Selections:
    """A library without its hidden skills, cached for each set of hidden skills."""

    def __init__(
        self,
        library: Library,
        features: Sequence[Feature],
        options: ServeOptions,
        prompts: Mapping[str, Skill],
    ) -> None:
        self._everything = Selection(library, features, cached=CachedResponses(features))
        self._options = options
        self._prompts = prompts
        self._known: OrderedDict[frozenset[str], Selection] = OrderedDict()

    async def visible(
        self, find_hidden: Callable[[], Awaitable[frozenset[str]]]
    ) -> tuple[Selection, frozenset[str]]:
        """Return the current skills that `find_hidden` does not return, and what it returned.

        If the skills change in the meantime, asks again, because it does not know the new skills.
        """
        library = self._everything.library
        for _ in range(_MAX_ATTEMPTS):
            before = library.catalog
            hidden = await find_hidden()
            selection = await self.without(hidden)
            if library.catalog is before:
                return selection, hidden
        raise SkillwireError("the skills keep changing; try again")

    async def without(self, hidden: frozenset[str]) -> Selection:
        """Return the current skills without `hidden`."""
        if not hidden:
            return self._everything
        selection = self._known.pop(hidden, None) or self._made(hidden)
        self._known[hidden] = selection
        if len(self._known) > _MAX_SELECTIONS:
            self._known.popitem(last=False)
        await selection.refresh()
        return selection

    def _made(self, hidden: frozenset[str]) -> Selection:
        source = LibrarySource(self._everything.library, "skills", hidden)
        library = Library([source])
        prompts = {name: skill for name, skill in self._prompts.items() if skill.uri not in hidden}
        return Selection(library, all_features(library, self._options, prompts), source)


class SkillHolder(Provider):
    """Base of providers that have skills."""

    library: Library
    prompts: Mapping[str, Skill]
    options: ServeOptions
    features: Sequence[Feature]
    selections: Selections
    taken: TakenNames

    async def has_skill_tools(self) -> bool:
        """Return whether the server offers this holder's tools that load skills. The default is True."""
        return True
