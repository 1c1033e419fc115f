"""A server whose skills are written in code, next to whatever else its author does."""

from typing import Any, Self

import anyio
from mcp.server.lowlevel.server import Server

from skillwire.authoring.registry import Skills
from skillwire.authoring.skill import Skill
from skillwire.catalog.library import Library
from skillwire.model.entry import Json
from skillwire.model.errors import ConflictError, UsageError
from skillwire.server.address import Address, HostPolicy
from skillwire.server.announce import Announcer
from skillwire.server.build import build_server
from skillwire.server.http import http_app, listen, serve_http
from skillwire.server.stdio import serve_stdio
from skillwire.sources.code import CodeSource
from skillwire.surfaces.authored_prompts import AuthoredPromptsSurface
from skillwire.surfaces.base import Call, Surface, all_methods
from skillwire.surfaces.directory import DirectorySurface
from skillwire.surfaces.documents import ProblemsDocument
from skillwire.surfaces.drafts import DraftIndex
from skillwire.surfaces.extension import ExtensionSurface
from skillwire.surfaces.resources import ResourcesSurface
from skillwire.wire.messages import PROMPTS_GET, RESOURCES_LIST, RESOURCES_READ


class SkillServer:
    """Collects skills, and serves them as resources, by the extension, and as prompts where wanted."""

    def __init__(self, name: str, *, version: str = "0.1.0", instructions: str | None = None) -> None:
        self.name, self.version, self.instructions = name, version, instructions
        self._skills = Skills()
        self._built: _Built | None = None

    def add(self, *skills: Skill | Skills, prompt: str | None = None) -> Self:
        """Register skills, or whole collections; with `prompt`, one skill that is also a prompt of this name.

        Raises `AuthoringError` for what cannot be, and `ConflictError` once the server is built.
        """
        if self._built is not None:
            raise ConflictError("the server is built: add skills before it is run or asked")
        for each in skills:
            if isinstance(each, Skills):
                self._skills = self._skills.merge(each)
            else:
                self._skills = self._skills.add(each, prompt=prompt)
        return self

    def build(self) -> Server[Any]:
        """Return the server of the official SDK. Raises `ConflictError`, naming every address taken twice."""
        return self._finished().server

    def run(self, http: str | None = None) -> None:
        """Serve until the client closes its side; with `http`, at `[HOST:]PORT` until a signal to stop."""
        built = self._finished()
        if http is None:
            anyio.run(built.over_stdio)
            return
        address = Address.parse(http)
        if not address.is_loopback:
            raise UsageError(
                f"`{address.host}` can be reached from other machines, and there is no token",
                hint="listen on `127.0.0.1`, or put what `build` returns behind a server that asks for one",
            )
        anyio.run(built.over_http, address)

    async def list_resources(self) -> list[Json]:
        """Return the first page of `resources/list`, without a transport."""
        return await self._ask(RESOURCES_LIST, "resources", {})

    async def read(self, uri: str) -> list[Json]:
        """Return the contents of `resources/read`, without a transport. Raises `NotServedError`."""
        return await self._ask(RESOURCES_READ, "contents", {"uri": uri})

    async def get_prompt(self, name: str) -> list[Json]:
        """Return the messages of `prompts/get`, without a transport. Raises `BadParamsError`."""
        return await self._ask(PROMPTS_GET, "messages", {"name": name})

    async def _ask(self, method: str, part: str, params: dict[str, object]) -> Any:
        built = self._finished()
        await built.load()
        if (answer := all_methods(built.surfaces).get(method)) is None:
            return []
        return (await answer(Call(params))).result[part]

    def _finished(self) -> "_Built":
        if self._built is None:
            self._built = _Built(self)
        return self._built

    @property
    def skills(self) -> Skills:
        """All that was registered, in that order."""
        return self._skills


class _Built:
    """What a finished collection of skills makes."""

    def __init__(self, server: SkillServer) -> None:
        self.library = Library([CodeSource(server.skills, label=server.name)])
        self.surfaces = _surfaces(self.library, server.skills)
        self.server = build_server(
            self.surfaces,
            name=server.name,
            version=server.version,
            instructions=server.instructions,
            announcer=Announcer(self.library, self.surfaces),
        )
        self._loaded = False

    async def load(self) -> None:
        if not self._loaded:
            await self.library.load()
            self._loaded = True

    async def over_stdio(self) -> None:
        await self.load()
        await serve_stdio(self.server)

    async def over_http(self, address: Address) -> None:
        await self.load()
        listening, bound = listen(address)
        await serve_http(http_app(self.server, HostPolicy(bound)), listening, lambda: None)


def _surfaces(library: Library, skills: Skills) -> list[Surface]:
    """Return every way in; none at all for a server that has no skills yet."""
    if not len(skills):
        return []
    surfaces: list[Surface] = [
        ExtensionSurface(library),
        DirectorySurface(library),
        ResourcesSurface(library, [ProblemsDocument(), DraftIndex()]),
    ]
    return [*surfaces, AuthoredPromptsSurface(skills.prompts)] if skills.prompts else surfaces
