"""`SkillServer`: serve skills written in code, and ask it without a transport."""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar, cast

import anyio
from mcp.server.lowlevel.server import Server

from skillwire.authoring.live import DEFAULT_TIMEOUT, LiveSkill, Resolver, Values, description_of
from skillwire.authoring.skill import Skill, returns_path
from skillwire.authoring.skills import NamedFolder, Skills, check_no_options
from skillwire.authoring.source import CodeSource
from skillwire.core.record import Json
from skillwire.errors import BadParamsError, ConflictError, InvalidValueError, NotServedError, UsageError
from skillwire.features.base import Call, Feature, all_methods
from skillwire.library.library import Library
from skillwire.protocol.messages import PROMPTS_GET, RESOURCES_LIST, RESOURCES_READ
from skillwire.protocol.translate import Contents, ListedResource, PromptMessage
from skillwire.safe_text import quoted
from skillwire.server.build import build_server
from skillwire.server.http.address import Address, HostPolicy, listen
from skillwire.server.http.app import MCP_PATH, http_app, serve_http
from skillwire.server.notifications import Announcer
from skillwire.server.serve_options import ServeOptions, all_features
from skillwire.server.stdio.serve import serve_stdio
from skillwire.sources.base import Source
from skillwire.sources.folder.source import FolderSource

Servable: TypeAlias = Skill | LiveSkill | Skills | Source | str | os.PathLike[str]
"""A skill, several of them, a source of skills, or the path of a folder."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that is to be served."""

    library: Library
    prompts: Mapping[str, Skill]


def gathered(parts: Iterable[Servable], *, label: str, base: Path) -> Gathered:
    """Return all that `parts` hold. A relative path is relative to `base`.

    Raises `ConflictError` if skills written in code get in each other's way, or sources share a label.
    """
    skills, sources = Skills(), list[Source]()
    for part in parts:
        match part:
            case Skill() | LiveSkill():
                skills = skills.add(part)
            case Skills():
                skills = skills.merge(part)
            case Source():
                sources.append(part)
            case str() | os.PathLike():
                sources.append(FolderSource(base / part, keep_good=True))
            case _:
                fix = "hand over a `Skill`, `Skills`, a source, or the path of a folder"
                raise InvalidValueError("the value", repr(part), "is nothing that can be served", fix)
    written = [CodeSource(skills, label=label)] if len(skills) else []
    return Gathered(Library([*written, *sources]), skills.prompts)


class InProcessClient:
    """Answers as a client would get them. Where no surface answers, there is nothing of the kind."""

    def __init__(self, library: Library, surfaces: Iterable[Feature]) -> None:
        self._library = library
        self._methods = all_methods(surfaces)

    async def resources(self) -> list[ListedResource]:
        """Return every page of `resources/list`."""
        listed: list[ListedResource] = []
        result = await self._ask(RESOURCES_LIST)
        while result is not None:
            listed += cast("list[ListedResource]", result["resources"])
            cursor = result.get("nextCursor")
            result = None if cursor is None else await self._ask(RESOURCES_LIST, cursor=cursor)
        return listed

    async def contents(self, uri: str) -> list[Contents]:
        """Return what `resources/read` does. Raises `NotServedError`."""
        if (result := await self._ask(RESOURCES_READ, uri=uri)) is None:
            raise NotServedError(uri)
        return cast("list[Contents]", result["contents"])

    async def messages(self, name: str) -> list[PromptMessage]:
        """Return those of `prompts/get`. Raises `BadParamsError`."""
        if (result := await self._ask(PROMPTS_GET, name=name)) is None:
            raise BadParamsError(f"there is no prompt {quoted(name)}")
        return cast("list[PromptMessage]", result["messages"])

    async def _ask(self, method: str, **params: object) -> dict[str, Json] | None:
        await self._library.ready()
        answer = self._methods.get(method)
        return None if answer is None else (await answer(Call(params))).result


Function = TypeVar("Function", bound=Resolver | Callable[[], Path])

FOR_HOSTS = ServeOptions(every_client=False)
"""What a server built in code offers unless it says otherwise: no tools, and no prompts but its own."""


class SkillServer:
    """An MCP server for skills in code: as resources, through the extension, and as prompts."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.1.0",
        instructions: str | None = None,
        options: ServeOptions = FOR_HOSTS,
    ) -> None:
        """`ServeOptions()` adds tools, prompts and a list of skills for clients without the extension."""
        self.name, self.version, self.instructions, self.options = name, version, instructions, options
        self._parts: list[Skills | NamedFolder] = []
        self._so_far = Skills()
        self._built: _Built | None = None

    def add(self, *skills: Skill | LiveSkill | Skills, prompt: str | None = None) -> Self:
        """Register skills, or whole collections; with `prompt`, one skill that is also a prompt of this name.

        Raises `InvalidValueError` for what cannot be, and `ConflictError` once the server is built.
        """
        single = [each for each in skills if not isinstance(each, Skills)]
        if prompt is not None:
            if len(single) < len(skills):
                fix = "name it in the collection: `Skills().add(skill, prompt=…)`"
                raise InvalidValueError(
                    "the prompt", prompt, "is for one skill, and not for a collection", fix
                )
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
        """Register the decorated function as a skill: it makes the text whenever somebody reads it.

        Without a `description`, the first paragraph of its docstring is one. A function that says it
        returns a `Path` names a folder instead, relative to its own file, which is read when the server is
        built; all that there is to say of it stands there. A text has 30 seconds, unless `timeout` says
        otherwise. Raises `InvalidValueError` for what cannot be.
        """
        if callable(path):
            fix = 'write it as in `@server.skill("reports/daily")`'
            raise InvalidValueError("the skill", getattr(path, "__name__", "?"), "has no path", fix)
        said = {"description": description, "frontmatter": frontmatter, "values": values, "timeout": timeout}

        def register(function: Function) -> Function:
            if returns_path(function):
                check_no_options(path, said)
                self._register(NamedFolder(path, function))  # pyright: ignore[reportArgumentType] - it says so
                return function
            live = LiveSkill(
                path,
                function,  # pyright: ignore[reportArgumentType] - it does not say that it returns a path
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
        """All that was registered, in order. Raises `InvalidValueError` for a folder that is no skill."""
        parts = (part.skills() if isinstance(part, NamedFolder) else part for part in self._parts)
        return functools.reduce(Skills.merge, parts, Skills())

    def build(self) -> Server[Any]:
        """Return the server of the official SDK. Raises `ConflictError`, naming every address taken twice."""
        return self._finished().server

    def run(self, http: str | None = None) -> None:
        """Serve until the client closes its side; with `http`, at `[HOST:]PORT` until a signal to stop."""
        built = self._finished()
        if http is None:
            anyio.run(serve_stdio, built.server)
            return
        address = Address.parse(http)
        if not address.is_loopback:
            raise UsageError(
                f"`{address.host}` can be reached from other machines, and there is no token",
                hint="listen on `127.0.0.1`, or put what `build` returns behind a server that asks for one",
            )
        anyio.run(built.over_http, address)

    async def list_resources(self) -> list[ListedResource]:
        """Return all that `resources/list` lists, without a transport."""
        return await self._finished().in_process.resources()

    async def read(self, uri: str) -> list[Contents]:
        """Return the contents of `resources/read`, without a transport. Raises `NotServedError`."""
        return await self._finished().in_process.contents(uri)

    async def get_prompt(self, name: str) -> list[PromptMessage]:
        """Return the messages of `prompts/get`, without a transport. Raises `BadParamsError`."""
        return await self._finished().in_process.messages(name)

    def _register(self, part: Skills | NamedFolder) -> None:
        if self._built is not None:
            raise ConflictError("the server is built: add skills before it is run or asked")
        if isinstance(part, Skills):
            self._so_far = self._so_far.merge(part)  # refused here, where the author can see it
        self._parts.append(part)

    def _finished(self) -> "_Built":
        if self._built is None:
            self._built = _Built(self)
        return self._built


class _Built:
    """What a finished collection of skills makes. One without skills declares nothing."""

    def __init__(self, server: SkillServer) -> None:
        skills = server.skills
        self.gathered = gathered([skills], label=server.name, base=Path())
        library = self.gathered.library
        surfaces = all_features(library, server.options, skills.prompts) if len(skills) else []
        self.in_process = InProcessClient(library, surfaces)
        self.server = build_server(
            surfaces,
            name=server.name,
            version=server.version,
            instructions=server.instructions,
            announcer=Announcer(library, surfaces),
        )

    async def over_http(self, address: Address) -> None:
        listening, bound = listen(address)

        def announce() -> None:
            sys.stderr.write(f"serving {self.server.name} at http://{bound.authority}{MCP_PATH}\n")

        await serve_http(http_app(self.server, HostPolicy(bound)), listening, announce)
