"""Whether a file is still what it was, told without reading it."""

import os
import stat
import time

from skillwire.sources.base import Seal
from skillwire.sources.folder.stamp import Stamp


class FileSeal(Seal):
    """Holds for as long as a file keeps the stamp that it had when it had settled.

    What it cannot see: writes through a memory map whose pages are dirty already. The system moves the times
    at the first of them, and then not before it has written the pages back.
    """

    __slots__ = ("_changed", "_location", "_modified", "_where")

    def __init__(self, location: str, stamp: Stamp) -> None:
        self._location = os.fsencode(location)  # spares the system call an encoding
        self._changed, self._modified = stamp.changed_ns, stamp.modified_ns
        self._where = stamp.inode, stamp.device, stamp.size

    @classmethod
    def of(cls, location: str, size: int) -> "FileSeal | None":
        """Return the seal of a file of this size; None if it is none, or may change without a trace."""
        try:
            status = os.stat(location)  # noqa: PTH116 - a hot path
        except OSError:
            return None
        stamp = Stamp.of(status)
        whole = stat.S_ISREG(status.st_mode) and stamp.size == size
        return cls(location, stamp) if whole and stamp.settled(time.time_ns()) else None

    def holds(self) -> bool:
        try:
            now = os.stat(self._location)  # noqa: PTH116 - a hot path, so field by field
        except OSError:
            return False
        return (
            now.st_ctime_ns == self._changed
            and now.st_mtime_ns == self._modified
            and (now.st_ino, now.st_dev, now.st_size) == self._where
        )
