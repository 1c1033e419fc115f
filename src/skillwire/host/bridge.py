"""Several servers as one library that offers only approved skills to models and people."""

import asyncio
import shlex
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import anyio

from skillwire.core.json_text import json_equal
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.errors import SourceError, StateError
from skillwire.host.approvals.approval_store import ApprovalStore, decided
from skillwire.host.connections.target import Target
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.servers.link import ServerLink
from skillwire.host.servers.source import ServerSource
from skillwire.host.store.approvals import Approval, ApprovalStatus
from skillwire.host.store.state import State
from skillwire.library.library import Library
from skillwire.library.visibility import VisibilityPolicy
from skillwire.safe_text import quoted
from skillwire.sources.base import (
    EVERYWHERE,
    Locations,
    Progress,
    Scan,
    Source,
    WatchFilter,
    WrappedSource,
    ignore_progress,
    source_problem,
)

APPROVALS: Locations = frozenset({"approvals"})
"""The location to rescan after the user decided something. The server is not contacted."""
_LOOK_SECONDS = 1.0
"""Seconds between two checks for decisions that another process stored."""

ApproveCommand = Callable[[str], str]
"""Returns the command that approves a skill, by its name or URI."""
_NAMES = VisibilityPolicy(by_path=True)
"""Every skill has a name that begins with the label of its server, so none can imitate another (H10)."""
Command: TypeAlias = Callable[[Target, str], str]


@dataclass(frozen=True, slots=True)
class _GatedSkill:
    """A record of the wrapped source, its approval status, and the record that the gate returns for it."""

    scanned: SkillRecord
    approval_status: ApprovalStatus
    entry: SkillRecord


class ApprovalGate(WrappedSource):
    """Wraps a server's source, and sets the trust of each skill: approved, or withheld with a reason.

    Trust is part of the record, so a decision is a change like any other, and clients are notified.
    """

    def __init__(
        self, source: ServerSource, approval_store: ApprovalStore, format_command: ApproveCommand
    ) -> None:
        """`approval_store` must have bound the label of the source."""
        super().__init__(source)
        self._server, self._approval_store, self._format_command = source, approval_store, format_command
        self._last = Scan()
        self._gated_skills: dict[str, _GatedSkill] = {}
        self._decisions: frozenset[Approval] = frozenset()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return await self._gate(await self._source.scan(progress))

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if where != APPROVALS:
            return await self._gate(await self._source.rescan(where))
        scan = await self._gate(self._last)
        if (failure := self._server.failure) is None:
            return scan
        failed = source_problem(self.label, failure, known=bool(scan.entries))
        return replace(scan, problems=(*scan.problems, failed))

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        found: asyncio.Queue[Locations | Exception] = asyncio.Queue(1)
        # Plain tasks: a generator that is closed early cannot exit a task group.
        tasks = [
            asyncio.create_task(self._forward_changes(watch_filter, found)),
            asyncio.create_task(self._watch_decisions(found)),
        ]
        try:
            while True:
                where = await found.get()
                if isinstance(where, Exception):
                    raise where
                yield where
        finally:
            for task in tasks:
                task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _forward_changes(
        self, watch_filter: WatchFilter | None, found: "asyncio.Queue[Locations | Exception]"
    ) -> None:
        try:
            async with aclosing(self._source.changes(watch_filter)) as changes:
                async for where in changes:
                    await found.put(where)
        except Exception as error:  # noqa: BLE001 - `changes` raises it
            await found.put(error)

    async def _watch_decisions(self, found: "asyncio.Queue[Locations | Exception]") -> None:
        """Poll the state for decisions that the user made in another process."""
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            with suppress(StateError):
                if await self._approval_store.decisions(self.label) != self._decisions:
                    await found.put(APPROVALS)

    async def _gate(self, scan: Scan) -> Scan:
        self._last = scan
        try:
            self._decisions = await self._approval_store.decisions(self.label)
            statuses = await self._approval_statuses(scan.entries)
        except StateError:  # without the state, nothing counts as approved
            statuses = dict[str, ApprovalStatus]()
        names = Counter(entry.name for entry in scan.entries)
        known, self._gated_skills = self._gated_skills, {}
        for entry in scan.entries:
            gated = known.get(entry.uri)
            approval_status = statuses.get(entry.uri, ApprovalStatus.UNKNOWN)
            if gated is None or gated.scanned is not entry or gated.approval_status is not approval_status:
                gated = _GatedSkill(
                    entry,
                    approval_status,
                    self._decided(entry, approval_status, has_unique_name=names[entry.name] == 1),
                )
            self._gated_skills[entry.uri] = gated
        return replace(scan, entries=tuple(each.entry for each in self._gated_skills.values()))

    async def _approval_statuses(self, entries: Iterable[SkillRecord]) -> dict[str, ApprovalStatus]:
        """Return the approval status of each skill, as its server lists it now (H17)."""
        hosted = {
            entry.uri: HostedSkill(entry, claim)
            for entry in entries
            if (claim := self._server.claim(entry)) is not None
        }
        found = await self._approval_store.statuses(hosted.values())
        statuses: dict[str, ApprovalStatus] = {}
        for uri, skill in hosted.items():
            statuses[uri] = found.get(skill.identity, ApprovalStatus.UNKNOWN)
            if statuses[uri] is ApprovalStatus.APPROVED and not await self._has_approved_frontmatter(skill):
                statuses[uri] = ApprovalStatus.CHANGED
        return statuses

    async def _has_approved_frontmatter(self, skill: HostedSkill) -> bool:
        """Whether the listed frontmatter is the approved one. It is served before any digest is checked."""
        before = await self._approval_store.approved(skill)
        return before is not None and json_equal(dict(before.frontmatter), dict(skill.frontmatter))

    def _decided(
        self, entry: SkillRecord, approval_status: ApprovalStatus, *, has_unique_name: bool
    ) -> SkillRecord:
        command = self._format_command(entry.name if has_unique_name else entry.origin.location)
        hint = f"look at it, then approve it: {quoted(command, None)}"
        if entry.dynamic:
            hint = f"if you trust the whole server, start the bridge with `--trust {self.label}`"
        return decided(entry, approval_status, hint, live=entry.dynamic)


def approve_command(target: Target, skill: str) -> str:
    """Return the command that approves a skill of a server in the configuration."""
    return f"skillwire approve {shlex.quote(f'{target.label}:{skill}')}"


class _UnavailableState(Source):
    """A source without skills that reports why the state cannot be used."""

    label = "state"

    def __init__(self, failure: StateError) -> None:
        self._problem = Problem(
            ".",
            Rule.STATE_FAILED,
            Severity.WARNING,
            f"stored approvals and cached files are not used: {failure}",
            hint=f"{failure.hint}, and start the bridge again",
        )

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        progress(0)
        return Scan((), (self._problem,))

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        raise SourceError(f"{entry.origin.path} has no file {quoted(file.path)}")


async def bridge_library(
    links: Sequence[ServerLink],
    state: State | None = None,
    trusted: Collection[str] = (),
    command: Command = approve_command,
    failure: StateError | None = None,
) -> Library:
    """Return a library of the skills of these servers, not loaded yet.

    Skills of servers whose label is in `trusted` need no approval. Others are offered to models and people
    only if they are approved in the `state`; `command` returns the command to approve one. Without a state,
    none is approved. `failure` is why there is no state. A state that cannot be written is not used.
    """
    approval_store = ApprovalStore(state)
    try:
        for link in links:
            await approval_store.bind(link.label, link.target.identity)
    except StateError as error:  # its content cannot be relied on
        approval_store, state, failure = ApprovalStore(None), None, error
    sources: list[Source] = [] if failure is None else [_UnavailableState(failure)]
    for link in links:
        cache, trust = None if state is None else state.cache, link.label in trusted
        source = ServerSource(link, cache=cache, live=True, trusted=trust)
        sources.append(
            source if trust else ApprovalGate(source, approval_store, partial(command, link.target))
        )
    return Library(sources, visibility=_NAMES)
