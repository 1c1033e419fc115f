"""The mark by which a changed file is known without reading it."""

import os
from typing import NamedTuple

_SETTLED_AFTER_NS = 2_000_000_000
"""A file written so recently may be written again without its times moving."""


class Stamp(NamedTuple):
    """Differs whenever a file differs, once the file has settled."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)

    def settled(self, now_ns: int) -> bool:
        """Whether the file has been left alone long enough for the mark to be trusted."""
        return now_ns - max(self.modified_ns, self.changed_ns) > _SETTLED_AFTER_NS
