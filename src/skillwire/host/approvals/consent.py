"""What a person said in one session, and what is kept of earlier ones. Each yes is bound to content (H17)."""

from dataclasses import dataclass
from typing import cast

import anyio

from skillwire.host.approvals.approval_store import ApprovalStore
from skillwire.host.approvals.questions import (
    Answer,
    Approver,
    Changes,
    ExecutionRequest,
    ForeignReadRequest,
    LoadRequest,
    Request,
    inspect_entry,
    needs_new_approval,
    nobody,
)
from skillwire.host.hosted_skill import HostedSkill, Identity
from skillwire.host.registry import Registry
from skillwire.host.store.approvals import ApprovalStatus, content_of

_ANSWERS = [f"`Answer.{each.name}`" for each in Answer]
_YES = frozenset({Answer.ONCE, Answer.KEEP})


@dataclass(frozen=True, slots=True)
class _Given:
    """A yes for this session."""

    skill: HostedSkill
    revocations: int
    """How often an approval had been taken back when it was given."""

    def is_for(self, skill: HostedSkill) -> bool:
        return not needs_new_approval(self.skill, skill)


class Consent:
    """Asks a person, one question at a time, and remembers for a session."""

    def __init__(self, ask: Approver | None, keeping: ApprovalStore) -> None:
        self._ask = ask or nobody
        self._keeping = keeping
        self._given: dict[Identity, _Given] = {}
        self._before: dict[Identity, HostedSkill] = {}
        """What there was a yes to, of skills that are others now."""
        self._running: set[frozenset[tuple[Identity, str | None]]] = set()
        """Skills with whose content code may run, together."""
        self._asking = anyio.Lock()

    async def covers(self, skill: HostedSkill) -> bool:
        """Whether somebody said yes to this skill as it is here, and nobody took it back."""
        if skill.local:
            return True
        now, given = await self._keeping.standing(skill), self._given.get(skill.identity)
        if given is None or not given.is_for(skill):
            return now is ApprovalStatus.APPROVED
        return given.revocations == await self._keeping.revocations(skill)

    async def to_load(self, skill: HostedSkill, acting: tuple[HostedSkill, ...] = ()) -> bool:
        """Ask, unless that was done. What is made when it is read is asked for each time (H17)."""
        if skill.local:
            return True
        async with self._asking:
            if content_of(skill) is not None and await self.covers(skill):
                return True
            can_be_kept = self._keeping.can_keep(skill)
            seen = inspect_entry(skill, await self._changes(skill))
            answer = await self._answer(LoadRequest(seen, acting, can_be_kept))
            self.withdraw(skill.identity)
            if answer not in _YES:
                return False
            if answer is Answer.KEEP and can_be_kept:
                await self._keeping.approve(skill)
            else:
                self._given[skill.identity] = _Given(skill, await self._keeping.revocations(skill))
            return True

    async def to_execute(self, what: str, skills: tuple[HostedSkill, ...], *, changed: bool) -> bool:
        """Ask whether something may run. `KEEP` holds for these very skills, in this session (H21).

        It rests on their approvals: where one of those is gone, or was for a skill that has `changed`, this
        is gone, too, and does not come back (H15, H17).
        """
        acting = frozenset((each.identity, content_of(each)) for each in skills)
        approved = not changed and await self._covers_all(skills)
        if not approved:
            self._running.discard(acting)
        if acting in self._running:
            return True
        answer = await self._one_question(ExecutionRequest(what, skills))
        if answer is Answer.KEEP and approved and all(content is not None for _, content in acting):
            self._running.add(acting)
        return answer in _YES

    async def to_read_elsewhere(self, skills: tuple[HostedSkill, ...], server: str, uri: str) -> bool:
        """Ask whether another server may be asked, each time anew (H22)."""
        return await self._one_question(ForeignReadRequest(skills, server, uri)) in _YES

    def notice(self, registry: Registry) -> None:
        """Take note of fresh entries: a yes to another version is gone, and does not come back (H15, H17)."""
        for identity, given in list(self._given.items()):
            fresh = registry.get(identity)
            if fresh is not None and not given.is_for(fresh):
                self._before[identity] = given.skill
                self.withdraw(identity)
        self._running = {
            each for each in self._running if not any(_is_another(registry, *one) for one in each)
        }

    def withdraw(self, identity: Identity) -> None:
        """Forget what was said of a skill."""
        self._given.pop(identity, None)
        self._running = {each for each in self._running if identity not in {one for one, _ in each}}

    async def _covers_all(self, skills: tuple[HostedSkill, ...]) -> bool:
        for each in skills:
            if not await self.covers(each):
                return False
        return True

    async def _changes(self, skill: HostedSkill) -> Changes | None:
        given = self._given.get(skill.identity)
        before = await self._keeping.approved(skill) or self._before.get(
            skill.identity, given and given.skill
        )
        return None if before is None else Changes.between(before, skill) or None

    async def _one_question(self, request: Request) -> Answer:
        async with self._asking:
            return await self._answer(request)

    async def _answer(self, request: Request) -> Answer:
        """Return what the person says. Raises `TypeError` for what is no answer, as `True`."""
        answer = cast("object", await self._ask(request))
        if not isinstance(answer, Answer):
            raise TypeError(
                f"the approver returned {answer!r}, and not one of {', '.join(map(str, _ANSWERS))}"
            )
        return answer


def _is_another(registry: Registry, identity: Identity, content: str | None) -> bool:
    fresh = registry.get(identity)
    return fresh is not None and content_of(fresh) != content
