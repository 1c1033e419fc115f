"""A plain skill folder, known again without a look inside: by the stamps of all that is in it."""

import os
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from skillwire.model.entry import SkillFile
from skillwire.sources.base import Locations
from skillwire.sources.folder.stamp import PACKED, UNSETTLED, OutOfRangeError, packed
from skillwire.sources.folder.unit import NOTHING, SkillDraft, Unit
from skillwire.sources.folder.values import Folder


class Plain(NamedTuple):
    """A plain skill, and the stamps of all that it was read from."""

    draft: SkillDraft
    seen: int
    """How many files and folders stand in its folder, at any depth."""
    stamps: bytes
    """Of its folder, the folders in it and its files, in the order in which the draft has them."""

    @classmethod
    def of(cls, draft: SkillDraft, seen: int, folders: Iterable[bytes], files: Iterable[bytes]) -> "Plain":
        """Return the skill with the packed stamps of its folders, the skill's own first, and of its files."""
        return cls(draft, seen, b"".join((*folders, *files)))

    def unit(self, folder: Folder) -> Unit:
        return Unit(folder, (self.draft,), (), entered_all=True, seen=self.seen, held=NOTHING)

    def holds(self) -> bool:
        """Whether nothing has changed since: not one file or folder has another stamp."""
        location = self.draft.location
        inside = chain(self.draft.directories, (file.path for file in self.draft.files))
        try:
            found = [packed(os.lstat(location))]
            found.extend([packed(os.lstat(f"{location}/{path}")) for path in inside])
        except (OSError, OutOfRangeError):
            return False
        return b"".join(found) == self.stamps

    def doubting(self, where: Locations) -> "Plain":
        """Return the same, not trusting the stamps of files at these locations."""
        known, location = self.known_files(), self.draft.location
        if where.isdisjoint(f"{location}/{path}" for path in known):
            return self
        stamps = (UNSETTLED if f"{location}/{path}" in where else each for path, (each, _) in known.items())
        return self._replace(stamps=b"".join((self.stamps[: -len(known) * PACKED], *stamps)))

    def known_files(self) -> dict[str, tuple[bytes, SkillFile]]:
        """Return each file with its stamp, by its path."""
        stamps = self.stamps[(1 + len(self.draft.directories)) * PACKED :]
        return {
            file.path: (stamps[at : at + PACKED], file)
            for at, file in zip(range(0, len(stamps), PACKED), self.draft.files, strict=True)
        }
