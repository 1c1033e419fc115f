"""A server as a source: its skills below its label, with every file verified against the list."""

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
from skillwire.core.record import LiveFile, SkillFile, SkillRecord, Trust
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
from skillwire.host.servers.connected import SkillsTransport
from skillwire.host.servers.link import ServerLink
from skillwire.host.servers.records import PublishedRecord, finding_problems, publish
from skillwire.protocol.findings import Findings
from skillwire.protocol.messages import EXTENSION, SKILLS_LIST
from skillwire.protocol.remote import FileClaim, SkillClaim
from skillwire.protocol.verify import file_faults, frontmatter_faults
from skillwire.safe_text import escape_invisible, quote_if_needed, quoted
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, Source, WatchFilter, ignore_progress

POLL_SECONDS = 60.0
"""Seconds between two polls of a server that sends no notifications. Slow servers are polled less often."""
_START_SECONDS = 15.0
"""Seconds that a starting service waits for the first list. After that, the skills are served later."""
_MIN_PAUSE, _MAX_PAUSE = 0.1, 30.0
"""Seconds between two scans of a server that sends notifications without end."""


class FileCache(Protocol):
    """A cache for files of servers, by the label of the server. It is called in threads."""

    def get(self, label: str, file: FileClaim) -> bytes | None:
        """Return the cached bytes if they match the claim; None otherwise (H24)."""
        ...

    def put(self, label: str, file: FileClaim, content: bytes) -> object: ...


class ServerSource(Source):
    """The skills of another MCP server. Files are fetched when they are read (H11)."""

    def __init__(
        self,
        server: Target | SkillsTransport,
        *,
        cache: FileCache | None = None,
        live: bool = False,
        every: float = POLL_SECONDS,
        trusted: bool = False,
    ) -> None:
        """With `live`, a start does not wait for a slow server; its skills are served later.

        `every` is the number of seconds between two polls. With `trusted`, its skills are offered to models
        and people without approval. Otherwise they are withheld: hosts that ask their user get them, and
        `skillwire bridge` offers what the user approved.
        """
        transport = ServerLink(server) if isinstance(server, Target) else server
        self.label = transport.label
        self._transport, self._cache = transport, cache
        self._live, self._every = live, every
        self._trust = Trust.OWN if trusted else Trust.WITHHELD
        self._skills: dict[str, SkillClaim] = {}
        self._findings: list[Problem] = []
        self._list_problems: list[Problem] = []
        self._published: dict[str, PublishedRecord] = {}
        self._failure: SourceError | None = SourceUnavailableError("it has not answered yet")
        self._prepared = self._fresh = self._followed = False

    @property
    def place(self) -> str:
        return self._transport.place

    @property
    def transport(self) -> SkillsTransport:
        """The connection to the server. What it returns is not verified."""
        return self._transport

    @property
    def failure(self) -> SourceError | None:
        """Why the last listing failed; None if it did not."""
        return self._failure

    def claim(self, entry: SkillRecord) -> SkillClaim | None:
        """Return what the server claims about a record of this source. Approvals are bound to that."""
        published = self._published.get(entry.origin.location)
        return None if published is None else published.claim

    async def prepare(self) -> None:
        if not self._prepared:
            self._prepared = True
            with anyio.move_on_after(_START_SECONDS if self._live else None):
                await self._refresh()
            self._fresh = True

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        await self.prepare()
        if not self._fresh:
            await self._refresh()
        self._fresh = False
        if self._failure is not None:
            raise self._failure
        progress(len(self._skills))
        return self._scan()

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if where == EVERYWHERE:
            return await self.scan()
        if isinstance(self._failure, SourceUnavailableError) and self._followed:
            raise self._failure  # `changes` yields when the server is back
        for uri in where:
            await self._refresh_skill(uri)
        return self._scan()

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        if watch_filter is not None:  # the caller does not want newer skills
            return
        self._followed = True
        try:
            async with aclosing(self._transport.wait_for_changes(self._every)) as notifications:
                async for _ in notifications:
                    begin = time.monotonic()
                    await self._refresh()  # here, where no reader has to wait for the answer
                    yield EVERYWHERE
                    took = time.monotonic() - begin
                    await anyio.sleep(min(max(3 * took, _MIN_PAUSE), _MAX_PAUSE))
        finally:
            self._followed = False

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        published = self._published.get(entry.origin.location)
        if published is None:
            raise SourceError(f"{quote_if_needed(entry.origin.path)} does not exist any more")
        if isinstance(file, LiveFile):
            content = await self._fetch(entry.origin.location)
        else:
            claim = published.files.get(file.path)
            if claim is None or claim.digest != file.digest:
                raise SourceError(
                    f"{quote_if_needed(entry.origin.path)}: {quoted(file.path)} has changed or was removed"
                )
            content = await self._verified(claim)
        if file.path == SKILL_FILE:
            for fault in frontmatter_faults(published.claim, content):
                raise self._refused(fault)
        return content

    async def _verified(self, file: FileClaim) -> bytes:
        """Return the bytes of a file, verified, from the cache or from the server (H13, H15)."""
        if (cached := await self._read_cache(file)) is not None:
            return cached
        content = await self._fetch(file.uri, file.size)
        for fault in file_faults(file, content):
            raise self._refused(fault)
        if self._cache is not None:
            with suppress(StateError):  # it is fetched again next time
                await run_sync(self._cache.put, self.label, file, content)
        return content

    async def _read_cache(self, file: FileClaim) -> bytes | None:
        if self._cache is None:
            return None
        with suppress(StateError):  # the caller fetches it
            return await run_sync(self._cache.get, self.label, file)
        return None

    async def _fetch(self, uri: str, size: int | None = None) -> bytes:
        if isinstance(self._failure, SourceUnavailableError) and self._followed:
            raise self._failure
        try:
            return await self._transport.read(uri, size)
        except UnavailableError as error:
            raise SourceUnavailableError(str(error)) from error
        except VerificationError as error:
            raise self._refused(error.problems[0]) from error
        except MCPError as error:
            raise SourceError(str(refusal(uri, error))) from error

    async def _refresh(self) -> None:
        """List all skills. The result, or the failure, shows in the next scan."""
        try:
            listing = await self._transport.list()
        except UnavailableError as error:
            self._failure = SourceUnavailableError(str(error))
        except VerificationError as error:
            self._failure = SourceError(str(error))
        except MCPError as error:
            self._failure = SourceError(str(refusal(SKILLS_LIST, error)))
        else:
            self._failure = None
            self._skills = {skill.uri: skill for skill in listing.skills}
            self._findings = []
            self._list_problems = [*finding_problems(listing.findings)]
            if self._transport.declared is None and not self._skills:
                self._list_problems.append(_undeclared())
        self._fresh = True

    async def _refresh_skill(self, uri: str) -> None:
        """Fetch one skill again, and replace or remove it (H15)."""
        self._findings = [each for each in self._findings if each.path != uri]
        try:
            self._skills[uri] = await self._transport.get(uri)
            self._failure = None
        except UnavailableError as error:
            raise SourceUnavailableError(str(error)) from error
        except VerificationError as error:
            self._skills.pop(uri, None)
            self._findings.append(error.problems[0])
        except MCPError as error:
            if error.code != INVALID_PARAMS:
                raise SourceError(str(refusal(uri, error))) from error
            self._skills.pop(uri, None)  # the server does not have it any more

    def _scan(self) -> Scan:
        publication = publish(self.label, self._skills.values(), self._published, self._trust)
        self._published = dict(publication.skills)
        found = Findings()
        found.add(*self._findings)
        return Scan(
            tuple(each.entry for each in self._published.values()),
            (*self._list_problems, *finding_problems(found), *publication.problems),
        )

    def _refused(self, fault: Problem) -> UntrustedContentError:
        return UntrustedContentError(
            f"{quoted(self.label)} sent something other than what it listed: "
            f"{escape_invisible(str(fault), 400)} ({fault.rule})"
        )


def _undeclared() -> Problem:
    message = f"the server does not declare the extension `{EXTENSION}`, so no skills are requested from it"
    return Problem(".", Rule.SERVER_LIST, Severity.WARNING, message, hint="remove the server, or upgrade it")
