"""Approvals in one session, combined with stored approvals. Each is bound to listed content (H17)."""

from dataclasses import dataclass
from inspect import isawaitable
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
    deny_all,
    inspect_entry,
    needs_new_approval,
)
from skillwire.host.hosted_skill import HostedSkill, Identity
from skillwire.host.registry import Registry
from skillwire.host.store.approvals import ApprovalStatus, content_key

_ANSWERS = [f"`Answer.{each.name}`" for each in Answer]
_YES = frozenset({Answer.ONCE, Answer.KEEP})


@dataclass(frozen=True, slots=True)
class _SessionApproval:
    """An approval for this session."""

    skill: HostedSkill
    revocations: int
    """How often approvals of the skill had been revoked when this approval was given."""
    keep: bool = False
    """Whether to store the approval once the files of the skill are known."""

    def is_for(self, skill: HostedSkill) -> bool:
        return not needs_new_approval(self.skill, skill)


class Consent:
    """Asks the user, one question at a time, and remembers the answers for a session."""

    def __init__(self, ask: Approver | None, approval_store: ApprovalStore) -> None:
        self._ask = ask or deny_all
        self._has_approver = ask is not None
        self._approval_store = approval_store
        self._session_approvals: dict[Identity, _SessionApproval] = {}
        self._before: dict[Identity, HostedSkill] = {}
        """The versions that were approved in this session, of skills that have changed since then."""
        self._executable_sets: set[frozenset[tuple[Identity, str | None]]] = set()
        """Sets of skill versions. While exactly one such set is loaded, the user lets any code run."""
        self._ask_lock = anyio.Lock()

    def refusal(self, what: str) -> str:
        """Return the message that `what` is not approved."""
        if self._has_approver:
            return f"the user did not approve {what}"
        return f"cannot ask for approval of {what}: this host has no `approve=`"

    async def is_approved(self, skill: HostedSkill) -> bool:
        """Return whether this version of the skill has a valid approval, in this session or in the state.

        The user's own skills count as approved.
        """
        if skill.local:
            return True
        stored, approval = (
            await self._approval_store.approval_status(skill),
            self._session_approvals.get(skill.identity),
        )
        if approval is None or not approval.is_for(skill):
            return stored is ApprovalStatus.APPROVED
        return approval.revocations == await self._approval_store.revocations(skill)

    async def ask_to_load(self, skill: HostedSkill, acting: tuple[HostedSkill, ...] = ()) -> bool:
        """Return whether a skill may be loaded. Asks the user unless the skill is approved or the user's own.

        A skill that lists no files needs approval each time (H17). A new answer ends an earlier approval in
        this session. With `KEEP`, the approval is also stored if possible. `acting` are the skills from
        servers that are already loaded.
        """
        if skill.local:
            return True
        async with self._ask_lock:
            if content_key(skill) is not None and await self.is_approved(skill):
                return True
            can_be_kept = self._approval_store.can_store(skill)
            inspection = inspect_entry(skill, await self._changes(skill))
            answer = await self._answer(LoadRequest(inspection, acting, can_be_kept))
            self.withdraw(skill.identity)
            if answer not in _YES:
                return False
            keep = answer is Answer.KEEP and can_be_kept
            if keep and not skill.is_packed:
                await self._approval_store.approve(skill)
            else:
                self._session_approvals[skill.identity] = _SessionApproval(
                    skill, await self._approval_store.revocations(skill), keep
                )
            return True

    async def has_approval(self, skill: HostedSkill) -> bool:
        """Return whether an approval of any version of a server's skill is stored and has not ended."""
        return not skill.local and await self._approval_store.has_approval(skill)

    async def bind(self, skill: HostedSkill, unpacked: HostedSkill) -> bool:
        """Bind the approval of a packed skill to its files, and store it if the user chose `KEEP` (H17).

        `unpacked` is the skill with its files. Returns False if the session no longer has a valid approval,
        for example because it was revoked while the archive was fetched.
        """
        approval = self._session_approvals.get(skill.identity)
        if approval is None or approval.revocations != await self._approval_store.revocations(skill):
            return False
        if approval.keep:
            await self._approval_store.approve(unpacked)
        if self._session_approvals.get(skill.identity) is not approval:  # revoked while it was stored
            await self._approval_store.revoke(unpacked)
            return False
        self.withdraw(skill.identity)
        if not approval.keep:
            self._session_approvals[skill.identity] = _SessionApproval(unpacked, approval.revocations)
        return True

    async def ask_to_execute(self, what: str, skills: tuple[HostedSkill, ...], *, changed: bool) -> bool:
        """Return whether the user lets the code `what` run while these skills are loaded.

        The answer `KEEP` allows any code while exactly these skills are loaded, in this session (H21). This
        permission ends when one of the skills changes or its approval is revoked, and does not return if the
        skill changes back (H15, H17). `changed` means that one of the skills has changed since it was loaded.
        """
        acting = frozenset((each.identity, content_key(each)) for each in skills)
        approved = not changed and await self._covers_all(skills)
        if not approved:
            self._executable_sets.discard(acting)
        if acting in self._executable_sets:
            return True
        answer = await self._ask_serially(ExecutionRequest(what, skills))
        if answer is Answer.KEEP and approved and all(content is not None for _, content in acting):
            self._executable_sets.add(acting)
        return answer in _YES

    async def ask_foreign_read(self, skills: tuple[HostedSkill, ...], server: str, uri: str) -> bool:
        """Return whether the user lets skills of other servers read `uri` from `server`, this once (H22)."""
        return await self._ask_serially(ForeignReadRequest(skills, server, uri)) in _YES

    def on_registry_change(self, registry: Registry) -> None:
        """Drop this session's approvals of skills that have changed, and permissions to run code with them.

        Neither returns if the skill changes back (H15, H17).
        """
        for identity, approval in list(self._session_approvals.items()):
            fresh = registry.get(identity)
            if fresh is not None and not approval.is_for(fresh):
                self._before[identity] = approval.skill
                self.withdraw(identity)
        self._executable_sets = {
            each for each in self._executable_sets if not any(_has_changed(registry, *one) for one in each)
        }

    def withdraw(self, identity: Identity) -> None:
        """Drop this session's approval of a skill, and permissions to run code while the skill is loaded."""
        self._session_approvals.pop(identity, None)
        self._executable_sets = {
            each for each in self._executable_sets if identity not in {one for one, _ in each}
        }

    async def _covers_all(self, skills: tuple[HostedSkill, ...]) -> bool:
        for each in skills:
            if not await self.is_approved(each):
                return False
        return True

    async def _changes(self, skill: HostedSkill) -> Changes | None:
        approval = self._session_approvals.get(skill.identity)
        before = await self._approval_store.approved(skill) or self._before.get(
            skill.identity, approval and approval.skill
        )
        return None if before is None else Changes.between(before, skill) or None

    async def _ask_serially(self, request: Request) -> Answer:
        async with self._ask_lock:
            return await self._answer(request)

    async def _answer(self, request: Request) -> Answer:
        """Return the user's answer. Raises `TypeError` if the approver returns anything but an `Answer`.

        The approver may also be a function that is not async.
        """
        answer = cast("object", self._ask(request))
        if isawaitable(answer):
            answer = cast("object", await answer)
        if not isinstance(answer, Answer):
            raise TypeError(
                f"the approver returned {answer!r}; it must return one of {', '.join(map(str, _ANSWERS))}"
            )
        return answer


def _has_changed(registry: Registry, identity: Identity, content: str | None) -> bool:
    fresh = registry.get(identity)
    return fresh is not None and content_key(fresh) != content
