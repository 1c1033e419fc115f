"""Derive the lists of files of skills in archives once, and restore the lists for later listings."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

from anyio.to_thread import run_sync

from skillwire.host.approvals.approval_store import ApprovalStore
from skillwire.host.servers.packed import Unpacker
from skillwire.protocol.claims import DeliveryClaim, SkillClaim, verifiable_archive
from skillwire.protocol.verify import derive_files, with_derived_files

MAX_REMEMBERED_FILES = 100_000
"""Maximum number of files in the archives that one `Archives` remembers.

The content of files is not remembered. The newest archive is remembered even if it alone has more files.
"""
_Key: TypeAlias = tuple[str, DeliveryClaim]


class Archives:
    """Derives lists of files from archives, and remembers the lists. Stored approvals also contain lists.

    Each list is bound to the label of the server, and to the URI, format and digest of the archive.
    """

    def __init__(self, approval_store: ApprovalStore) -> None:
        self._approval_store = approval_store
        self._derived: OrderedDict[_Key, SkillClaim] = OrderedDict()
        self._files = 0

    async def restore(self, label: str, skills: Sequence[SkillClaim]) -> list[SkillClaim]:
        """Return a server's skills. A packed skill gets its list of files if its archive is known.

        Makes no request (H11).
        """
        if not any(each.is_packed for each in skills):
            return list(skills)
        approved = await self._approval_store.unpacked(label)
        return [self._restored(label, each, approved.get(each.uri)) for each in skills]

    async def derive(self, label: str, server: Unpacker, skill: SkillClaim) -> SkillClaim:
        """Fetch a skill's archive, remember the list of its files, and return the skill with this list.

        A skill that is not packed is returned unchanged. Raises `SkillwireError` or `MCPError`.
        """
        archive = verifiable_archive(skill)
        if not skill.is_packed or archive is None:
            return skill
        unpacked = await server.unpack(skill, archive)
        derived = await run_sync(derive_files, skill, archive, unpacked)
        self._remember(label, archive, derived)
        return derived

    def _restored(self, label: str, listed: SkillClaim, approved: SkillClaim | None) -> SkillClaim:
        if not listed.is_packed:
            return listed
        # Try the approved archive first, because other archives may have other files.
        if approved is not None and (found := with_derived_files(listed, approved)) is not None:
            return found
        for archive in listed.archives:
            known = self._derived.get((label, archive))
            if known is not None and (found := with_derived_files(listed, known)) is not None:
                self._derived.move_to_end((label, archive))
                return found
        return listed

    def _remember(self, label: str, archive: DeliveryClaim, derived: SkillClaim) -> None:
        before = self._derived.pop((label, archive), None)
        self._derived[label, archive] = derived
        self._files += _count(derived) - (0 if before is None else _count(before))
        while self._files > MAX_REMEMBERED_FILES and len(self._derived) > 1:
            _, oldest = self._derived.popitem(last=False)
            self._files -= _count(oldest)


def _count(skill: SkillClaim) -> int:
    return len(skill.files or ())
