"""What is kept of a server's skills between sessions: approvals and files, for labels that mean something."""

from typing import Any

from skillwire.host.hosted import HostedSkill
from skillwire.host.standing import Standing
from skillwire.wire.remote import RemoteFile, RemoteSkill

State = Any


class Keeping:
    """A thin layer over the state: for local skills, and for labels that nobody bound, nothing is kept."""

    def __init__(self, state: State | None, labels: set[str]) -> None:
        """`labels` are those that are bound to what they stand for (H28)."""
        self._state, self._labels = state, labels

    def standing(self, skill: HostedSkill) -> Standing:
        """Return what is known of an approval, having compared it with the entry (H17)."""
        if self._state is None or skill.label not in self._labels:
            return Standing.UNKNOWN
        return self._state.approvals.standing(skill.label, skill.skill)

    def approved(self, skill: HostedSkill) -> RemoteSkill | None:
        """Return the version that was approved last, if one was."""
        if self._state is None or skill.label not in self._labels:
            return None
        return self._state.approvals.approved(skill.label, skill.skill.uri)

    def can_keep(self, skill: HostedSkill) -> bool:
        return self._state is not None and skill.label in self._labels and skill.skill.files is not None

    def approve(self, skill: HostedSkill) -> None:
        if self._state is not None:
            self._state.approvals.approve(skill.label, skill.skill)

    def revoke(self, skill: HostedSkill) -> None:
        if self._state is not None and skill.label in self._labels:
            self._state.approvals.revoke(skill.label, skill.skill.uri)

    def cached(self, skill: HostedSkill, file: RemoteFile) -> bytes | None:
        if self._state is None or skill.label not in self._labels or skill.local:
            return None
        return self._state.cache.get(skill.label, file)

    def cache(self, skill: HostedSkill, file: RemoteFile, content: bytes) -> None:
        if self._state is not None and skill.label in self._labels and not skill.local:
            self._state.cache.put(skill.label, file, content)
