"""A server whose skills are written in code, next to whatever else its author does."""

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import anyio
from mcp.server.lowlevel.server import Server

from skillwire.authoring.folder import returns_path
from skillwire.authoring.live import DEFAULT_TIMEOUT, LiveSkill, Resolver, Values, description_of
from skillwire.authoring.named_folder import NamedFolder, check_nothing_said
from skillwire.authoring.registry import Skills
from skillwire.authoring.rules import AuthoringError
from skillwire.authoring.skill import Skill
from skillwire.model.entry import Json
from skillwire.model.errors import ConflictError, UsageError
from skillwire.server.address import Address, HostPolicy
from skillwire.server.announce import Announcer
from skillwire.server.build import build_server
from skillwire.server.gathering import gathered
from skillwire.server.http import MCP_PATH, http_app, serve_http
from skillwire.server.in_process import InProcess
from skillwire.server.port import listen
from skillwire.server.serve_options import ServeOptions, all_surfaces
from skillwire.server.stdio import serve_stdio
from skillwire.wire.shapes import Contents, ListedResource, PromptMessage

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

        Raises `AuthoringError` for what cannot be, and `ConflictError` once the server is built.
        """
        single = [each for each in skills if not isinstance(each, Skills)]
        if prompt is not None:
            if len(single) < len(skills):
                fix = "name it in the collection: `Skills().add(skill, prompt=…)`"
                raise AuthoringError("the prompt", prompt, "is for one skill, and not for a collection", fix)
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
        otherwise. Raises `AuthoringError` for what cannot be.
        """
        if callable(path):
            fix = 'write it as in `@server.skill("reports/daily")`'
            raise AuthoringError("the skill", getattr(path, "__name__", "?"), "has no path", fix)
        said = {"description": description, "frontmatter": frontmatter, "values": values, "timeout": timeout}

        def register(function: Function) -> Function:
            if returns_path(function):
                check_nothing_said(path, said)
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
        """All that was registered, in that order. Raises `AuthoringError` for a folder that is no skill."""
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
        surfaces = all_surfaces(library, server.options, skills.prompts) if len(skills) else []
        self.in_process = InProcess(library, surfaces)
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
