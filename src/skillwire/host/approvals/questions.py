"""The questions that a host asks the user about a skill, the facts shown with them, and the answers."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from skillwire.core.json_text import json_equal
from skillwire.host.hosted_skill import HostedSkill, display_path, effects
from skillwire.host.store.approvals import content_key
from skillwire.protocol.claims import Dialect, ListedSkill, is_packed, verifiable_archive
from skillwire.safe_text import quote_if_needed, quoted, strip_invisible

_SHOWN_CHANGES = 20
"""Maximum number of differences to name in one sentence."""
_SHOWN_FIELD = 64
_SHOWN_TEXT = 2000
"""Maximum number of characters to show of a command or URI in a question."""
_SHOWN_FILES = 30


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two versions of a skill: paths of files and names of fields."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    """Paths of files whose content changed."""
    fields: tuple[str, ...] = ()
    """Names of frontmatter fields that changed."""
    delivery: bool = False
    """Whether the URI or digest of a delivery (`SKILL.md` or archive) changed. Only drafts list these."""
    integrity: bool = False
    """Whether only one of the versions lists files with digests."""

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
        """Return the differences. The files are not compared if one of the versions is packed."""
        packed = is_packed(before) or is_packed(after)
        old = {} if packed else {file.uri: file.digest for file in before.files or ()}
        new = {} if packed else {file.uri: file.digest for file in after.files or ()}
        keys = sorted(_compared_fields(before, after))
        return cls(
            added=tuple(display_path(after, uri) for uri in new if uri not in old),
            removed=tuple(display_path(before, uri) for uri in old if uri not in new),
            modified=tuple(display_path(after, uri) for uri in new if uri in old and old[uri] != new[uri]),
            fields=tuple(_shown(key) for key in keys if not _same_field(before, after, key)),
            delivery=not _same_delivery(before, after),
            integrity=not packed and (before.files is None) != (after.files is None),
        )


def needs_new_approval(before: ListedSkill, after: ListedSkill) -> bool:
    """Return whether `after` needs a new approval although `before` was approved (H15, H17).

    If both versions list their files, only the URIs and digests of the files count. Otherwise, any difference
    in the listed data requires a new approval.
    """
    if is_packed(before) or is_packed(after):
        return bool(Changes.between(before, after))
    if (content := content_key(before)) is not None:
        return content != content_key(after)
    return bool(Changes.between(before, after))


def _same_delivery(before: ListedSkill, after: ListedSkill) -> bool:
    """Return whether two versions have the same deliveries. Always true if both versions list their files.

    A packed version also matches an unpacked version if it still lists the archive of the unpacked version,
    and if it lists no other digest for the `SKILL.md`.
    """
    if before.files is not None and after.files is not None:
        return True
    for unpacked, packed in ((before, after), (after, before)):
        if unpacked.archive is not None and is_packed(packed):
            document = next((each for each in packed.deliveries if each.form is None), None)
            digest = None if document is None else document.digest
            same = unpacked.main is not None and digest in {None, unpacked.main.digest}
            return same and unpacked.archive in packed.deliveries
    return before.deliveries == after.deliveries


def _compared_fields(before: ListedSkill, after: ListedSkill) -> Iterable[str]:
    """Return the names of the fields to compare: all, or those of the packed version if one is unpacked."""
    if before.archive is not None and is_packed(after):
        return after.frontmatter.keys()
    if after.archive is not None and is_packed(before):
        return before.frontmatter.keys()
    return before.frontmatter.keys() | after.frontmatter.keys()


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
    """Everything that is known about a skill before any of its files is read."""

    skill: HostedSkill
    files: tuple[InspectedFile, ...] | None
    """The listed files; None if the skill lists no files."""
    effects: tuple[str, ...]
    """The tools and other effects that the frontmatter requests. Approval grants none of them (H21)."""
    changes: Changes | None
    """The differences from the version that was approved last; None if no version was approved.

    In a `LoadRequest`, also None if there are no differences.
    """

    @property
    def size(self) -> int | None:
        """The total size of all files in bytes; None if it is unknown."""
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
    """Yes. A skill may be loaded in this session. Code may run, or another server be read, only this time."""
    KEEP = "keep"
    """Yes, for longer. A skill may be loaded until it changes or its approval is revoked, also in later
    sessions. Code may run in this session while the same skills are loaded. Another server may be read only
    this time.
    """


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The question whether the model may load this skill and read its files."""

    inspection: Inspection
    """The facts to show: the server, the files with their sizes, and the changes since the last approval."""
    acting: tuple[HostedSkill, ...] = ()
    """The skills from servers that are already loaded. One of them may have caused this request."""
    can_be_kept: bool = False
    """Whether `KEEP` lasts longer than `ONCE`.

    This requires a digest for every file or for the archive, and a host with a state.
    """

    @property
    def skill(self) -> HostedSkill:
        return self.inspection.skill

    def __str__(self) -> str:
        """Return the question with the facts to show, without control characters (H23, H27)."""
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
        yield _unlisted_files(inspection.skill)
        return
    size = "" if inspection.size is None else f" of {inspection.size:,} bytes in all"
    yield f"It has {len(files):,} file{'s' * (len(files) != 1)}{size}:"
    for file in files[:_SHOWN_FILES]:
        yield f"  {quote_if_needed(file.path)}{'' if file.size is None else f' ({file.size:,} bytes)'}"
    if (more := len(files) - _SHOWN_FILES) > 0:
        yield f"  and {more:,} more"


def _unlisted_files(skill: HostedSkill) -> str:
    """Return what is known about the files of a skill that lists none."""
    archives = [each for each in skill.deliveries if each.form is not None]
    if not archives:
        return "It has no list of files: its content can be different each time it is read."
    archive = verifiable_archive(skill) or archives[0]
    where = f"Its files are in the archive {quoted(archive.uri, _SHOWN_TEXT)}"
    if archive.digest is None:
        return f"{where}, without a digest: they can be different each time they are read."
    return f"{where}, which is fetched only after you agree. Its digest is {archive.digest}."


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    """The question whether this code may run while these skills are loaded (H21)."""

    what: str
    """The command or code to run."""
    skills: tuple[HostedSkill, ...]

    def __str__(self) -> str:
        return f"Run this while the model follows {_named(self.skills)}?\n  {quoted(self.what, _SHOWN_TEXT)}"


@dataclass(frozen=True, slots=True)
class ForeignReadRequest:
    """The question whether one server may be read while a skill from another server is loaded (H22)."""

    skills: tuple[HostedSkill, ...]
    """The loaded skills from other servers, which may have caused the read."""
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
Approver: TypeAlias = Callable[[Request], Awaitable[Answer] | Answer]
"""A function, async or not, that asks the user. Each session calls it with one request at a time."""


async def deny_all(_request: Request) -> Answer:
    """Answer no to every request. Used if there is no one to ask (H30)."""
    return Answer.NO
