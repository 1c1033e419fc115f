"""What a person said in one session, and what is kept of earlier ones. Each yes is bound to content (H17)."""

from dataclasses import dataclass

import anyio

from skillwire.host.approval import (
    Answer,
    Approver,
    ExecutionRequest,
    ForeignReadRequest,
    LoadRequest,
    Request,
    nobody,
)
from skillwire.host.changes import Changes, Contents, contents_of
from skillwire.host.hosted import HostedSkill, Identity
from skillwire.host.inspection import inspected
from skillwire.host.keeping import Keeping
from skillwire.host.standing import Standing
from skillwire.wire.remote import RemoteSkill


@dataclass(frozen=True, slots=True)
class _Given:
    """A yes for this session."""

    skill: RemoteSkill
    standing: Standing
    """What was known when it was given."""

    def is_for(self, skill: HostedSkill) -> bool:
        return contents_of(self.skill) == contents_of(skill.skill)


class Consent:
    """Asks a person, one question at a time, and remembers for a session."""

    def __init__(self, ask: Approver | None, keeping: Keeping) -> None:
        self._ask = ask or nobody
        self._keeping = keeping
        self._given: dict[Identity, _Given] = {}
        self._before: dict[Identity, RemoteSkill] = {}
        """What there was a yes to, of skills that are others now."""
        self._running: set[frozenset[tuple[Identity, Contents | None]]] = set()
        self._asking = anyio.Lock()

    def covers(self, skill: HostedSkill) -> bool:
        """Whether somebody said yes to this skill as it is here, and nobody took it back."""
        if skill.local:
            return True
        now, given = self._keeping.standing(skill), self._given.get(skill.identity)
        if given is None or not given.is_for(skill):
            return now is Standing.APPROVED
        return now is not Standing.REVOKED or given.standing is Standing.REVOKED

    async def to_load(self, skill: HostedSkill) -> bool:
        """Ask, unless that was done. What is made when it is read is asked for each time (H17)."""
        if skill.local:
            return True
        async with self._asking:
            lasting = contents_of(skill.skill) is not None
            if lasting and self.covers(skill):
                return True
            can_be_kept = self._keeping.can_keep(skill)
            answer = await self._ask(LoadRequest(inspected(skill, self._changes(skill)), can_be_kept))
            if answer is Answer.KEEP and can_be_kept:
                self._keeping.approve(skill)
                self._given.pop(skill.identity, None)
            elif answer in {Answer.ONCE, Answer.KEEP}:
                self._given[skill.identity] = _Given(skill.skill, self._keeping.standing(skill))
            else:
                self.withdraw(skill.identity)
                return False
            return True

    async def to_execute(self, what: str, skills: tuple[HostedSkill, ...]) -> bool:
        """Ask whether something may run. `KEEP` holds for these very skills, in this session (H21)."""
        acting = frozenset((each.identity, contents_of(each.skill)) for each in skills)
        bound = all(contents is not None for _, contents in acting)
        if acting in self._running:
            return True
        answer = await self._one_question(ExecutionRequest(what, skills))
        if answer is Answer.KEEP and bound:
            self._running.add(acting)
        return answer in {Answer.ONCE, Answer.KEEP}

    async def to_read_elsewhere(self, skills: tuple[HostedSkill, ...], server: str, uri: str) -> bool:
        """Ask whether another server may be asked, each time anew (H22)."""
        return await self._one_question(ForeignReadRequest(skills, server, uri)) in {Answer.ONCE, Answer.KEEP}

    def notice(self, skill: HostedSkill) -> None:
        """Take note of a fresh entry: a yes to another version is gone, and does not come back (H15, H17)."""
        given = self._given.get(skill.identity)
        if given is not None and not given.is_for(skill):
            self._before[skill.identity] = given.skill
            self.withdraw(skill.identity)

    def withdraw(self, identity: Identity) -> None:
        """Forget what was said of a skill."""
        self._given.pop(identity, None)
        self._running = {each for each in self._running if identity not in {one for one, _ in each}}

    def _changes(self, skill: HostedSkill) -> Changes | None:
        before = self._keeping.approved(skill) or self._before.get(skill.identity)
        return None if before is None else Changes.between(before, skill.skill) or None

    async def _one_question(self, request: Request) -> Answer:
        async with self._asking:
            return await self._ask(request)
