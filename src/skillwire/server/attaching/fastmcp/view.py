"""The skills that a FastMCP server publishes, and the skills among them that one client may see."""

from collections.abc import AsyncGenerator, Sequence
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
from skillwire.features.prompt_messages import PromptContent, PromptScope
from skillwire.features.resources import ResourcesFeature
from skillwire.features.tools import SkillTools
from skillwire.library.library import Library
from skillwire.library.library_source import LibrarySource
from skillwire.server.attaching.fastmcp.hidden import HiddenSkills
from skillwire.server.attaching.fastmcp.holder import Selection, Selections, SkillHolder
from skillwire.server.attaching.taken import problems_changed, show_taken_names
from skillwire.server.notifications import ChangeNotifier
from skillwire.server.serve_options import ServeOptions, all_features
from skillwire.sources.base import Source
from skillwire.sources.prefix import PrefixedSource

_PROBE = "probe/SKILL.md"


@dataclass(frozen=True, slots=True)
class MountedHolder:
    """A holder of skills, and the path prefix under which a server publishes its skills."""

    holder: SkillHolder
    prefix: str


async def mounted_holders(server: FastMCP[Any]) -> list[MountedHolder]:
    """Return every holder of skills in a server and in the servers mounted in it, in FastMCP's order."""
    return [mounted async for mounted in _below(server.providers, server.transforms)]


async def holds_skills(provider: Provider) -> bool:
    """Return whether a provider, or anything mounted in it, has skills."""
    return any([True async for _ in _below([provider], ())])


async def _below(providers: Sequence[Provider], around: Sequence[Transform]) -> AsyncGenerator[MountedHolder]:
    """Yield the holders in `providers` and in everything mounted in them.

    `around` are the transforms that outer servers and providers apply. A holder is left out if its
    transforms change resources in another way than by a path prefix.
    """
    for provider in providers:
        transforms = [*provider.transforms, *around]
        match provider:
            case SkillHolder():
                if (prefix := await _prefix(transforms)) is not None:
                    yield MountedHolder(provider, prefix)
                continue
            case FastMCPProvider():
                mounted = provider.server
                inner, transforms = mounted.providers, [*mounted.transforms, *transforms]
            case _WrappedProvider():
                inner = [provider._inner]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - there is no public name
            case AggregateProvider():
                inner = provider.providers
            case _:
                continue
        async for found in _below(inner, transforms):
            yield found


async def _prefix(transforms: Sequence[Transform]) -> str | None:
    """Return the path prefix that transforms add to a test resource.

    Return None if they change it in another way.
    """
    probe: Sequence[Resource] = [Resource(uri=AnyUrl(f"{SCHEME}{_PROBE}"), name="probe")]
    for transform in transforms:
        probe = await transform.list_resources(probe)
    moved = [str(each.uri).removeprefix(SCHEME) for each in probe]
    if len(moved) != 1 or not moved[0].endswith(_PROBE):
        return None
    return moved[0].removesuffix(_PROBE).rstrip("/")


@dataclass(frozen=True, slots=True)
class View:
    """The skills that a server publishes. Valid while the same holders are mounted at the same prefixes."""

    mounted: Sequence[MountedHolder]
    library: Library
    features: Sequence[Feature]
    notifier: ChangeNotifier
    selections: Selections
    hidden: HiddenSkills
    nested: Sequence[tuple[Source, LibrarySource]] = ()
    """For each combined library: its source, and the `LibrarySource` that knows whether it changed."""

    @property
    def resources(self) -> ResourcesFeature:
        return next(feature for feature in self.features if isinstance(feature, ResourcesFeature))

    @property
    def methods(self) -> dict[str, Method]:
        return all_methods(self.features)

    @property
    def own(self) -> Sequence[SkillHolder]:
        """The holders whose skills the server publishes without a prefix."""
        return [mounted.holder for mounted in self.mounted if not mounted.prefix]

    def prompts(self) -> dict[str, tuple[str, Skill]]:
        """Return the skills that are prompts, with their prefixes, by the prompt names in FastMCP."""
        return {
            "_".join([*_segments(mounted.prefix), name]): (mounted.prefix, skill)
            for mounted in self.mounted
            for name, skill in mounted.holder.prompts.items()
        }

    def is_shadowed(self, uri: str) -> bool:
        """Return whether another skill has precedence over the skill at `uri`.

        FastMCP would read from both.
        """
        if not self.nested or self.library.catalog.serves(uri):
            return False
        return any(
            mounted.holder.library.catalog.serves(_inside(mounted.prefix, uri)) for mounted in self.mounted
        )

    async def select_visible(self, server: FastMCP[Any]) -> tuple[Selection, frozenset[str]]:
        """Return the skills that the requesting client may see, and the URIs of all hidden skills."""
        return await self.selections.visible(lambda: self.hidden.find(server))

    async def refresh(self) -> None:
        """Load the library, and bring it up to date with the libraries that it combines."""
        await self.library.ensure_loaded()
        for source, nested in self.nested:
            if nested.is_stale:
                await self.library.rescan_source(source)


async def view_of(server: FastMCP[Any], before: View | None) -> View:
    """Return the current view of a server. This is `before` if nothing was mounted or removed since then."""
    found = await mounted_holders(server)
    if before is not None and before.mounted == found:
        return before
    match found:
        case [MountedHolder(holder, "")]:
            # In the usual case of one holder, use its library directly, so that no copy can differ.
            notifier = ChangeNotifier(holder.library, holder.features)
            _notify_of_taken_names(holder, holder.features, notifier)
            hidden = HiddenSkills(holder.library)
            return View(found, holder.library, holder.features, notifier, holder.selections, hidden)
        case _:
            return _composed(found)


def _composed(found: Sequence[MountedHolder]) -> View:
    nested = [
        (mounted, LibrarySource(mounted.holder.library, f"{mounted.prefix or 'skills'}-{number}"))
        for number, mounted in enumerate(found)
    ]
    sources: list[tuple[Source, LibrarySource]] = [
        (PrefixedSource(source, mounted.prefix) if mounted.prefix else source, source)
        for mounted, source in nested
    ]
    # Not movable: FastMCP could not follow a moved skill.
    library = Library([source for source, _ in sources], movable=False)
    all_options = [mounted.holder.options for mounted in found] or [ServeOptions()]
    options = replace(
        all_options[0],
        every_client=any(each.every_client for each in all_options),
        list_nonconforming=all(each.list_nonconforming for each in all_options),
        prompt_content=_prompt_content(all_options),
        prompt_scope=_prompt_scope(all_options),
        prompt_tokens=min(each.prompt_tokens for each in all_options),
        skill_tools=_skill_tools(all_options),
    )
    features = all_features(library, options)
    selections = Selections(library, features, options, {})
    notifier = ChangeNotifier(library, features)
    for mounted in found:
        show_taken_names(features, mounted.holder.taken)
        _notify_of_taken_names(mounted.holder, features, notifier)
    return View(found, library, features, notifier, selections, HiddenSkills(library), sources)


def _notify_of_taken_names(
    holder: SkillHolder, features: Sequence[Feature], notifier: ChangeNotifier
) -> None:
    """Notify clients when the problems document reports a further taken name."""

    def notify() -> None:
        problems_changed(features, notifier)

    holder.taken.on_change = notify


def _prompt_content(all_options: Sequence[ServeOptions]) -> PromptContent:
    """Return the text format if one holder requires it, because every client can read text."""
    requested = {each.prompt_content for each in all_options}
    return PromptContent.TEXT if PromptContent.TEXT in requested else PromptContent.RESOURCE


def _prompt_scope(all_options: Sequence[ServeOptions]) -> PromptScope:
    """Return whole skills only if all holders want them."""
    is_whole = all(each.prompt_scope is PromptScope.WHOLE for each in all_options)
    return PromptScope.WHOLE if is_whole else PromptScope.DOCUMENT


def _skill_tools(all_options: Sequence[ServeOptions]) -> SkillTools:
    """Return the strictest option of all holders, because instructions must not name missing tools.

    Each holder still lists its tools by its own options.
    """
    requested = {each.skill_tools for each in all_options}
    strictest_first = (SkillTools.NEVER, SkillTools.AUTO)
    return next((each for each in strictest_first if each in requested), SkillTools.ALWAYS)


def _inside(prefix: str, uri: str) -> str:
    """Return `uri` without `prefix`.

    A URI outside the prefix is returned unchanged, and matches no skill.
    """
    return uri.replace(f"://{prefix}/", "://", 1) if prefix else uri


def _segments(prefix: str) -> list[str]:
    return prefix.split("/") if prefix else []
