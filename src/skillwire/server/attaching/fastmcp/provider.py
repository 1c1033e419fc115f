"""A FastMCP provider of skills, and the function that adds it to a server."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar, cast

from fastmcp import FastMCP
from fastmcp.prompts.base import Prompt
from fastmcp.resources.base import Resource
from fastmcp.resources.template import ResourceTemplate
from fastmcp.server.dependencies import get_context
from fastmcp.server.extensions import ServerExtension
from fastmcp.server.providers.base import Provider
from fastmcp.tools.base import Tool
from fastmcp.utilities.versions import VersionSpec

from skillwire.authoring.skill import Skill
from skillwire.errors import ConflictError
from skillwire.features.base import Call, Method, all_methods
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.protocol.messages import (
    EXTENSION,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_TEMPLATES,
    TOOLS_CALL,
    TOOLS_LIST,
)
from skillwire.protocol.translate import file_resource
from skillwire.server.attaching.fastmcp.components import (
    SkillPrompt,
    SkillResource,
    SkillTemplates,
    SkillTool,
    supports_skills,
)
from skillwire.server.attaching.fastmcp.extension import SkillsExtension
from skillwire.server.attaching.fastmcp.hidden import HiddenSkills
from skillwire.server.attaching.fastmcp.holder import Selection, Selections, SkillHolder
from skillwire.server.attaching.fastmcp.view import holds_skills
from skillwire.server.attaching.merge import ATTACH_ONCE_HINT, LISTS
from skillwire.server.attaching.taken import SKILL_TOOLS, TakenNames, show_taken_names
from skillwire.server.serve_options import ServeOptions, all_features

Component = TypeVar("Component")
Named = TypeVar("Named", Prompt, Tool)


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Run `work` in a task while the block runs.

    This is not a task group, because FastMCP ends lifespans in another cancel scope.
    """
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class SkillsProvider(SkillHolder):
    """Serves a library as FastMCP resources, prompts and tools."""

    def __init__(self, library: Library, prompts: Mapping[str, Skill], options: ServeOptions) -> None:
        super().__init__()
        self.library = library
        self.prompts = prompts
        self.options = options
        self.features = all_features(self.library, options, self.prompts)
        self.taken = TakenNames()
        show_taken_names(self.features, self.taken)
        self._neighbours: Callable[[], Sequence[Provider]] = lambda: ()
        self.selections = Selections(self.library, self.features, options, self.prompts)
        self._hidden_skills = HiddenSkills(self.library)
        self._methods = all_methods(self.features)
        self._known: dict[str, tuple[Catalog, Mapping[str, Any]]] = {}
        self._known_prompts: tuple[Selection, Catalog, Mapping[str, Prompt]] | None = None

    def required_extensions(self) -> Sequence[ServerExtension]:
        return (SkillsExtension(),)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Follow the library for as long as the server runs."""
        await self.library.ensure_loaded()
        async with background(self.library.follow()):
            yield

    async def _list_resources(self) -> Sequence[Resource]:
        return list((await self._all(RESOURCES_LIST, SkillResource.of, RESOURCES_READ)).values())

    async def _get_resource(self, uri: str, version: VersionSpec | None = None) -> Resource | None:
        """Return the resource at `uri`, listed or not.

        Return None if there is none, if it has another version, or if only a template matches the URI.
        """
        found = await self._found(uri)
        return found if found is None or version is None or version.matches(found.version) else None

    async def _found(self, uri: str) -> Resource | None:
        await self.library.ensure_loaded()
        catalog, read = self.library.catalog, self._methods[RESOURCES_READ]
        if (served := catalog.files.get(uri)) is not None:
            return SkillResource.of(file_resource(uri, served.entry, served.file), read)
        if (
            uri in catalog.children_by_folder
            or any(each.match(uri) for each in catalog.templates)
            or not any(each.serves(uri) for each in self.features)  # most likely another provider's
        ):
            return None
        listed = await self._all(RESOURCES_LIST, SkillResource.of, RESOURCES_READ)
        # Otherwise, it is an archive or a legacy URI, which are not listed.
        return listed.get(uri) or SkillResource.of({"uri": uri, "name": uri}, read)

    async def _list_resource_templates(self) -> Sequence[ResourceTemplate]:
        return list((await self._all(RESOURCES_TEMPLATES, SkillTemplates.of, RESOURCES_READ)).values())

    async def _get_resource_template(
        self, uri: str, version: VersionSpec | None = None
    ) -> ResourceTemplate | None:
        """Return the template of the skill with the URI `uri`.

        Return None if no template has this skill, or if a version is requested. The parameter values are
        checked here, because FastMCP cannot validate them.
        """
        await self.library.ensure_loaded()
        filled = (each.uri for each in self.library.catalog.templates if each.entry(uri) is not None)
        if version is not None or (pattern := next(filled, None)) is None:
            return None
        return (await self._all(RESOURCES_TEMPLATES, SkillTemplates.of, RESOURCES_READ)).get(pattern)

    async def _list_prompts(self) -> Sequence[Prompt]:
        return await self._offered(PROMPTS_LIST, await self._prompts())

    async def _get_prompt(self, name: str, version: VersionSpec | None = None) -> Prompt | None:
        return await self._named(PROMPTS_LIST, name, version, await self._prompts())

    async def _list_tools(self) -> Sequence[Tool]:
        return await self._offered(TOOLS_LIST, await self._tools())

    async def _get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        return await self._named(TOOLS_LIST, name, version, await self._tools())

    def beside(self, server: FastMCP[Any]) -> None:
        """Let the names of all other providers of `server` take precedence over this provider's names."""
        self._neighbours = lambda: [each for each in server.providers if each is not self]

    async def has_skill_tools(self) -> bool:
        """Return whether this provider offers the tools that load skills."""
        await self._left_out(PROMPTS_LIST, (await self._prompts()).keys())
        return SKILL_TOOLS.isdisjoint(await self._left_out(TOOLS_LIST, (await self._tools()).keys()))

    async def _prompts(self) -> Mapping[str, Prompt]:
        """Return the prompts for the skills that the requesting client may see, by name.

        Cached for the last selection until its catalog changes, because most requests are for one prompt.
        """
        if PROMPTS_LIST not in self._methods:
            return {}
        selection = await self._selection()
        catalog = VisibleSkills.of(selection.library).catalog
        known = self._known_prompts
        if known is None or known[0] is not selection or known[1] is not catalog:
            prompts = await self._components(selection, PROMPTS_LIST, SkillPrompt.of, PROMPTS_GET)
            known = self._known_prompts = selection, catalog, prompts
        return known[2]

    async def _tools(self) -> Mapping[str, Tool]:
        if TOOLS_LIST not in self._methods:
            return {}
        return await self._components(await self._selection(), TOOLS_LIST, SkillTool.of, TOOLS_CALL)

    async def _offered(self, method: str, ours: Mapping[str, Named]) -> Sequence[Named]:
        left_out = await self._left_out(method, ours.keys())
        return [each for name, each in ours.items() if name not in left_out]

    async def _named(
        self, method: str, name: str, version: VersionSpec | None, ours: Mapping[str, Named]
    ) -> Named | None:
        """Return this provider's component with a name, or None if there is none or the name is taken."""
        found = ours.get(name)
        if found is None or (version is not None and not version.matches(found.version)):
            return None
        return None if name in await self._left_out(method, ours.keys()) else found

    async def _left_out(self, method: str, ours: AbstractSet[str]) -> AbstractSet[str]:
        """Return the names that this provider does not offer, because another provider has them.

        If another provider has one of `SKILL_TOOLS`, the result contains both.
        """
        theirs: set[str] = set()
        for provider in self._neighbours() if ours else ():
            if not await holds_skills(provider):
                listed = provider.list_tools() if method == TOOLS_LIST else provider.list_prompts()
                with suppress(Exception):  # a client that requests the list receives the error
                    theirs |= {each.name for each in await listed}
        return self.taken.note(method, ours & theirs)

    async def _selection(self) -> Selection:
        """Return the skills that the requesting client may see."""
        await self.library.ensure_loaded()
        return (await self.selections.visible(self._hidden))[0]

    async def _components(
        self,
        selection: Selection,
        method: str,
        make: Callable[[Mapping[str, Any], Method], Component],
        item_method: str,
    ) -> Mapping[str, Component]:
        """Return the components of one list of a selection, by name."""
        methods, listing = selection.methods, LISTS[method]
        if method not in methods:
            return {}
        items = [item async for item in _pages(methods[method], listing.items)]
        return {item[listing.key]: make(item, methods[item_method]) for item in items}

    async def _hidden(self) -> frozenset[str]:
        """Return the skills that the current server hides from the requesting client."""
        try:
            server = get_context().fastmcp
        except RuntimeError:  # the provider is called outside a request
            return frozenset()
        return await self._hidden_skills.find(server) if self in server.providers else frozenset()

    async def _all(
        self, method: str, make: Callable[[Mapping[str, Any], Method], Component], item_method: str
    ) -> Mapping[str, Component]:
        """Return a component for each item in one list, by URI. Cached until the catalog changes."""
        if method not in self._methods:
            return {}
        await self.library.ensure_loaded()
        catalog = self.library.catalog
        known = self._known.get(method)
        if known is None or known[0] is not catalog:
            read, listing = self._methods[item_method], LISTS[method]
            items = [item async for item in _pages(self._methods[method], listing.items)]
            known = catalog, {item[listing.key]: make(item, read) for item in items}
            self._known[method] = known
        return known[1]


async def _pages(method: Method, part: str) -> AsyncGenerator[Mapping[str, Any]]:
    cursor: str | None = None
    while True:
        params = {} if cursor is None else {"cursor": cursor}
        result = (await method(Call(params, supports_skills=supports_skills()))).result
        for item in cast("list[Mapping[str, Any]]", result[part]):
            yield item
        if (following := result.get("nextCursor")) is None:
            return
        cursor = str(following)


def attach_to_fastmcp(
    server: FastMCP[Any], library: Library, prompts: Mapping[str, Skill], options: ServeOptions
) -> None:
    """Add a provider of skills to a server.

    Raises `ConflictError` if the server already has skills, or an extension of its own for skills.
    """
    if any(isinstance(provider, SkillHolder) for provider in server.providers):
        raise ConflictError(f"the server already has skills; {ATTACH_ONCE_HINT}")
    # FastMCP would silently keep the other extension.
    extensions: Any = server._extensions  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    declared = extensions.get(EXTENSION)
    if declared is not None and not declared.auto_register:
        raise ConflictError(
            f"the server has another extension for `{EXTENSION}`; remove it, and attach its folders instead"
        )
    provider = SkillsProvider(library, prompts, options)
    provider.beside(server)
    server.add_provider(provider)
