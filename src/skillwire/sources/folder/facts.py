"""The facts about each file, such as its digest, cached so that an unchanged file is not read again."""

import time
from dataclasses import dataclass
from typing import TypeAlias

from skillwire.core.mime import is_text, mime_type, mime_type_from_name
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Digest, SkillFile
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.sources.folder.files import Stamp, read_file
from skillwire.sources.folder.last_good import LastGood, Spillable, SpillFile, spill_all
from skillwire.sources.folder.listing import File

_MAX_KEPT_BYTES = 16 * 1024 * 1024
"""Maximum number of bytes of last good contents that stay in memory during a scan."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts about one file: its digest, size and type, and for a `SKILL.md` the parsed document."""

    digest: Digest
    size: int
    mime_type: str
    document: SkillDocument | None = None
    """The parsed document. Only for a `SKILL.md`."""
    last_good: LastGood | None = None
    """The content of a `SKILL.md`, if the source can fall back to its last good version."""

    def as_file(self, path: str, *, executable: bool) -> SkillFile:
        """Return the file as a skill's file at `path`."""
        return SkillFile(path, self.mime_type, self.digest, self.size, executable)


KnownFile: TypeAlias = tuple[Stamp, FileFacts]
"""The stamp of a file when it was read, and the facts about the file."""


class FileFactsCache:
    """The facts of each file, valid while its stamp is unchanged."""

    def __init__(self, spill_file: SpillFile | None = None) -> None:
        """Create an empty cache. With `spill_file`, the content of each `SKILL.md` is also retained."""
        self.spill_file = spill_file
        self.known: dict[str, KnownFile] = {}
        """Facts by the location of the file."""
        self.changed = False
        """Whether a file was read, so that the scan cache on disk is out of date."""
        self._read_in_this_scan: dict[str, FileFacts] = {}
        self._kept: list[Spillable] = []
        self._kept_bytes = 0

    def begin(self) -> None:
        """Start a new scan, in which files that have not settled are read again."""
        self._read_in_this_scan.clear()
        self._kept, self._kept_bytes = [], 0

    def note_kept(self, item: Spillable, size: int) -> None:
        """Note that an item holds `size` bytes that were read now. If there are very many, spill them.

        Otherwise, they are spilled after the scan, which then ends sooner.
        """
        self._kept.append(item)
        self._kept_bytes += size
        if self._kept_bytes > _MAX_KEPT_BYTES and self.spill_file is not None:
            kept, self._kept, self._kept_bytes = self._kept, [], 0
            spill_all(kept, self.spill_file)

    def of(self, file: File, *, limit: int) -> FileFacts:
        """Return the facts of `file`. Read it if it changed or has not settled. Raises `SourceError`."""
        stamp, facts = self.known.get(file.location, (None, None))
        if facts is not None and stamp == file.stamp:
            return facts
        # Within one scan, a file has one content, even if several skills share it (S16).
        if (facts := self._read_in_this_scan.get(file.location)) is not None:
            return facts
        self.changed = True
        content, stamp = read_file(file.location, limit, file.stamp)
        is_document = file.name.upper() == SKILL_FILE.upper()
        facts = FileFacts(
            Digest.of(content),
            file.stamp.size if file.stamp.size == len(content) else len(content),  # share the int object
            mime_type_from_name(file.path) or mime_type(file.path, text=is_text(content)),
            read_document(content, file.path, file.folder) if is_document else None,
            LastGood(content, self.spill_file) if is_document and self.spill_file is not None else None,
        )
        if facts.last_good is not None:
            self.note_kept(facts.last_good, len(content))
        if stamp is not None and stamp.settled(time.time_ns()):
            self.known[file.location] = (stamp, facts)
        else:
            self.forget(file.location)
            self._read_in_this_scan[file.location] = facts
        return facts

    def forget(self, location: str) -> None:
        """Drop the facts of a file that changed or is gone."""
        self.known.pop(location, None)

    def keep_only(self, locations: set[str]) -> None:
        """Drop the facts of all files that are not at `locations`."""
        self.known = {location: known for location, known in self.known.items() if location in locations}
