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
from skillwire.server.attaching.fastmcp.view import Selections, SkillHolder, find_hidden_skills, holds_skills
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
        self._methods = all_methods(self.features)
        self._known: dict[str, tuple[Catalog, Sequence[Any]]] = {}

    def required_extensions(self) -> Sequence[ServerExtension]:
        return (SkillsExtension(),)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Follow the library for as long as the server runs."""
        await self.library.ensure_loaded()
        async with background(self.library.follow()):
            yield

    async def _list_resources(self) -> Sequence[Resource]:
        return await self._all(RESOURCES_LIST, SkillResource.of, RESOURCES_READ)

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
        listed = (each for each in await self._list_resources() if str(each.uri) == uri)
        if (found := next(listed, None)) is not None:
            return found
        is_file = uri not in catalog.children_by_folder and not any(
            each.match(uri) for each in catalog.templates
        )
        if is_file and any(feature.serves(uri) for feature in self.features):  # an archive or a legacy URI
            return SkillResource.of({"uri": uri, "name": uri}, read)
        return None

    async def _list_resource_templates(self) -> Sequence[ResourceTemplate]:
        return await self._all(RESOURCES_TEMPLATES, SkillTemplates.of, RESOURCES_READ)

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
        listed = await self._list_resource_templates()
        return next((each for each in listed if each.uri_template == pattern), None)

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
        await self._left_out(PROMPTS_LIST, {each.name for each in await self._prompts()})
        tools = {each.name for each in await self._tools()}
        return SKILL_TOOLS.isdisjoint(await self._left_out(TOOLS_LIST, tools))

    async def _prompts(self) -> Sequence[Prompt]:
        return await self._visible(PROMPTS_LIST, SkillPrompt.of, PROMPTS_GET)

    async def _tools(self) -> Sequence[Tool]:
        return await self._visible(TOOLS_LIST, SkillTool.of, TOOLS_CALL)

    async def _offered(self, method: str, ours: Sequence[Named]) -> Sequence[Named]:
        left_out = await self._left_out(method, {each.name for each in ours})
        return [each for each in ours if each.name not in left_out]

    async def _named(
        self, method: str, name: str, version: VersionSpec | None, ours: Sequence[Named]
    ) -> Named | None:
        """Return this provider's component with a name, or None if there is none or the name is taken."""
        found = next((each for each in ours if each.name == name), None)
        if found is None or (version is not None and not version.matches(found.version)):
            return None
        return None if name in await self._left_out(method, {each.name for each in ours}) else found

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

    async def _visible(
        self, method: str, make: Callable[[Mapping[str, Any], Method], Component], item_method: str
    ) -> Sequence[Component]:
        """Return the components of one list, for the skills that the requesting client may see."""
        if method not in self._methods:
            return ()
        await self.library.ensure_loaded()
        selection = await self.selections.without(await self._hidden())
        methods = selection.methods
        if method not in methods:
            return ()
        items = [item async for item in _pages(methods[method], LISTS[method].items)]
        return [make(item, methods[item_method]) for item in items]

    async def _hidden(self) -> frozenset[str]:
        """Return the skills that the current server hides from the requesting client."""
        try:
            server = get_context().fastmcp
        except RuntimeError:  # the provider is called outside a request
            return frozenset()
        return await find_hidden_skills(server, self.library) if self in server.providers else frozenset()

    async def _all(
        self, method: str, make: Callable[[Mapping[str, Any], Method], Component], item_method: str
    ) -> Sequence[Component]:
        """Return a component for each item in one list. Cached until the catalog changes."""
        if method not in self._methods:
            return ()
        await self.library.ensure_loaded()
        catalog = self.library.catalog
        known = self._known.get(method)
        if known is None or known[0] is not catalog:
            items = [item async for item in _pages(self._methods[method], LISTS[method].items)]
            known = catalog, [make(item, self._methods[item_method]) for item in items]
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
