"""Asynchronous access to the stored approvals, grants and cached files of servers' skills.

`decided` converts an approval status to the trust of a record.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from anyio.to_thread import run_sync

from skillwire.core.record import SkillRecord, Trust, Withheld
from skillwire.errors import StateError
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.store.approvals import Approval, ApprovalStatus
from skillwire.host.store.state import State
from skillwire.protocol.claims import FileClaim, SkillClaim

_WHY = {
    ApprovalStatus.UNKNOWN: "it is not approved",
    ApprovalStatus.CHANGED: "it has changed since it was approved",
    ApprovalStatus.REVOKED: "its approval was revoked",
}


def why_unbound(skill: SkillClaim) -> str:
    """Return why no approval can be bound to a skill (H17); empty if one can."""
    if skill.lasting:
        return ""
    if skill.archives:
        return "its archive has no digest, so no approval can be bound to it"
    if skill.deliveries:
        return "its server lists no digests of its files, so no approval can be bound to it"
    return "its content is generated on each read, so no approval can be bound to it"


def decided(
    record: SkillRecord, approval_status: ApprovalStatus, hint: str, *, unbound: str = ""
) -> SkillRecord:
    """Return a record with the trust that follows from its approval status.

    `hint` tells how to approve the skill. `unbound` is the result of `why_unbound` (H17).
    """
    if approval_status is ApprovalStatus.APPROVED:
        return replace(record, trust=Trust.APPROVED, withheld=None)
    reason = unbound or _WHY[approval_status]
    return replace(record, trust=Trust.WITHHELD, withheld=Withheld(reason, hint))


class ApprovalStore:
    """Reads and writes the state of a host. Calls run in threads, because disks may be slow.

    Without a state, for the user's own skills, and under labels that are not bound, nothing is stored. Reads
    then return an empty result, None, False, 0 or `UNKNOWN`.
    """

    def __init__(self, state: State | None) -> None:
        self._state = state
        self._labels: set[str] = set()

    async def bind(self, label: str, identity: str) -> bool:
        """Bind a label to a server (H28). Return whether it was bound to another server before.

        If it was, the approvals, grants and cached files under the label are removed. Its login is also
        removed, unless only the query of the URL differs. Without a state, does nothing and returns False.
        """
        if self._state is None:
            return False
        self._labels.add(label)
        return await run_sync(self._state.bind, label, identity)

    def can_store(self, skill: HostedSkill) -> bool:
        """Return whether an approval of this skill can be stored (H17)."""
        return self._state_for(skill) is not None and skill.claimed.lasting

    async def approval_status(self, skill: HostedSkill) -> ApprovalStatus:
        """Return the approval status of a skill.

        If the stored approval is for different files, this call ends it (H17).
        """
        if (state := self._state_for(skill)) is None:
            return ApprovalStatus.UNKNOWN
        return await run_sync(state.approvals.approval_status, skill.label, skill.claimed)

    async def statuses(self, skills: Iterable[HostedSkill]) -> dict[tuple[str, str], ApprovalStatus]:
        """Return the approval status of each of these skills that was ever approved, by identity."""
        known: set[tuple[str, str]] = set()
        if self._state is not None:
            known = {(each.label, each.uri) for each in await run_sync(self._state.approvals.all)}
        return {each.identity: await self.approval_status(each) for each in skills if each.identity in known}

    async def decisions(self, label: str) -> frozenset[Approval]:
        """Return all stored approvals for a label, including ended approvals. Raises `StateError`."""
        if self._state is None:
            return frozenset()
        every = await run_sync(self._state.approvals.all)
        return frozenset(each for each in every if each.label == label)

    async def approved(self, skill: HostedSkill) -> SkillClaim | None:
        """Return the version of the skill that was approved last, or None if none was.

        The approval may have ended.
        """
        if (state := self._state_for(skill)) is None:
            return None
        return await run_sync(state.approvals.approved, skill.label, skill.uri)

    async def has_approval(self, skill: HostedSkill) -> bool:
        """Return whether an approval of any version of the skill is stored and has not ended."""
        if (state := self._state_for(skill)) is None:
            return False
        return await run_sync(state.approvals.has_approval, skill.label, skill.uri)

    async def unpacked(self, label: str) -> dict[str, SkillClaim]:
        """Return the last approved versions of a server's skills whose files came from archives, by URI.

        Returns none if the state cannot be read.
        """
        if self._state is None or label not in self._labels:
            return {}
        with suppress(StateError):  # the archives are fetched when they are needed
            return await run_sync(self._state.approvals.unpacked, label)
        return {}

    async def approve(self, skill: HostedSkill) -> None:
        """Store an approval of exactly the files of this version. Raises `StateError`."""
        if (state := self._state_for(skill)) is not None:
            await run_sync(state.approvals.approve, skill.label, skill.claimed)

    async def revoke(self, skill: HostedSkill) -> None:
        if (state := self._state_for(skill)) is not None:
            await run_sync(state.approvals.revoke, skill.label, skill.uri)

    async def revocations(self, skill: HostedSkill) -> int:
        """Return how often an approval of the skill was revoked."""
        if (state := self._state_for(skill)) is None:
            return 0
        return await run_sync(state.approvals.revocations, skill.label, skill.uri)

    async def grant(self, skill: HostedSkill, tools: frozenset[str]) -> None:
        """Store the tools that a skill may use without asking, replacing earlier grants.

        The grants end with the approval. Raises `StateError`, also if this version is not approved.
        """
        if (state := self._state_for(skill)) is not None:
            await run_sync(state.grants.grant, skill.label, skill.claimed, tools)

    async def granted(self, skill: HostedSkill) -> frozenset[str]:
        """Return the tools granted to this version of a skill; none if it is not approved."""
        if (state := self._state_for(skill)) is None:
            return frozenset()
        return await run_sync(state.grants.granted, skill.label, skill.claimed)

    async def cached(self, skill: HostedSkill, file: FileClaim) -> bytes | None:
        """Return the cached bytes of a file; None if there are none that match the claim (H24)."""
        if (state := self._state_for(skill)) is None:
            return None
        with suppress(StateError):  # the caller fetches it
            return await run_sync(state.cache.get, skill.label, file)
        return None

    async def cache(self, skill: HostedSkill, file: FileClaim, content: bytes) -> None:
        if (state := self._state_for(skill)) is not None:
            with suppress(StateError):  # it is fetched again next time
                await run_sync(state.cache.put, skill.label, file, content)

    async def keep(self, skill: HostedSkill, content: bytes) -> bool:
        """Keep a copy of approved bytes, for later comparison. Return whether it was written."""
        if (state := self._state_for(skill)) is None:
            return False
        return await run_sync(state.cache.keep, skill.label, content)

    async def kept(self, skill: HostedSkill, file: FileClaim) -> bytes | None:
        """Return the copy of approved bytes that `file` names; None if there is none."""
        if (state := self._state_for(skill)) is None:
            return None
        with suppress(StateError):  # the comparison says that the text is not kept
            return await run_sync(state.cache.kept, skill.label, file)
        return None

    def _state_for(self, skill: HostedSkill) -> State | None:
        return self._state if not skill.local and skill.label in self._labels else None
