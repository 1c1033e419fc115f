"""A server's skills behind a gate: models and people hear of those alone that a person approved."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

import anyio

from skillwire.host.bridge.source import ServerSource
from skillwire.host.hosted import HostedSkill
from skillwire.host.judging.keeping import Keeping
from skillwire.host.state.approvals import Approval, Standing
from skillwire.model.display import quoted
from skillwire.model.entry import LiveFile, SkillFile, SkillRecord
from skillwire.model.errors import StateError
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.sources.base import EVERYWHERE, Attention, Locations, Progress, Scan, Source, unwatched
from skillwire.sources.failing import failure
from skillwire.wire.verify import same

APPROVALS: Locations = frozenset({"approvals"})
"""Where to look again when a person has decided something: nobody else is asked."""
_LOOK_SECONDS = 1.0
"""How soon a decision counts that was made elsewhere."""
_WHY = {
    Standing.UNKNOWN: "nobody approved it",
    Standing.CHANGED: "it is another than the one that was approved",
    Standing.REVOKED: "its approval was taken back",
}

Approving = Callable[[str], str]
"""The command that approves a skill, by `NAME` or `URI`."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """A skill as its server has it, how it stands, and what becomes of it."""

    given: SkillRecord
    standing: Standing
    entry: SkillRecord


class GatedSource(Source):
    """Passes everything on, and marks each skill that is not approved with a problem that says so.

    The mark is part of the entry, so that a decision is a change like any other: clients are told of it.
    """

    def __init__(self, source: ServerSource, keeping: Keeping, approving: Approving) -> None:
        """The label of the source is one that `keeping` has bound."""
        self.label = source.label
        self._source, self._keeping, self._approving = source, keeping, approving
        self._last = Scan()
        self._judged: dict[str, _Judged] = {}
        self._decisions: frozenset[Approval] = frozenset()

    @property
    def place(self) -> str:
        return self._source.place

    async def prepare(self) -> None:
        await self._source.prepare()

    async def scan(self, progress: Progress = unwatched) -> Scan:
        return await self._gated(await self._source.scan(progress))

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if where != APPROVALS:
            return await self._gated(await self._source.rescan(where))
        scan = await self._gated(self._last)
        if (trouble := self._source.trouble) is None:
            return scan
        failed = failure(self.label, trouble, known=bool(scan.entries))
        return replace(scan, problems=(*scan.problems, failed))

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self._source.read(entry, file)

    async def changes(self, only: Attention | None = None) -> AsyncGenerator[Locations]:
        found: asyncio.Queue[Locations | Exception] = asyncio.Queue(1)
        # Tasks of their own: a generator that is left cannot leave a task group.
        tasks = [asyncio.create_task(self._pass_on(only, found)), asyncio.create_task(self._watch(found))]
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

    async def _pass_on(self, only: Attention | None, found: "asyncio.Queue[Locations | Exception]") -> None:
        try:
            async with aclosing(self._source.changes(only)) as changes:
                async for where in changes:
                    await found.put(where)
        except Exception as error:  # noqa: BLE001 - whoever follows this source is told
            await found.put(error)

    async def _watch(self, found: "asyncio.Queue[Locations | Exception]") -> None:
        """Look now and then what was decided: by a person, with another program."""
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            with suppress(StateError):
                if await self._keeping.decisions(self.label) != self._decisions:
                    await found.put(APPROVALS)

    async def _gated(self, scan: Scan) -> Scan:
        self._last = scan
        try:
            self._decisions = await self._keeping.decisions(self.label)
            standings = await self._standings(scan.entries)
        except StateError:  # what cannot be looked up was not approved
            standings = dict[str, Standing]()
        names = Counter(entry.name for entry in scan.entries)
        known, self._judged = self._judged, {}
        for entry in scan.entries:
            judged = known.get(entry.uri)
            standing = standings.get(entry.uri, Standing.UNKNOWN)
            if judged is None or judged.given is not entry or judged.standing is not standing:
                judged = _Judged(entry, standing, self._marked(entry, standing, alone=names[entry.name] == 1))
            self._judged[entry.uri] = judged
        return replace(scan, entries=tuple(each.entry for each in self._judged.values()))

    async def _standings(self, entries: Iterable[SkillRecord]) -> dict[str, Standing]:
        """Return how each skill stands, as its server lists it now (H17)."""
        remotes = {entry.uri: self._source.remote(entry) for entry in entries}
        hosted = {
            uri: HostedSkill(self.label, local=False, skill=remote)
            for uri, remote in remotes.items()
            if remote is not None
        }
        found = await self._keeping.judged(hosted.values())
        standings: dict[str, Standing] = {}
        for uri, skill in hosted.items():
            standings[uri] = found.get(skill.identity, Standing.UNKNOWN)
            if standings[uri] is Standing.APPROVED and not await self._reads_as_approved(skill):
                standings[uri] = Standing.CHANGED
        return standings

    async def _reads_as_approved(self, skill: HostedSkill) -> bool:
        """Whether an entry says what it said then: digests do not bind what is told before a file is read."""
        before = await self._keeping.approved(skill)
        return before is not None and same(dict(before.frontmatter), dict(skill.skill.frontmatter))

    def _marked(self, entry: SkillRecord, standing: Standing, *, alone: bool) -> SkillRecord:
        """Return a skill with what keeps it from models and people, if anything does."""
        if standing is Standing.APPROVED:
            return entry
        return replace(entry, problems=(*entry.problems, self._problem(entry, standing, alone=alone)))

    def _problem(self, entry: SkillRecord, standing: Standing, *, alone: bool) -> Problem:
        command = self._approving(entry.name if alone else entry.origin.location)
        why, hint = _WHY[standing], f"look at it, then approve it: {quoted(command, None)}"
        if entry.dynamic:
            why = "its content is made when it is read, and no approval can be bound to that"
            hint = f"if you trust the whole server, start the bridge with `--trust {self.label}`"
        return Problem(
            entry.origin.path,
            Rule.NOT_APPROVED,
            Severity.WARNING,
            f"models and people are not offered it: {why}",
            hint=hint,
        )
