"""`SkillServer`: serve skills written in code, or read them in the same process without a transport."""

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from skillwire.app.areas import with_area_additions
from skillwire.app.collect import collect_skills
from skillwire.app.service import Service, program_endpoint, serve_service
from skillwire.authoring.live import DEFAULT_TIMEOUT, LiveSkill, Resolver, Values, description_of
from skillwire.authoring.skill import Skill, returns_path
from skillwire.authoring.skills import NamedFolder, Skills, check_no_options
from skillwire.core.record import Json
from skillwire.errors import BadParamsError, ConflictError, InvalidValueError, NotServedError
from skillwire.features.base import Call, Feature, all_methods
from skillwire.library.library import Library
from skillwire.protocol.messages import PROMPTS_GET, RESOURCES_LIST, RESOURCES_READ
from skillwire.protocol.translate import Contents, ListedResource, PromptMessage
from skillwire.safe_text import quoted
from skillwire.server.serve_options import ServeOptions, chosen_options

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

Function = TypeVar("Function", bound=Resolver | Callable[[], Path])


class InProcessClient:
    """Calls features directly and returns what a client would get.

    If no feature answers a method, lists are empty, and reads raise an error.
    """

    def __init__(self, library: Library, features: Iterable[Feature]) -> None:
        self._library = library
        self._methods = all_methods(features)

    async def resources(self) -> list[ListedResource]:
        """Return the resources on all pages of `resources/list`."""
        listed: list[ListedResource] = []
        result = await self._call(RESOURCES_LIST)
        while result is not None:
            listed += cast("list[ListedResource]", result["resources"])
            cursor = result.get("nextCursor")
            result = None if cursor is None else await self._call(RESOURCES_LIST, cursor=cursor)
        return listed

    async def contents(self, uri: str) -> list[Contents]:
        """Return the contents that `resources/read` returns.

        Raises `NotServedError` if nothing is served at `uri`.
        """
        if (result := await self._call(RESOURCES_READ, uri=uri)) is None:
            raise NotServedError(uri)
        return cast("list[Contents]", result["contents"])

    async def messages(self, name: str) -> list[PromptMessage]:
        """Return the messages that `prompts/get` returns.

        Raises `BadParamsError` if there is no such prompt.
        """
        if (result := await self._call(PROMPTS_GET, name=name)) is None:
            raise BadParamsError(f"there is no prompt {quoted(name)}")
        return cast("list[PromptMessage]", result["messages"])

    async def _call(self, method: str, **params: object) -> dict[str, Json] | None:
        await self._library.ensure_loaded()
        answer = self._methods.get(method)
        return None if answer is None else (await answer(Call(params))).result


class SkillServer:
    """An MCP server for skills written in code.

    Serves hosts with the Skills extension and all other clients.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.1.0",
        instructions: str | None = None,
        options: ServeOptions | None = None,
        every_client: bool | None = None,
    ) -> None:
        """Create a server without skills.

        Clients without the Skills extension get tools, prompts and a list of skills, as set in `options`.
        With `every_client=False`, they get only resources and the prompts that you add with `prompt`.
        """
        self.name, self.version, self.instructions = name, version, instructions
        self.options = chosen_options(options, every_client=every_client)
        self._parts: list[Skills | NamedFolder] = []
        self._so_far = Skills()
        self._service: Service | None = None

    def add(self, *skills: Skill | LiveSkill | Skills, prompt: str | None = None) -> Self:
        """Register skills or collections.

        With `prompt`, a single `Skill` is also served as a prompt with this name. Raises `InvalidValueError`
        for invalid arguments, and `ConflictError` once the server is built.
        """
        single = [each for each in skills if not isinstance(each, Skills)]
        if prompt is not None:
            if len(single) < len(skills):
                fix = "name it in the collection: `Skills().add(skill, prompt=…)`"
                raise InvalidValueError("the prompt", prompt, "is for one skill, not for a collection", fix)
            self._register(Skills().add(*single, prompt=prompt))
            return self
        added = Skills()
        for each in skills:
            added = added.merge(each) if isinstance(each, Skills) else added.add(each)
        self._register(added)
        return self

    def skill(
        self,
        path: str,
        *,
        description: str | None = None,
        frontmatter: Mapping[str, Json] | None = None,
        values: Mapping[str, Values] | None = None,
        timeout: float | None = None,
    ) -> Callable[[Function], Function]:
        """Register the decorated function as a live skill. Every read calls the function for the text.

        The default `description` is the first paragraph of the docstring. The function must return within
        `timeout` seconds, 30 by default. A function with the return type `Path` instead returns a skill
        folder, relative to the file that defines the function. The folder is read when the server is built,
        and no options apply to it. Raises `InvalidValueError` for invalid arguments, and `ConflictError` once
        the server is built.
        """
        if callable(path):
            fix = 'write it as in `@server.skill("reports/daily")`'
            raise InvalidValueError("the skill", getattr(path, "__name__", "?"), "has no path", fix)
        options = {
            "description": description,
            "frontmatter": frontmatter,
            "values": values,
            "timeout": timeout,
        }

        def register(function: Function) -> Function:
            if returns_path(function):
                check_no_options(path, options)
                self._register(NamedFolder(path, function))  # pyright: ignore[reportArgumentType] - just checked
                return function
            live = LiveSkill(
                path,
                function,  # pyright: ignore[reportArgumentType] - not one that returns a path
                description=description_of(function, path, description),
                frontmatter=frontmatter or {},
                values=values or {},
                timeout=DEFAULT_TIMEOUT if timeout is None else timeout,
            )
            self._register(Skills().add(live))
            return function

        return register

    @property
    def skills(self) -> Skills:
        """The registered skills, in order. Folders that functions return are read on each access.

        Raises `InvalidValueError` for a folder that is not a skill.
        """
        parts = (part.skills() if isinstance(part, NamedFolder) else part for part in self._parts)
        return functools.reduce(Skills.merge, parts, Skills())

    def build(self) -> "Server[Any]":
        """Return the server as a `Server` of the official SDK.

        Raises `InvalidValueError` for an invalid folder or a skill that is too large, and `ConflictError`,
        which lists every conflict.
        """
        return self._finished().server()

    def run(self, http: str | None = None, *, token: str | None = None, cache: bool = True) -> None:
        """Serve over stdio or, with `http`, over HTTP.

        Returns when the client over stdio disconnects, or when a signal to stop arrives. `http` is
        `[HOST:]PORT`. If you set a `token`, HTTP clients must send it. A token is required if other machines
        can reach the address. With `cache=False`, the MCP SDK answers every request. Raises `UsageError` for
        wrong arguments, and the errors of `build`.
        """
        service = self._finished().for_run(cache=cache, private=token is not None)
        serve_service(service, program_endpoint(http, token))

    async def list_resources(self) -> list[ListedResource]:
        """Return the resources on all pages of `resources/list`. Uses no transport."""
        return await self._in_process().resources()

    async def read(self, uri: str) -> list[Contents]:
        """Return the contents that `resources/read` returns. Uses no transport.

        Raises `NotServedError` if nothing is served at `uri`.
        """
        return await self._in_process().contents(uri)

    async def get_prompt(self, name: str) -> list[PromptMessage]:
        """Return the messages that `prompts/get` returns. Uses no transport.

        Raises `BadParamsError` if there is no such prompt.
        """
        return await self._in_process().messages(name)

    def _register(self, part: Skills | NamedFolder) -> None:
        if self._service is not None:
            raise ConflictError("the server is built already; add skills before you run or call it")
        if isinstance(part, Skills):
            self._so_far = self._so_far.merge(part)  # raises where the author added the conflicting skill
        self._parts.append(part)

    def _finished(self) -> Service:
        """Return the service, which the first call creates. A service without skills has no features."""
        if self._service is None:
            skills = self.skills
            collected = collect_skills([skills], label=self.name, base=Path())
            self._service = Service.of(
                collected.library,
                with_area_additions(self.options) if len(skills) else None,
                name=self.name,
                version=self.version,
                instructions=self.instructions,
                prompts=collected.prompts,
            )
        return self._service

    def _in_process(self) -> InProcessClient:
        service = self._finished()
        return InProcessClient(service.library, service.features)
