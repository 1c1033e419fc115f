"""`PlainSkill`: a skill folder with one skill and no links, kept in as little memory as possible."""

import os
from typing import cast

from skillwire.core.names import SKILL_FILE, skill_uri
from skillwire.core.problem import Problem
from skillwire.core.record import Origin, SkillFile, SkillRecord, Trust
from skillwire.errors import IntegrityError, SourceError
from skillwire.frontmatter.document import SkillDocument
from skillwire.sources.base import Locations
from skillwire.sources.folder.files import (
    PACKED_STAMP_SIZE,
    UNSETTLED,
    OutOfRangeError,
    identity_in_stamp,
    packed,
    read_file,
)
from skillwire.sources.folder.last_good import LastGood, Spilled, SpillFile
from skillwire.sources.folder.listing import Folder, join_location
from skillwire.sources.folder.skill_folder import EMPTY_MAPPING, SkillDraft, without_containers

_MARKER = f"/{SKILL_FILE}"


class PlainSkill:
    """A skill folder that the fast reader read in one pass.

    It has the same interface as `SkillFolder`. A large source has very many plain skills, so everything that
    follows from the record or the stamps is computed when it is needed. Instances are never equal.
    """

    __slots__ = ("entry_count", "kept", "record", "stamps", "trail")

    problems: tuple[Problem, ...] = ()
    entered_all = True
    locations: tuple[str, ...] = ()

    def __init__(
        self,
        record: SkillRecord,
        trail: frozenset[tuple[int, int]],
        entry_count: int,
        stamps: bytes,
        content: bytes | None = None,
    ) -> None:
        """`content` is the content of the `SKILL.md`, if it was read and its last good version is kept."""
        self.record = record
        """The record of the skill, if it is published at its usual path."""
        self.trail = trail
        """The trail of the folder. All folders beside it share this object."""
        self.entry_count = entry_count
        """Number of files and folders in the skill's folder, at any depth."""
        self.stamps = stamps
        """Packed stamps of the skill's folder, its subfolders and its files, in the order of the record."""
        self.kept: bytes | int | LastGood | None = content
        """The last good content of the `SKILL.md`: its bytes, its offset in the spill file, or None if it
        was not read yet.
        """

    @property
    def path(self) -> str:
        """The path of the folder below the root."""
        return self.record.origin.path[: -len(_MARKER)]

    @property
    def location(self) -> str:
        return self.record.origin.location

    @property
    def folder(self) -> Folder:
        path, location = self.path, self.location
        depth = path.count("/") + 1 if path else 0
        return Folder(path, location, identity_in_stamp(self.stamps), path, location, depth, self.trail)

    @property
    def folders(self) -> tuple[str, ...]:
        """The locations of this folder and its subfolders."""
        own = self.location
        return (own, *(join_location(own, path) for path in self.record.directories))

    @property
    def files(self) -> tuple[SkillFile, ...]:
        """All files, which have digests."""
        return cast("tuple[SkillFile, ...]", self.record.files)

    @property
    def document(self) -> SkillDocument:
        return SkillDocument(self.record.frontmatter, self.record.problems)

    @property
    def shape(self) -> tuple[tuple[str, str], ...]:
        """The folder and name of the skill, which determine the skill's path."""
        return (("", self.record.name),)

    def draft(self, below: str, spill_file: SpillFile | None = None) -> SkillDraft | None:
        """Return the skill if `below` is empty. With `spill_file`, include its last good content."""
        if below:
            return None
        return SkillDraft(
            below="",
            location=self.location,
            where=self.record.origin.path,
            document=self.document,
            files=self.files,
            directories=self.record.directories,
            warnings=(),
            stored=EMPTY_MAPPING,
            last_good=None if spill_file is None else self._last_good(spill_file),
        )

    def placed(self, base: str, _label: str) -> tuple[SkillRecord, ...]:
        """Return the record of the skill if this folder is published at the path `base`."""
        if base == without_containers(self.path):
            return (self.record,)
        record = self.record
        document, origin = self.document, record.origin
        return (plain_record(document, base, self.files, record.directories, origin),)

    @property
    def last_goods(self) -> tuple["PlainSkill"]:
        """The objects with the last good contents."""
        return (self,)

    def unspilled(self) -> bytes | None:
        kept = self._read() if self.kept is None else self.kept
        return kept if isinstance(kept, bytes) else None

    def set_spilled(self, spilled: Spilled, length: int, spill_file: SpillFile) -> None:
        fits = isinstance(spilled, int)
        self.kept = spilled if fits else LastGood.spilled(spilled, length, spill_file)

    def is_current(self, own_stamp: bytes | None = None) -> bool:
        """Return whether every file and folder still has the same stamp.

        `own_stamp` is the packed stamp of the skill's folder, if the caller has it.
        """
        if own_stamp is not None and not self.stamps.startswith(own_stamp):
            return False
        record, location = self.record, self.record.origin.location
        try:
            found = [packed(os.lstat(location)) if own_stamp is None else own_stamp]
            found.extend([packed(os.lstat(f"{location}/{path}")) for path in record.directories])
            found.extend([packed(os.lstat(f"{location}/{file.path}")) for file in record.files])
        except (OSError, OutOfRangeError):
            return False
        return b"".join(found) == self.stamps

    def distrust_stamps(self, where: Locations) -> "PlainSkill":
        """Return the same skill with the stamps of files at these locations marked as unsettled."""
        known, location = self.known_files(), self.location
        if where.isdisjoint(f"{location}/{path}" for path in known):
            return self
        files = (UNSETTLED if f"{location}/{path}" in where else each for path, (each, _) in known.items())
        return self._with_stamps(b"".join((self.stamps[: -len(known) * PACKED_STAMP_SIZE], *files)))

    def known_files(self) -> dict[str, tuple[bytes, SkillFile]]:
        """Return the packed stamp and the record of each file, by path."""
        stamps = self.stamps[(1 + len(self.record.directories)) * PACKED_STAMP_SIZE :]
        return {
            file.path: (stamps[at : at + PACKED_STAMP_SIZE], file)
            for at, file in zip(range(0, len(stamps), PACKED_STAMP_SIZE), self.files, strict=True)
        }

    def keep_record(self, before: "PlainSkill") -> bool:
        """If this is the same skill as `before`, use its record and its last good content.

        Return whether it is the same.
        """
        if self.record != before.record:
            return False
        self.record = before.record
        if before.kept is not None:
            self.kept = before.kept
        return True

    def _with_stamps(self, stamps: bytes) -> "PlainSkill":
        copy = PlainSkill(self.record, self.trail, self.entry_count, stamps)
        copy.kept = self.kept
        return copy

    def _last_good(self, spill_file: SpillFile) -> LastGood:
        kept, main = self.kept, self.files[0]
        if isinstance(kept, LastGood):
            return kept
        if isinstance(kept, bytes):
            return LastGood(kept, spill_file)
        if isinstance(kept, int):
            return LastGood.spilled(kept, main.size, spill_file)
        location = join_location(self.location, SKILL_FILE)
        return LastGood.from_file(location, main.size, main.digest, spill_file)

    def _read(self) -> bytes | None:
        """Return the content of the `SKILL.md`, or None if it has changed."""
        main = self.files[0]
        try:
            content, _ = read_file(join_location(self.location, SKILL_FILE), main.size)
            return main.verify(content, self.record.uri)
        except (SourceError, IntegrityError):
            return None


def plain_record(
    document: SkillDocument,
    base: str,
    files: tuple[SkillFile, ...],
    directories: tuple[str, ...],
    origin: Origin,
) -> SkillRecord:
    """Return the record of a skill whose folder is published at the path `base`.

    The files and the directories are sorted, the `SKILL.md` first. The skill is trusted.
    """
    assert document.frontmatter is not None, "only a servable document becomes a record"
    name = str(document.frontmatter["name"])
    path = base if base.rpartition("/")[2] == name else f"{base}/{name}" if base else name
    return SkillRecord(
        skill_uri(path), document.frontmatter, files, directories, origin, document.problems, trust=Trust.OWN
    )
