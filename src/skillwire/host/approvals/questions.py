"""Questions to the user about a skill, with the facts to decide on, and the possible answers."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from skillwire.core.json_text import json_equal
from skillwire.host.hosted_skill import HostedSkill, display_path, effects
from skillwire.host.store.approvals import content_key
from skillwire.protocol.remote import Dialect, ListedSkill
from skillwire.safe_text import quote_if_needed, quoted, strip_invisible

_SHOWN_CHANGES = 20
"""Differences to name in one sentence."""
_SHOWN_FIELD = 64
_SHOWN_TEXT = 2000
"""Characters of a command or a URI to show in a question."""
_SHOWN_FILES = 30


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two versions of a skill: paths of files and names of fields."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    """Files whose bytes changed."""
    fields: tuple[str, ...] = ()
    """Fields of the frontmatter that changed."""
    delivery: bool = False
    """Whether the digests or URIs of an early draft's deliveries changed."""
    integrity: bool = False
    """Whether only one of the versions has digests."""

    def __bool__(self) -> bool:
        return bool(
            self.added or self.removed or self.modified or self.fields or self.delivery or self.integrity
        )

    def __str__(self) -> str:
        parts = [
            *(f"{quoted(path)} is new" for path in self.added),
            *(f"{quoted(path)} was removed" for path in self.removed),
            *(f"{quoted(path)} has changed" for path in self.modified),
            *(f"the field {quoted(field)} has changed" for field in self.fields),
            *(["its digests or URIs have changed"] if self.delivery else []),
            *(["it has digests now and had none, or the reverse"] if self.integrity else []),
        ]
        more = len(parts) - _SHOWN_CHANGES
        return ", ".join(parts[:_SHOWN_CHANGES]) + (f" and {more} more" if more > 0 else "") or "nothing"

    @classmethod
    def between(cls, before: ListedSkill, after: ListedSkill) -> "Changes":
        old = {file.uri: file.digest for file in before.files or ()}
        new = {file.uri: file.digest for file in after.files or ()}
        keys = sorted(before.frontmatter.keys() | after.frontmatter.keys())
        return cls(
            added=tuple(display_path(after, uri) for uri in new if uri not in old),
            removed=tuple(display_path(before, uri) for uri in old if uri not in new),
            modified=tuple(display_path(after, uri) for uri in new if uri in old and old[uri] != new[uri]),
            fields=tuple(_shown(key) for key in keys if not _same_field(before, after, key)),
            delivery=before.deliveries != after.deliveries,
            integrity=(before.files is None) != (after.files is None),
        )


def needs_new_approval(before: ListedSkill, after: ListedSkill) -> bool:
    """Whether an approval of `before` does not cover `after` (H15, H17).

    If not all files have digests, any difference between the listed data counts.
    """
    if (content := content_key(before)) is not None:
        return content != content_key(after)
    return bool(Changes.between(before, after))


def _same_field(before: ListedSkill, after: ListedSkill, key: str) -> bool:
    there = key in before.frontmatter and key in after.frontmatter
    return there and json_equal(before.frontmatter[key], after.frontmatter[key])


def _shown(key: str) -> str:
    return strip_invisible(key, _SHOWN_FIELD)


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """One listed file, with its path for display."""

    path: str
    size: int | None
    digest: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that is known about a skill before any of its files is read."""

    skill: HostedSkill
    files: tuple[InspectedFile, ...] | None
    """None if the skill lists no files."""
    effects: tuple[str, ...]
    """What its frontmatter requests. Approval grants none of it (H21)."""
    changes: Changes | None
    """The differences to the approved version; None if none was approved."""

    @property
    def size(self) -> int | None:
        """The bytes of all files together; None if unknown."""
        sizes = [file.size for file in self.files or ()]
        return None if self.files is None or None in sizes else sum(size or 0 for size in sizes)


def inspect_entry(skill: HostedSkill, changes: Changes | None = None) -> Inspection:
    """Return the listed facts about a skill, cleaned for display."""
    listed = skill.files
    files = tuple(
        InspectedFile(display_path(skill, file.uri), file.size, file.digest.text) for file in listed or ()
    )
    return Inspection(skill, None if listed is None else files, effects(skill), changes)


class Answer(StrEnum):
    """The user's answer to a request."""

    NO = "no"
    ONCE = "once"
    """Load: yes for this session. Foreign read or execution: yes for this one time."""
    KEEP = "keep"
    """Load: yes until the skill changes, also in later sessions. Execution: yes for this session."""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """May the model load this skill, and read its files?"""

    inspection: Inspection
    """The facts: its server, its files with their sizes, and the changes since the last approval."""
    acting: tuple[HostedSkill, ...] = ()
    """Skills of servers that are loaded already. One of them may have caused this request."""
    can_be_kept: bool = False
    """Whether `KEEP` lasts longer than `ONCE`: every file has a digest, and the host has a state."""

    @property
    def skill(self) -> HostedSkill:
        return self.inspection.skill

    def __str__(self) -> str:
        """Return the question with all facts, without control characters (H23, H27)."""
        skill, changes = self.skill, self.inspection.changes
        lines = [
            f"Load the skill {skill.quoted} from the {skill.origin}?",
            f"It is described as: {quoted(skill.description, None)}",
            f"Its URI there: {quoted(skill.uri, _SHOWN_TEXT)}",
        ]
        if skill.claim is not None and skill.claim.dialect is not Dialect.FINAL:
            lines.append(f"Its server uses an earlier draft of the extension: `{skill.claim.dialect}`.")
        if self.acting:
            lines.append(
                f"The model already follows {_named(self.acting)}, which may have caused this request."
            )
        if changes is not None:
            lines.append(f"It was approved before, and has changed: {changes}")
        lines += _files(self.inspection)
        if effects := self.inspection.effects:
            lines.append(
                f"It requests the following, which approval does not grant: {', '.join(map(quoted, effects))}"
            )
        lines.append("The operator of that server wrote it. No one has checked what it tells a model to do.")
        return "\n".join(lines)


def _files(inspection: Inspection) -> Iterator[str]:
    if (files := inspection.files) is None:
        yield "It has no list of files: its content can be different each time it is read."
        return
    size = "" if inspection.size is None else f" of {inspection.size:,} bytes in all"
    yield f"It has {len(files):,} file{'s' * (len(files) != 1)}{size}:"
    for file in files[:_SHOWN_FILES]:
        yield f"  {quote_if_needed(file.path)}{'' if file.size is None else f' ({file.size:,} bytes)'}"
    if (more := len(files) - _SHOWN_FILES) > 0:
        yield f"  and {more:,} more"


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    """May this code run while these skills are loaded (H21)?"""

    what: str
    """The command or program, as the tool would run it."""
    skills: tuple[HostedSkill, ...]

    def __str__(self) -> str:
        return f"Run this while the model follows {_named(self.skills)}?\n  {quoted(self.what, _SHOWN_TEXT)}"


@dataclass(frozen=True, slots=True)
class ForeignReadRequest:
    """May one server be read while a skill of another is loaded (H22)?"""

    skills: tuple[HostedSkill, ...]
    """The loaded skills of other servers, which may have caused the read."""
    server: str
    """The label of the server to read from."""
    uri: str

    def __str__(self) -> str:
        question = f"Read this from {quoted(self.server)} while the model follows {_named(self.skills)}?"
        return f"{question}\n  {quoted(self.uri, _SHOWN_TEXT)}"


def _named(skills: tuple[HostedSkill, ...]) -> str:
    return ", ".join(f"{each.quoted} of the {each.origin}" for each in skills)


Request: TypeAlias = LoadRequest | ExecutionRequest | ForeignReadRequest
"""Any question to the user."""
Approver: TypeAlias = Callable[[Request], Awaitable[Answer]]
"""An async function that asks the user. It is called with one request at a time."""


async def deny_all(_request: Request) -> Answer:
    """Answer no to every request, because there is no one to ask (H30)."""
    return Answer.NO
