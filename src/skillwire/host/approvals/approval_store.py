"""What is kept of a server's skills between sessions, asked for in a thread: the disk may be slow."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from anyio.to_thread import run_sync

from skillwire.core.record import SkillRecord, Trust, Withheld
from skillwire.errors import StateError
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.store.approvals import Approval, ApprovalStatus, content_key
from skillwire.host.store.state import State
from skillwire.protocol.remote import FileClaim, SkillClaim

_WHY = {
    ApprovalStatus.UNKNOWN: "nobody approved it",
    ApprovalStatus.CHANGED: "it is another than the one that was approved",
    ApprovalStatus.REVOKED: "its approval was taken back",
}
_LIVE = "its content is made when it is read, and no approval can be bound to that"


def decided(record: SkillRecord, approval_status: ApprovalStatus, hint: str, *, live: bool) -> SkillRecord:
    """Return a record of a server's skill with what a person decided. `hint` says how to approve it.

    Nothing is left of what the record said before. To `live` content, no approval can be bound (H17).
    """
    if approval_status is ApprovalStatus.APPROVED:
        return replace(record, trust=Trust.APPROVED, withheld=None)
    reason = _LIVE if live else _WHY[approval_status]
    return replace(record, trust=Trust.WITHHELD, withheld=Withheld(reason, hint))


class ApprovalStore:
    """A state, as far as there is one: of local skills, and of labels that nobody bound, nothing is kept."""

    def __init__(self, state: State | None) -> None:
        self._state = state
        self._labels: set[str] = set()

    async def bind(self, label: str, identity: str) -> bool:
        """Say what a label stands for: what is kept under it belongs to that (H28).

        Return whether it stood for something else, of which all is gone now.
        """
        if self._state is None:
            return False
        self._labels.add(label)
        return await run_sync(self._state.bind, label, identity)

    def can_store(self, skill: HostedSkill) -> bool:
        """Whether an approval could outlast this process (H17)."""
        return self._of(skill) is not None and content_key(skill) is not None

    async def approval_status(self, skill: HostedSkill) -> ApprovalStatus:
        """Return what is known of an approval. If it was of other files, it ends here (H17)."""
        if (state := self._of(skill)) is None:
            return ApprovalStatus.UNKNOWN
        return await run_sync(state.approvals.approval_status, skill.label, skill.claimed)

    async def judged(self, skills: Iterable[HostedSkill]) -> dict[tuple[str, str], ApprovalStatus]:
        """Return the same for many, of which few were ever approved."""
        known: set[tuple[str, str]] = set()
        if self._state is not None:
            known = {(each.label, each.uri) for each in await run_sync(self._state.approvals.all)}
        return {each.identity: await self.approval_status(each) for each in skills if each.identity in known}

    async def decisions(self, label: str) -> frozenset[Approval]:
        """Return everything that a person decided about the skills of a server. Raises `StateError`."""
        if self._state is None:
            return frozenset()
        every = await run_sync(self._state.approvals.all)
        return frozenset(each for each in every if each.label == label)

    async def approved(self, skill: HostedSkill) -> SkillClaim | None:
        """Return the version that was approved last, if one was."""
        if (state := self._of(skill)) is None:
            return None
        return await run_sync(state.approvals.approved, skill.label, skill.uri)

    async def approve(self, skill: HostedSkill) -> None:
        """Keep an approval of these very files. Raises `StateError`."""
        if (state := self._of(skill)) is not None:
            await run_sync(state.approvals.approve, skill.label, skill.claimed)

    async def revoke(self, skill: HostedSkill) -> None:
        if (state := self._of(skill)) is not None:
            await run_sync(state.approvals.revoke, skill.label, skill.uri)

    async def revocations(self, skill: HostedSkill) -> int:
        """Return how often an approval of it was taken back."""
        if (state := self._of(skill)) is None:
            return 0
        return await run_sync(state.approvals.revocations, skill.label, skill.uri)

    async def grant(self, skill: HostedSkill, tools: frozenset[str]) -> None:
        """Keep what a skill may use. It rests on its approval. Raises `StateError`."""
        if (state := self._of(skill)) is not None:
            await run_sync(state.grants.grant, skill.label, skill.claimed, tools)

    async def granted(self, skill: HostedSkill) -> frozenset[str]:
        if (state := self._of(skill)) is None:
            return frozenset()
        return await run_sync(state.grants.granted, skill.label, skill.claimed)

    async def cached(self, skill: HostedSkill, file: FileClaim) -> bytes | None:
        """Return a file that was fetched before, if it still is what the entry promises (H24)."""
        if (state := self._of(skill)) is None:
            return None
        with suppress(StateError):  # then it is fetched
            return await run_sync(state.cache.get, skill.label, file)
        return None

    async def cache(self, skill: HostedSkill, file: FileClaim, content: bytes) -> None:
        if (state := self._of(skill)) is not None:
            with suppress(StateError):  # then it is fetched again
                await run_sync(state.cache.put, skill.label, file, content)

    def _of(self, skill: HostedSkill) -> State | None:
        return self._state if not skill.local and skill.label in self._labels else None
