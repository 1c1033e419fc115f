"""Combine several servers into one library that offers models and people only approved or trusted skills."""

import shlex
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import anyio

from skillwire.core.concurrency import process_in_order
from skillwire.core.json_text import json_equal
from skillwire.core.patterns import Selection
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.errors import SkillwireError, SourceError, StateError
from skillwire.host.approvals.approval_store import ApprovalStore, decided, why_unbound
from skillwire.host.archive_fetcher import ArchiveFetcher, ChangeQueue, with_own_changes
from skillwire.host.archives import Archives
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
"""The location to rescan after the user approved or revoked a skill.

This rescan does not request the server's list.
"""
_LOOK_SECONDS = 1.0
"""Seconds between two checks for approvals and revocations that another process stored."""

_MAX_INSTANCES = 100
"""Maximum number of approved skills of templates to serve for one server.

Each of them needs a request after each listing.
"""
_INSTANCES_SECONDS = 15.0
_EVER_APPROVED = frozenset({ApprovalStatus.APPROVED, ApprovalStatus.CHANGED})

ApproveCommand = Callable[[str], str]
"""A function that takes the name or URI of a skill, and returns the command that approves it."""
_NAMES = VisibilityPolicy(by_path=True)
"""Each skill's name begins with its server's label, so that no skill can imitate another (H10)."""
Command: TypeAlias = Callable[[Target, str], str]


@dataclass(frozen=True, slots=True)
class _GatedSkill:
    """A record from the wrapped source, its approval status, and the record that the gate returns for it."""

    scanned: SkillRecord
    approval_status: ApprovalStatus
    entry: SkillRecord


class ApprovalGate(WrappedSource):
    """Wraps a server's source, and sets the trust of each skill: approved, or withheld with a reason.

    Because trust is part of the record, clients are notified when the user approves or revokes a skill.

    An approved skill of a template is listed like any other skill. The template itself is not offered to
    models and people, so tools, prompts and completion send no parameter values to the server.
    """

    def __init__(
        self, source: ServerSource, approval_store: ApprovalStore, format_command: ApproveCommand
    ) -> None:
        """Wrap `source`, whose label must be bound in `approval_store`."""
        super().__init__(source)
        self._server, self._approval_store, self._format_command = source, approval_store, format_command
        self._gated_skills: dict[str, _GatedSkill] = {}
        self._decisions: frozenset[Approval] = frozenset()
        self._is_stale = False
        """Whether the user approved a version that is not in the last list of the server."""
        self._names = Counter[str]()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return await self._gate(await self._source.scan(progress))

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if where != APPROVALS:
            return await self._gate(await self._source.rescan(where))
        before = self._decisions
        scan = await self._gate(await self._server.republish())  # an approval lists an archive's files
        self._is_stale = self._approved_other_versions(self._decisions - before)
        if (failure := self._server.failure) is None:
            return scan
        failed = source_problem(self.label, failure, known=bool(scan.entries))
        return replace(scan, problems=(*scan.problems, failed))

    async def instance(self, entry: SkillRecord, *, fresh: bool = False) -> SkillRecord | None:
        if (found := await self._source.instance(entry, fresh=fresh)) is None:
            return None
        statuses = dict[str, ApprovalStatus]()
        with suppress(StateError):  # without the state, no skill counts as approved
            statuses = await self._approval_statuses([found])
        approval_status = statuses.get(found.uri, ApprovalStatus.UNKNOWN)
        return self._decided(found, approval_status, has_unique_name=False)

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        async with aclosing(with_own_changes(self._source, watch_filter, self._watch_decisions)) as changes:
            async for where in changes:
                yield where

    async def _watch_decisions(self, found: ChangeQueue) -> None:
        """Poll the state, and report a change if its decisions differ from those of the last scan.

        If the user approved a version that the server lists now, but did not list before, the server is asked
        again at once, because the bridge would withhold the skill until the next poll.
        """
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            if self._is_stale:
                self._is_stale = False
                await self._server.refresh()
                await found.put(EVERYWHERE)
            with suppress(StateError):
                if await self._approval_store.decisions(self.label) != self._decisions:
                    await found.put(APPROVALS)

    def _approved_other_versions(self, decisions: Iterable[Approval]) -> bool:
        """Return whether one of these decisions approves a skill that is not approved as it is listed."""
        offered = {
            each.scanned.origin.location
            for each in self._gated_skills.values()
            if each.approval_status is ApprovalStatus.APPROVED
        }
        return any(
            each.approval_status is ApprovalStatus.APPROVED and each.uri not in offered for each in decisions
        )

    async def _gate(self, scan: Scan) -> Scan:
        try:
            self._decisions = await self._approval_store.decisions(self.label)
            entries = (*scan.entries, *await self._approved_instances(scan))
            statuses = await self._approval_statuses(entries)
        except StateError:  # without the state, no skill counts as approved
            entries, statuses = scan.entries, dict[str, ApprovalStatus]()
        self._names = names = Counter(entry.name for entry in entries)
        known, self._gated_skills = self._gated_skills, {}
        for entry in entries:
            gated = known.get(entry.uri)
            approval_status = statuses.get(entry.uri, ApprovalStatus.UNKNOWN)
            if gated is None or gated.scanned is not entry or gated.approval_status is not approval_status:
                gated = _GatedSkill(
                    entry,
                    approval_status,
                    self._decided(entry, approval_status, has_unique_name=names[entry.name] == 1),
                )
            self._gated_skills[entry.uri] = gated
        entries = tuple(each.entry for each in self._gated_skills.values())
        return replace(scan, entries=entries, problems=tuple(map(self._with_command, scan.problems)))

    def _with_command(self, problem: Problem) -> Problem:
        """Return the problem. For a packed skill, the hint names the command that approves the skill."""
        packed = self._server.packed
        if problem.rule is not Rule.NOT_PASSED_ON or (skill := packed.get(problem.path)) is None:
            return problem
        is_unique = [each.name for each in packed.values()].count(skill.name) == 1
        command = self._format_command(
            skill.name if is_unique and skill.name not in self._names else skill.uri
        )
        return replace(problem, hint=f"look at it, then approve it: {quoted(command, None)}")

    async def _approved_instances(self, scan: Scan) -> list[SkillRecord]:
        """Return the unlisted skills of templates that the user approved, even if they have changed since.

        Skills that the server does not describe in time are omitted, and so are skills beyond the limit.
        """
        if not scan.templates:
            return []
        listed = {entry.origin.location for entry in scan.entries}
        decided_on = (each.uri for each in self._decisions if each.approval_status in _EVER_APPROVED)
        uris = sorted(uri for uri in decided_on if uri not in listed and self._server.describes(uri))
        found: list[SkillRecord] = []

        async def ask(uri: str) -> SkillRecord | None:
            with suppress(SkillwireError):
                return await self._server.instance_at(uri)
            return None

        taken = {entry.uri for entry in scan.entries}

        def take(entry: SkillRecord | None) -> None:
            if entry is not None and entry.uri not in taken:  # a listed skill takes precedence (H10)
                taken.add(entry.uri)
                found.append(entry)

        with anyio.move_on_after(_INSTANCES_SECONDS):  # the others follow after a later scan
            await process_in_order(uris[:_MAX_INSTANCES], ask, take)
        return found

    async def _approval_statuses(self, entries: Iterable[SkillRecord]) -> dict[str, ApprovalStatus]:
        """Return the approval status of the current version of each skill, by the URI of its record (H17).

        A skill whose frontmatter differs from the approved frontmatter counts as changed.
        """
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
        """Return whether the listed frontmatter equals the approved frontmatter.

        Clients receive the frontmatter before any digest is checked.
        """
        before = await self._approval_store.approved(skill)
        return before is not None and json_equal(dict(before.frontmatter), dict(skill.frontmatter))

    def _decided(
        self, entry: SkillRecord, approval_status: ApprovalStatus, *, has_unique_name: bool
    ) -> SkillRecord:
        command = self._format_command(entry.name if has_unique_name else entry.origin.location)
        hint = f"look at it, then approve it: {quoted(command, None)}"
        if entry.dynamic:
            hint = f"if you trust the whole server, start the bridge with `--trust {self.label}`"
        claim = self._server.claim(entry)
        return decided(entry, approval_status, hint, unbound="" if claim is None else why_unbound(claim))


def approve_command(target: Target, skill: str) -> str:
    """Return the command that approves a skill of a configured server. `skill` is a name or URI."""
    return f"skillwire approve {shlex.quote(f'{target.label}:{skill}')}"


class _UnavailableState(Source):
    """A source that has no skills and reports one problem: why the state cannot be used."""

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
    *,
    selection: Selection | None = None,
) -> Library:
    """Return a library with the skills from these servers that `selection` accepts. It is not loaded yet.

    Skills from servers whose label is in `trusted` need no approval. All other skills are offered to models
    and people only if they are approved in the `state`. `command` takes a target and a skill's name or URI,
    and returns the command that approves the skill. If `state` is None, no skill counts as approved, and the
    library reports `failure` as the reason. A state to which the labels cannot be bound is not used.
    """
    approval_store = ApprovalStore(state)
    try:
        for link in links:
            await approval_store.bind(link.label, link.target.identity)
    except StateError as error:  # stored approvals may belong to other servers
        approval_store, state, failure = ApprovalStore(None), None, error
    sources: list[Source] = [] if failure is None else [_UnavailableState(failure)]
    for link in links:
        cache, trust = None if state is None else state.cache, link.label in trusted
        archives = Archives(approval_store)
        source = ServerSource(link, cache=cache, live=True, trusted=trust, archives=archives)
        sources.append(
            ArchiveFetcher(source, archives)
            if trust
            else ApprovalGate(source, approval_store, partial(command, link.target))
        )
    return Library(sources, visibility=_NAMES, selection=selection)
