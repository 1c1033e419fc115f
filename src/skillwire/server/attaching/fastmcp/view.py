"""All skills that a FastMCP server publishes, and those of them that one client may see."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastmcp import FastMCP
from fastmcp.resources.base import Resource
from fastmcp.server.providers.aggregate import AggregateProvider
from fastmcp.server.providers.base import Provider
from fastmcp.server.providers.fastmcp_provider import FastMCPProvider
from fastmcp.server.providers.wrapped_provider import _WrappedProvider  # pyright: ignore[reportPrivateUsage]
from fastmcp.server.transforms import Transform
from pydantic import AnyUrl

from skillwire.authoring.skill import Skill
from skillwire.core.names import SCHEME
from skillwire.features.base import Feature, Method, all_methods
from skillwire.features.prompts import PromptContent
from skillwire.features.resources import ResourcesFeature
from skillwire.features.tools import SkillTools
from skillwire.library.library import Library
from skillwire.library.library_source import LibrarySource
from skillwire.server.attaching.taken import TakenNames, problems_changed, show_taken_names
from skillwire.server.notifications import ChangeNotifier
from skillwire.server.serve_options import ServeOptions, all_features
from skillwire.sources.base import Source
from skillwire.sources.prefix import PrefixedSource

_MOST = 32
"""Selections that are kept. Clients that see the same share one."""
_PROBE = "probe/SKILL.md"


async def find_hidden_skills(server: FastMCP[Any], library: Library) -> frozenset[str]:
    """Return the skills whose `SKILL.md` a server does not list for the client that asks, by their URIs.

    That is the one question: it goes through everything that FastMCP does to a list, middleware included.
    """
    listed = {str(resource.uri) for resource in await server.list_resources()}
    return frozenset(uri for uri in library.catalog.entries if uri not in listed)


@dataclass(frozen=True, slots=True)
class Selection:
    """Some skills of a library, and every way in to them."""

    library: Library
    features: Sequence[Feature]
    source: LibrarySource | None = None

    @property
    def methods(self) -> dict[str, Method]:
        return all_methods(self.features)

    async def refresh(self) -> None:
        await self.library.ensure_loaded()
        if self.source is not None and self.source.is_stale:
            await self.library.rescan_source(self.source)


class Selections:
    """A library without what is hidden, for each set of hidden skills that came up."""

    def __init__(
        self,
        library: Library,
        features: Sequence[Feature],
        options: ServeOptions,
        prompts: Mapping[str, Skill],
    ) -> None:
        self._everything = Selection(library, features)
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
        await selection.refresh()
        return selection

    def _made(self, hidden: frozenset[str]) -> Selection:
        source = LibrarySource(self._everything.library, "skills", hidden)
        library = Library([source])
        prompts = {name: skill for name, skill in self._prompts.items() if skill.uri not in hidden}
        return Selection(library, all_features(library, self._options, prompts), source)


class SkillHolder(Provider):
    """A provider that has skills, whatever it makes of them."""

    library: Library
    prompts: Mapping[str, Skill]
    options: ServeOptions
    features: Sequence[Feature]
    selections: Selections
    taken: TakenNames

    async def has_skill_tools(self) -> bool:
        """Whether the tools that load skills are ours on the server that they are attached to."""
        return True


@dataclass(frozen=True, slots=True)
class Place:
    """A holder of skills, and the path below which a server publishes what it has; empty for none."""

    holder: SkillHolder
    prefix: str


async def places(server: FastMCP[Any]) -> list[Place]:
    """Return every holder of skills in a server and below it, in the order in which FastMCP asks them."""
    return [place async for place in _below(server.providers, server.transforms)]


async def holds_skills(provider: Provider) -> bool:
    """Whether a provider has skills, or has something mounted that has."""
    return any([True async for _ in _below([provider], ())])


async def _below(providers: Sequence[Provider], around: Sequence[Transform]) -> AsyncGenerator[Place]:
    """Yield the holders below `providers`, whose components go through the transforms `around`."""
    for provider in providers:
        transforms = [*provider.transforms, *around]
        match provider:
            case SkillHolder():
                if (prefix := await _prefix(transforms)) is not None:
                    yield Place(provider, prefix)
                continue
            case FastMCPProvider():
                mounted = provider.server
                inner, transforms = mounted.providers, [*mounted.transforms, *transforms]
            case _WrappedProvider():
                inner = [provider._inner]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - it has no other name
            case AggregateProvider():
                inner = provider.providers
            case _:
                continue
        async for place in _below(inner, transforms):
            yield place


async def _prefix(transforms: Sequence[Transform]) -> str | None:
    """Return where transforms put a resource, seen on one; None if that is not below some path."""
    probe: Sequence[Resource] = [Resource(uri=AnyUrl(f"{SCHEME}{_PROBE}"), name="probe")]
    for transform in transforms:
        probe = await transform.list_resources(probe)
    moved = [str(each.uri).removeprefix(SCHEME) for each in probe]
    if len(moved) != 1 or not moved[0].endswith(_PROBE):
        return None
    return moved[0].removesuffix(_PROBE).rstrip("/")


@dataclass(frozen=True, slots=True)
class View:
    """What a server publishes, as long as the same skills are mounted at the same places."""

    places: Sequence[Place]
    library: Library
    features: Sequence[Feature]
    notifier: ChangeNotifier
    selections: Selections
    nested: Sequence[tuple[Source, LibrarySource]] = ()
    """Where the library is made of others: each as a source of it, and what knows whether that changed."""

    @property
    def resources(self) -> ResourcesFeature:
        return next(feature for feature in self.features if isinstance(feature, ResourcesFeature))

    @property
    def methods(self) -> dict[str, Method]:
        return all_methods(self.features)

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

    def is_shadowed(self, uri: str) -> bool:
        """Whether `uri` is that of a skill at whose path another one stands: FastMCP would read from both."""
        if not self.nested or self.library.catalog.serves(uri):
            return False
        return any(place.holder.library.catalog.serves(_inside(place.prefix, uri)) for place in self.places)

    async def select_visible(self, server: FastMCP[Any]) -> tuple[Selection, frozenset[str]]:
        """Return what the client that asks `server` may see, and the URIs of the skills that it may not."""
        hidden = await find_hidden_skills(server, self.library)
        return await self.selections.without(hidden), hidden

    async def refresh(self) -> None:
        """See to it that the library is what the libraries that it is made of are at this moment."""
        await self.library.ensure_loaded()
        for source, nested in self.nested:
            if nested.is_stale:
                await self.library.rescan_source(source)


async def view_of(server: FastMCP[Any], before: View | None) -> View:
    """Return what a server publishes now: the same value as before if that is the same."""
    found = await places(server)
    if before is not None and before.places == found:
        return before
    match found:
        case [Place(holder, "")]:  # the usual case: its own library, so that no two can differ
            notifier = ChangeNotifier(holder.library, holder.features)
            _tell_of_taken_names(holder, holder.features, notifier)
            return View(found, holder.library, holder.features, notifier, holder.selections)
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
    features = all_features(library, options)
    selections = Selections(library, features, options, {})
    notifier = ChangeNotifier(library, features)
    for place in found:
        show_taken_names(features, place.holder.taken)
        _tell_of_taken_names(place.holder, features, notifier)
    return View(found, library, features, notifier, selections, sources)


def _tell_of_taken_names(holder: SkillHolder, features: Sequence[Feature], notifier: ChangeNotifier) -> None:
    """Have clients hear when the document of problems shows another name that is taken."""

    def tell() -> None:
        problems_changed(features, notifier)

    holder.taken.on_change = tell


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
