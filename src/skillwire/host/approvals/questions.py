"""What a person is asked about a skill: its entry, what changed, the question and the answer."""

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
"""Differences that a sentence names."""
_SHOWN_FIELD = 64
_SHOWN_TEXT = 2000
"""Characters of a command or a URI that a question shows."""
_SHOWN_FILES = 30


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different now, by the paths of files and the names of fields."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    """Files that have other bytes."""
    fields: tuple[str, ...] = ()
    """Fields of the frontmatter."""
    delivery: bool = False
    """Whether an early draft delivers it with other digests, or from another place."""
    integrity: bool = False
    """Whether it has digests now and had none, or the other way round."""

    def __bool__(self) -> bool:
        return bool(
            self.added or self.removed or self.modified or self.fields or self.delivery or self.integrity
        )

    def __str__(self) -> str:
        parts = [
            *(f"{quoted(path)} is new" for path in self.added),
            *(f"{quoted(path)} is gone" for path in self.removed),
            *(f"{quoted(path)} has other bytes" for path in self.modified),
            *(f"the field {quoted(field)} says something else" for field in self.fields),
            *(["it is delivered with other digests, or from elsewhere"] if self.delivery else []),
            *(["it has digests and had none, or the other way round"] if self.integrity else []),
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
    """Whether a yes to the one is none to the other (H15, H17).

    Where not all files have digests, the entry itself is all that a person can have seen.
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
    """A file that the entry promises."""

    path: str
    size: int | None
    digest: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """A skill before it is approved."""

    skill: HostedSkill
    files: tuple[InspectedFile, ...] | None
    """None where content is made when it is read."""
    effects: tuple[str, ...]
    """What its frontmatter asks for. Approval grants none of it (H21)."""
    changes: Changes | None
    """What is different from the version that was approved; None if none was."""

    @property
    def size(self) -> int | None:
        """The bytes of all files together, where they are known."""
        sizes = [file.size for file in self.files or ()]
        return None if self.files is None or None in sizes else sum(size or 0 for size in sizes)


def inspect_entry(skill: HostedSkill, changes: Changes | None = None) -> Inspection:
    """Return what the entry says, in a form that can be shown."""
    listed = skill.files
    files = tuple(
        InspectedFile(display_path(skill, file.uri), file.size, file.digest.text) for file in listed or ()
    )
    return Inspection(skill, None if listed is None else files, effects(skill), changes)


class Answer(StrEnum):
    """The answer of a person: no, once, or keep."""

    NO = "no"
    ONCE = "once"
    """For this session; a foreign read or an execution, for this one time."""
    KEEP = "keep"
    """Also after it, for as long as the skill stays what it is. An execution, for this session."""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """May the model load this skill, and read its files?"""

    inspection: Inspection
    """What there is to know: whose it is, its files with their sizes, and what is different from before."""
    acting: tuple[HostedSkill, ...] = ()
    """Skills of servers that the model acts on already: one of them may have led it here."""
    can_be_kept: bool = False
    """Whether `KEEP` is more than `ONCE`: each file has a digest, and there is where to keep it."""

    @property
    def skill(self) -> HostedSkill:
        return self.inspection.skill

    def __str__(self) -> str:
        """Say it so that a person can decide, with nothing in it that a terminal would obey (H23, H27)."""
        skill, changes = self.skill, self.inspection.changes
        lines = [
            f"Load the skill {skill.quoted} from the {skill.origin}?",
            f"It is described as: {quoted(skill.description, None)}",
            f"Its address there: {quoted(skill.uri, _SHOWN_TEXT)}",
        ]
        if skill.claim is not None and skill.claim.dialect is not Dialect.FINAL:
            lines.append(f"Its server speaks an earlier draft: `{skill.claim.dialect}`.")
        if self.acting:
            lines.append(f"The model already acts on {_named(self.acting)}, which may have led it here.")
        if changes is not None:
            lines.append(f"It was approved before, and has changed: {changes}")
        lines += _files(self.inspection)
        if effects := self.inspection.effects:
            lines.append(
                f"It asks for this, which approval does not grant: {', '.join(map(quoted, effects))}"
            )
        lines.append("Whoever runs that server wrote it. Nobody has checked what it tells a model to do.")
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
        return f"Run this, while the model acts on {_named(self.skills)}?\n  {quoted(self.what, _SHOWN_TEXT)}"


@dataclass(frozen=True, slots=True)
class ForeignReadRequest:
    """May one server be read while a skill of another is loaded (H22)?"""

    skills: tuple[HostedSkill, ...]
    """Those that may be behind it."""
    server: str
    """The label of the one that would be asked."""
    uri: str

    def __str__(self) -> str:
        asked = f"Read this from {quoted(self.server)}, while the model acts on {_named(self.skills)}?"
        return f"{asked}\n  {quoted(self.uri, _SHOWN_TEXT)}"


def _named(skills: tuple[HostedSkill, ...]) -> str:
    return ", ".join(f"{each.quoted} of the {each.origin}" for each in skills)


Request: TypeAlias = LoadRequest | ExecutionRequest | ForeignReadRequest
"""Any question that a person is asked."""
Approver: TypeAlias = Callable[[Request], Awaitable[Answer]]
"""A function that asks a person. It gets one request at a time."""


async def deny_all(_request: Request) -> Answer:
    """Say no: there is nobody to ask (H30)."""
    return Answer.NO
