"""A server as a source: its skills under its label, each file compared with what was promised of it."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Protocol

import anyio
from anyio.to_thread import run_sync
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.errors import (
    SourceError,
    SourceUnavailableError,
    StateError,
    UnavailableError,
    UntrustedContentError,
    VerificationError,
)
from skillwire.host.connections.target import Target
from skillwire.host.dialects.client import refusal
from skillwire.host.servers.link import ServerLink
from skillwire.host.servers.records import Published, finding_problems, publish
from skillwire.protocol.findings import Findings
from skillwire.protocol.messages import EXTENSION, SKILLS_LIST
from skillwire.protocol.remote import RemoteFile, RemoteSkill
from skillwire.protocol.verify import file_faults, frontmatter_faults
from skillwire.safe_text import bare, quoted, visible
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, Source, WatchFilter, ignore_progress

POLL_SECONDS = 60.0
"""How often a server is asked that says nothing. One that takes long to answer is asked less often."""
_START_SECONDS = 15.0
"""How long the start of a service waits for the first answer. It goes on without, and serves it later."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0
"""Seconds between two looks at a server that goes on and on about changes."""


class FileCache(Protocol):
    """Keeps files of servers under the label of the server. It is asked in a thread: disks may be slow."""

    def get(self, label: str, file: RemoteFile) -> bytes | None:
        """Return a file that is as promised, if it is there (H24)."""
        ...

    def put(self, label: str, file: RemoteFile, content: bytes) -> object: ...


class ServerSource(Source):
    """The skills of another MCP server. Only the list is fetched until a file is read (H11)."""

    def __init__(
        self,
        server: Target | ServerLink,
        *,
        cache: FileCache | None = None,
        live: bool = False,
        every: float = POLL_SECONDS,
    ) -> None:
        """With `live`, a server that does not answer in time is served later.

        Its skills are served without approval. A `Host` or `skillwire bridge` asks a person first.
        """
        link = ServerLink(server) if isinstance(server, Target) else server
        self.label = link.label
        self._link, self._cache = link, cache
        self._live, self._every = live, every
        self._skills: dict[str, RemoteSkill] = {}
        self._findings: list[Problem] = []
        self._list_problems: list[Problem] = []
        self._published: dict[str, Published] = {}
        self._trouble: SourceError | None = SourceUnavailableError("it has not answered yet")
        self._prepared = self._fresh = self._followed = False

    @property
    def place(self) -> str:
        return self._link.target.place

    @property
    def link(self) -> ServerLink:
        return self._link

    @property
    def trouble(self) -> SourceError | None:
        """Why the server told nothing when it was last asked for everything."""
        return self._trouble

    def remote(self, entry: SkillRecord) -> RemoteSkill | None:
        """Return an entry of this source as the server lists it: what approvals are bound to."""
        published = self._published.get(entry.origin.location)
        return None if published is None else published.remote

    async def prepare(self) -> None:
        if not self._prepared:
            self._prepared = True
            with anyio.move_on_after(_START_SECONDS if self._live else None):
                await self._ask()
            self._fresh = True

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        await self.prepare()
        if not self._fresh:
            await self._ask()
        self._fresh = False
        if self._trouble is not None:
            raise self._trouble
        progress(len(self._skills))
        return self._scan()

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if where == EVERYWHERE:
            return await self.scan()
        if isinstance(self._trouble, SourceUnavailableError) and self._followed:
            raise self._trouble  # whoever follows it says when it is back
        for uri in where:
            await self._ask_again(uri)
        return self._scan()

    async def changes(self, only: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        if only is not None:  # whoever wants the skills to stay as they are does not ask for newer ones
            return
        self._followed = True
        try:
            async with aclosing(self._link.heard(self._every)) as news:
                async for _ in news:
                    begin = time.monotonic()
                    await self._ask()  # here, where nobody else has to wait for the answer
                    yield EVERYWHERE
                    took = time.monotonic() - begin
                    await anyio.sleep(min(max(3 * took, _SHORTEST_PAUSE), _LONGEST_PAUSE))
        finally:
            self._followed = False

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        published = self._published.get(entry.origin.location)
        if published is None:
            raise SourceError(f"{bare(entry.origin.path)} is gone")
        if isinstance(file, LiveFile):
            content = await self._fetch(entry.origin.location)
        else:
            remote = published.files.get(file.path)
            if remote is None or remote.digest != file.digest:
                raise SourceError(f"{bare(entry.origin.path)}: there is no such file {quoted(file.path)} now")
            content = await self._verified(remote)
        if file.path == SKILL_FILE:
            for fault in frontmatter_faults(published.remote, content):
                raise self._refused(fault)
        return content

    async def _verified(self, file: RemoteFile) -> bytes:
        """Return a file that is as listed, from the cache or from the server (H13, H15)."""
        if (kept := await self._kept(file)) is not None:
            return kept
        content = await self._fetch(file.uri, file.size)
        for fault in file_faults(file, content):
            raise self._refused(fault)
        if self._cache is not None:
            with suppress(StateError):  # then it is fetched again
                await run_sync(self._cache.put, self.label, file, content)
        return content

    async def _kept(self, file: RemoteFile) -> bytes | None:
        if self._cache is None:
            return None
        with suppress(StateError):  # then it is fetched
            return await run_sync(self._cache.get, self.label, file)
        return None

    async def _fetch(self, uri: str, size: int | None = None) -> bytes:
        if isinstance(self._trouble, SourceUnavailableError) and self._followed:
            raise self._trouble
        try:
            return await self._link.read(uri, size)
        except UnavailableError as error:
            raise SourceUnavailableError(str(error)) from error
        except VerificationError as error:
            raise self._refused(error.problems[0]) from error
        except MCPError as error:
            raise SourceError(str(refusal(uri, error))) from error

    async def _ask(self) -> None:
        """Ask for everything; what was answered, or why nothing was, shows with the next look."""
        try:
            listing = await self._link.list()
        except UnavailableError as error:
            self._trouble = SourceUnavailableError(str(error))
        except VerificationError as error:
            self._trouble = SourceError(str(error))
        except MCPError as error:
            self._trouble = SourceError(str(refusal(SKILLS_LIST, error)))
        else:
            self._trouble = None
            self._skills = {skill.uri: skill for skill in listing.skills}
            self._findings = []
            self._list_problems = [*finding_problems(listing.findings)]
            if self._link.declared is None and not self._skills:
                self._list_problems.append(_undeclared())
        self._fresh = True

    async def _ask_again(self, uri: str) -> None:
        """Ask for one skill: the answer, or its absence, takes the place of what was known (H15)."""
        self._findings = [each for each in self._findings if each.path != uri]
        try:
            self._skills[uri] = await self._link.get(uri)
            self._trouble = None
        except UnavailableError as error:
            raise SourceUnavailableError(str(error)) from error
        except VerificationError as error:
            self._skills.pop(uri, None)
            self._findings.append(error.problems[0])
        except MCPError as error:
            if error.code != INVALID_PARAMS:
                raise SourceError(str(refusal(uri, error))) from error
            self._skills.pop(uri, None)  # it serves no such skill

    def _scan(self) -> Scan:
        publication = publish(self.label, self._skills.values(), self._published)
        self._published = dict(publication.skills)
        found = Findings()
        found.add(*self._findings)
        return Scan(
            tuple(each.entry for each in self._published.values()),
            (*self._list_problems, *finding_problems(found), *publication.problems),
        )

    def _refused(self, fault: Problem) -> UntrustedContentError:
        return UntrustedContentError(
            f"{quoted(self.label)} does not keep what it listed: {visible(str(fault), 400)} ({fault.rule})"
        )


def _undeclared() -> Problem:
    told = f"the server does not declare the extension `{EXTENSION}`, so it is asked for no skills"
    return Problem(".", Rule.SERVER_LIST, Severity.WARNING, told, hint="leave it out, or upgrade it")
