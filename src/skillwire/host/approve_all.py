"""Approve many skills, each bound to the files that were shown, and compare their texts."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from mcp.shared.exceptions import MCPError

from skillwire.core.mime import is_text
from skillwire.errors import SkillwireError
from skillwire.host.approvals.approval_store import ApprovalStore, why_unbound
from skillwire.host.approvals.questions import Changes
from skillwire.host.hosted_skill import HostedSkill, Identity, display_path
from skillwire.host.places import Places
from skillwire.host.pull import read_contents
from skillwire.host.store.cache import KEPT_FILE_BYTES
from skillwire.protocol.claims import FileClaim

KEPT_SKILL_BYTES = 2 * 1024 * 1024
"""Maximum number of bytes to read from one skill, to show or keep its text."""


@dataclass(frozen=True, slots=True)
class ApprovalOutcome:
    """The outcome for one skill."""

    skill: HostedSkill
    reason: str = ""
    """Why the skill was not approved; empty if it was."""


async def approve_all(
    places: Places, approval_store: ApprovalStore, shown: Sequence[HostedSkill]
) -> list[ApprovalOutcome]:
    """Approve exactly these versions. If one cannot be approved, the others are still approved.

    The servers are asked for their lists again. A skill that differs from the version that was shown is not
    approved.
    """
    await places.discover()
    outcomes: list[ApprovalOutcome] = []
    labels = {skill.label for skill in shown if not skill.local}
    listed = {(label, each.uri) for label in labels for each in places.listed(label)}
    for skill in shown:
        try:
            reason = await _why_not(places, skill, listed)
            if not reason:
                await approval_store.approve(skill)
        except (SkillwireError, MCPError) as error:
            reason = str(error).removeprefix(f"{skill.origin}: ")
        outcomes.append(ApprovalOutcome(skill, reason))
    await places.refresh_statuses(each.skill.identity for each in outcomes if not each.reason)
    return outcomes


async def _why_not(places: Places, skill: HostedSkill, listed: Collection[Identity]) -> str:
    """Return why a skill that was shown cannot be approved now; empty if it can."""
    if skill.local:
        return "it is your own and needs no approval"
    if skill.is_packed:
        return "its files are not known yet"
    if unbound := why_unbound(skill.claimed):
        return unbound
    now = places.registry.get(skill.identity) if skill.identity in listed else None
    if now is None:  # it is not listed, so the server is asked for this skill
        now = await places.lookup(skill.label, skill.uri)
    return "it has changed since it was shown" if Changes.between(skill, now) else ""


@dataclass(frozen=True, slots=True)
class ChangedText:
    """One file that was added, removed or changed since the last approval, with its bytes."""

    path: str
    before: bytes | None = None
    """The approved bytes; None if the file is new or its bytes are not kept."""
    after: bytes | None = None
    """The bytes that the server lists now; None if the file was removed or cannot be read."""
    is_new: bool = False
    is_removed: bool = False
    reason: str = ""
    """Why the bytes of this file cannot be compared; empty if they can."""


async def changed_texts(
    places: Places, approval_store: ApprovalStore, skill: HostedSkill
) -> AsyncGenerator[ChangedText]:
    """Yield each file that differs from the version that was approved last, with verified bytes (H15).

    Without an earlier approval, every file is new. Files are read from the server one by one.
    """
    earlier = await approval_store.approved(skill)
    old = {} if earlier is None else {file.uri: file for file in earlier.files or ()}
    new = {file.uri: file for file in skill.files or ()}
    texts = _Texts(places, skill)
    for uri in sorted({**old, **new}, key=lambda uri: (uri != skill.uri, uri)):
        was, now = old.get(uri), new.get(uri)
        if was is not None and now is not None and was.digest == now.digest:
            continue
        before = None if was is None else await approval_store.kept(skill, was)
        after, reason = (None, "") if now is None else await texts.read(now)
        if was is not None and before is None:
            reason = reason or "its approved text was not stored"
        path = display_path(skill, uri)
        yield ChangedText(path, before, after, is_new=was is None, is_removed=now is None, reason=reason)


async def keep_texts(places: Places, approval_store: ApprovalStore, skill: HostedSkill) -> int:
    """Keep copies of the text files of an approved skill. Return how many could not be read or written.

    Binary files and large files are not kept.
    """
    texts, failed = _Texts(places, skill), 0
    for file in skill.files or ():
        if texts.is_too_large(file):
            continue
        content, _ = await texts.read(file)
        if content is None or (is_text(content) and not await approval_store.keep(skill, content)):
            failed += 1
    return failed


class _Texts:
    """Verified bytes of the files of one skill. An archive is fetched once."""

    def __init__(self, places: Places, skill: HostedSkill) -> None:
        self._places, self._skill = places, skill
        self._left = KEPT_SKILL_BYTES
        self._unpacked: dict[str, bytes] | None = None

    def is_too_large(self, file: FileClaim) -> bool:
        return (file.size or 0) > min(KEPT_FILE_BYTES, self._left)

    async def read(self, file: FileClaim) -> tuple[bytes | None, str]:
        """Return the bytes of a file, or None and the reason."""
        if self.is_too_large(file):
            return None, f"it has {file.size or 0:,} bytes, which is too much to show"
        try:
            content = await self._read(file)
        except (SkillwireError, MCPError) as error:
            return None, f"it cannot be read: {str(error).removeprefix(f'{self._skill.origin}: ')}"
        self._left -= len(content)
        return (content, "") if len(content) <= KEPT_FILE_BYTES else (None, "it is too large to show")

    async def _read(self, file: FileClaim) -> bytes:
        place = self._places.place(self._skill.label)
        place.refill()
        if self._skill.archive is None:
            return await self._places.content(self._skill, file)
        if self._unpacked is None:
            contents = await read_contents(self._places, self._skill)
            self._unpacked = dict(contents.files)
        return self._unpacked[unquote(file.uri.removeprefix(f"{self._skill.root}/"))]
