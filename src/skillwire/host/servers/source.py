"""`ServerSource`: a server's skills, published below its label. Every listed digest is verified."""

import time
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import anyio
from anyio.to_thread import run_sync
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, SkillFile, SkillRecord, Trust
from skillwire.core.template import SkillTemplate
from skillwire.errors import (
    NotServedError,
    SkillwireError,
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
from skillwire.host.servers.packed import read_packed
from skillwire.host.servers.records import PublishedRecord, finding_problems, publish, published_template
from skillwire.protocol.claims import DeliveryClaim, Dialect, FileClaim, SkillClaim
from skillwire.protocol.findings import Findings
from skillwire.protocol.messages import EXTENSION, SKILLS_LIST
from skillwire.protocol.templates import TemplateClaim
from skillwire.protocol.verify import file_faults, frontmatter_faults
from skillwire.safe_text import escape_invisible, quote_if_needed, quoted
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, Source, WatchFilter, ignore_progress

POLL_SECONDS = 60.0
"""Default seconds without a notification until a server is polled. Slow servers are polled less often."""
_START_SECONDS = 15.0
"""With `live`, the maximum time at startup to wait for the first list, in seconds.

If the list takes longer, its skills are served later.
"""
_DRAFT_HINT = "the problem of each other skill says what its entry lacks"
_MIN_PAUSE, _MAX_PAUSE = 0.1, 30.0
"""Shortest and longest pause after a listing while changes are followed, in seconds."""


_MAX_INSTANCES = 1000
"""Maximum number of skills of templates to remember. A server may have a skill at every URI."""
_INSTANCE_SECONDS = 30.0
"""Seconds in which a server must describe a skill of a template."""
_SUGGESTION_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Instance:
    """A skill of a template, and the number of the list that was current when the skill was requested."""

    published: PublishedRecord
    generation: int


class FileCache(Protocol):
    """A cache for files from servers, by server label. Its methods are called in threads."""

    def get(self, label: str, file: FileClaim) -> bytes | None:
        """Return the cached bytes if they match the claim, else None (H24)."""
        ...

    def put(self, label: str, file: FileClaim, content: bytes) -> object: ...


class KnownArchives(Protocol):
    """The files of archives that were unpacked before."""

    async def restore(self, label: str, skills: Sequence[SkillClaim]) -> list[SkillClaim]:
        """Return a server's skills, with the files of those in known archives. Makes no request."""
        ...


class ServerSource(Source):
    """The skills from another MCP server. Files are fetched when they are read (H11)."""

    def __init__(
        self,
        server: Target | SkillsTransport,
        *,
        cache: FileCache | None = None,
        live: bool = False,
        every: float = POLL_SECONDS,
        trusted: bool = False,
        archives: KnownArchives | None = None,
    ) -> None:
        """Create a source.

        With `live`, startup waits only a short time for a slow server, whose skills are served later. `every`
        is the number of seconds between two polls. With `trusted`, the server's skills are offered to models
        and people without approval. Otherwise, the skills are withheld: only hosts that ask their own users
        receive them, and `skillwire bridge` offers the skills that the user approved. A skill in an archive
        appears once `archives` knows its files.
        """
        transport = ServerLink(server) if isinstance(server, Target) else server
        self.label = transport.label
        self._transport, self._cache = transport, cache
        self._live, self._every = live, every
        self._archives = archives
        self._trust = Trust.OWN if trusted else Trust.WITHHELD
        self._skills: dict[str, SkillClaim] = {}
        self._findings: list[Problem] = []
        self._list_problems: list[Problem] = []
        self._published: dict[str, PublishedRecord] = {}
        self._templates: list[TemplateClaim] = []
        self._instances: dict[str, _Instance] = {}
        """Skills of templates that were requested, by their URIs on the server, oldest first."""
        self._generation = 0
        """The number of successful listings. After each, skills of templates are requested again."""
        self._dialect: Dialect | None = None
        self.packed: Mapping[str, SkillClaim] = {}
        """Skills whose archives were not unpacked yet, by the `path` of the problem that reports each."""
        self._failure: SourceError | None = SourceUnavailableError("it has not answered yet")
        self._prepared = self._fresh = self._followed = False

    @property
    def place(self) -> str:
        return self._transport.place

    @property
    def transport(self) -> SkillsTransport:
        """The connection to the server. Its results are not verified."""
        return self._transport

    @property
    def failure(self) -> SourceError | None:
        """Why the last listing failed, or that there was none yet; None if it succeeded."""
        return self._failure

    def claim(self, entry: SkillRecord) -> SkillClaim | None:
        """Return the server's claim behind a record from this source, or None if the skill is gone.

        Approvals are bound to the claim.
        """
        published = self._find(entry.origin.location)
        return None if published is None else published.claim

    def describes(self, uri: str) -> bool:
        """Return whether a URI on the server matches a template, and no listed skill has it."""
        return uri not in self._published and any(each.match(uri) is not None for each in self._templates)

    async def instance(self, entry: SkillRecord, *, fresh: bool = False) -> SkillRecord | None:
        if entry.origin.location in self._published:
            return None
        published = await self._instance(entry.origin.location, fresh=fresh)
        return replace(published.entry, uri=entry.uri)

    async def instance_at(self, uri: str) -> SkillRecord:
        """Return the skill at this server URI, which a template must match.

        If the request fails, returns the last known version, if there is one. Raises `SkillwireError`.
        """
        try:
            return (await self._instance(uri)).entry
        except SourceError:
            if (known := self._instances.get(uri)) is None:
                raise
            return known.published.entry

    def archives(self) -> frozenset[DeliveryClaim]:
        """Return every archive in the server's last list."""
        return frozenset(archive for skill in self._skills.values() for archive in skill.archives)

    async def prepare(self) -> None:
        if not self._prepared:
            self._prepared = True
            with anyio.move_on_after(_START_SECONDS if self._live else None):
                await self.refresh()
            self._fresh = True

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        await self.prepare()
        if not self._fresh:
            await self.refresh()
        self._fresh = False
        if self._failure is not None:
            raise self._failure
        progress(len(self._skills))
        return await self.republish()

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if where == EVERYWHERE:
            return await self.scan()
        if isinstance(self._failure, SourceUnavailableError) and self._followed:
            raise self._failure  # `changes` yields when the server is back
        for uri in where:
            await self._refresh_skill(uri)
        return await self.republish()

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        if watch_filter is not None:  # the caller does not want newer skills
            return
        self._followed = True
        try:
            async with aclosing(self._transport.wait_for_changes(self._every)) as notifications:
                async for _ in notifications:
                    begin = time.monotonic()
                    await self.refresh()  # fetched here, so that no reader has to wait
                    yield EVERYWHERE
                    took = time.monotonic() - begin
                    await anyio.sleep(min(max(3 * took, _MIN_PAUSE), _MAX_PAUSE))
        finally:
            self._followed = False

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        published = self._find(entry.origin.location)
        if published is None and self.describes(entry.origin.location):
            published = await self._instance(entry.origin.location)
        if published is None:
            raise SourceError(f"{quote_if_needed(entry.origin.path)} does not exist any more")
        if isinstance(file, LiveFile):
            content = await self._fetch(entry.origin.location)
            if (main := published.claim.main) is not None:
                for fault in file_faults(main, content):
                    raise self._refused(fault)
        else:
            claim = published.files.get(file.path)
            if claim is None or claim.digest != file.digest:
                raise SourceError(
                    f"{quote_if_needed(entry.origin.path)}: {quoted(file.path)} has changed or was removed"
                )
            content = await self._verified(published.claim, claim)
        if file.path == SKILL_FILE:
            for fault in frontmatter_faults(published.claim, content):
                raise self._refused(fault)
        return content

    async def _verified(self, skill: SkillClaim, file: FileClaim) -> bytes:
        """Return the verified bytes of a file from the cache, or fetch and cache them (H13, H15)."""
        if (cached := await self._read_cache(file)) is not None:
            return cached
        if skill.archive is None:
            content = await self._fetch(file.uri, file.size)
        else:
            with self._translated(skill.archive.uri):
                content = await read_packed(self._transport, skill, file)
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
        with self._translated(uri):
            return await self._transport.read(uri, size)

    @contextmanager
    def _translated(self, uri: str) -> Generator[None]:
        """Convert the errors of a request to `SourceError` or `UntrustedContentError`.

        While changes are followed, an unreachable server gets no request: its last failure is raised.
        """
        if isinstance(self._failure, SourceUnavailableError) and self._followed:
            raise self._failure
        try:
            yield
        except UnavailableError as error:
            raise SourceUnavailableError(str(error)) from error
        except VerificationError as error:
            raise self._refused(error.problems[0]) from error
        except MCPError as error:
            raise SourceError(str(refusal(uri, error))) from error

    async def refresh(self) -> None:
        """List all skills. The next scan returns the result or raises the failure."""
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
            self._findings, self._dialect = [], listing.dialect
            self._templates = [*listing.templates.claims.values()]
            self._generation += 1
            self._list_problems = [
                *finding_problems(listing.findings),
                *finding_problems(listing.templates.findings),
            ]
            if self._transport.declared is None and not self._skills and not self._templates:
                self._list_problems.append(_undeclared())
        self._fresh = True

    async def _refresh_skill(self, uri: str) -> None:
        """Fetch one skill again, and replace or remove it (H15). Raises `SourceError` if that fails."""
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
            self._skills.pop(uri, None)  # the server no longer has it

    async def republish(self) -> Scan:
        """Return a scan of the last listing, with the files of known archives. Makes no request."""
        skills = list(self._skills.values())
        if self._archives is not None:
            skills = await self._archives.restore(self.label, skills)
        publication = publish(self.label, skills, self._published, self._trust)
        self._published, self.packed = dict(publication.skills), publication.packed
        found = Findings()
        found.add(*self._findings)
        return Scan(
            tuple(each.entry for each in self._published.values()),
            tuple(
                replace(each, message=f"{quoted(self.label)}: {each.message}") if each.path == "." else each
                for each in (
                    *self._list_problems,
                    *self._draft(),
                    *finding_problems(found),
                    *publication.problems,
                )
            ),
            tuple(map(self._published_template, self._templates)),
        )

    def _published_template(self, claim: TemplateClaim) -> SkillTemplate:
        template = published_template(self.label, claim, self._trust)
        if self._trust is Trust.WITHHELD:  # an untrusted server must not learn what people type
            return template
        suggest = {name: partial(self._suggest, claim, name) for name in claim.parameters}
        return replace(template, suggest=suggest)

    async def _suggest(self, claim: TemplateClaim, parameter: str, typed: str) -> Sequence[str]:
        """Return the values that the server suggests for a typed text; none after an error or timeout."""
        with suppress(SkillwireError, MCPError), anyio.move_on_after(_SUGGESTION_SECONDS):
            return await self._transport.complete(claim.uri_template, parameter, typed)
        return ()

    def _find(self, uri: str) -> PublishedRecord | None:
        """Return the listed skill, or the requested skill of a template, at a URI on the server, or None."""
        known = self._instances.get(uri)
        return self._published.get(uri) or (None if known is None else known.published)

    async def _instance(self, uri: str, *, fresh: bool = False) -> PublishedRecord:
        """Return the skill at a URI that matches a template.

        The skill is requested once after each listing of the server, and always with `fresh` (H3). Raises
        `SkillwireError`.
        """
        known = self._instances.get(uri)
        if known is not None and known.generation == self._generation and not fresh:
            return known.published
        if not self.describes(uri):
            raise NotServedError(uri, "skill")
        generation, claim = self._generation, await self._get(uri)
        before = {} if known is None else {uri: known.published}
        publication = publish(self.label, [claim], before, self._trust)
        if (published := publication.skills.get(uri)) is None:
            self._instances.pop(uri, None)
            raise UntrustedContentError(publication.problems[0].message)
        self._instances.pop(uri, None)
        self._instances[uri] = _Instance(published, generation)
        if len(self._instances) > _MAX_INSTANCES:
            del self._instances[next(iter(self._instances))]
        return published

    async def _get(self, uri: str) -> SkillClaim:
        if isinstance(self._failure, SourceUnavailableError) and self._followed:
            raise self._failure
        try:
            with anyio.fail_after(_INSTANCE_SECONDS):
                return await self._transport.get(uri)
        except TimeoutError as error:
            message = f"{quoted(self.label)} did not describe the skill in {_INSTANCE_SECONDS:g} seconds"
            raise SourceUnavailableError(message) from error
        except UnavailableError as error:
            raise SourceUnavailableError(str(error)) from error
        except VerificationError as error:
            self._instances.pop(uri, None)
            raise self._refused(error.problems[0]) from error
        except MCPError as error:
            self._instances.pop(uri, None)
            raise NotServedError(uri, "skill", refusal(uri, error).message) from error

    def _draft(self) -> Iterator[Problem]:
        """Yield a warning with the number of skills passed on, if the server uses an earlier draft."""
        if self._dialect in {None, Dialect.FINAL} or not self._skills:
            return
        passed_on, every = len(self._published), len(self._skills)
        rest = f"; {len(self.packed):,} more once unpacked from archives" if self.packed else ""
        message = f"the server uses {self._dialect}; skills passed on: {passed_on:,} of {every:,}{rest}"
        yield Problem(".", Rule.SERVER_LIST, Severity.WARNING, message, hint=_DRAFT_HINT)

    def _refused(self, fault: Problem) -> UntrustedContentError:
        return UntrustedContentError(
            f"{quoted(self.label)} sent something other than what it listed: "
            f"{escape_invisible(str(fault), 400)} ({fault.rule})"
        )


def _undeclared() -> Problem:
    message = f"the server does not declare the extension `{EXTENSION}`, so no skills are requested from it"
    return Problem(".", Rule.SERVER_LIST, Severity.WARNING, message, hint="remove the server, or upgrade it")
