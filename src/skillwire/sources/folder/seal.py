"""Whether a file is still what it was, told without reading it."""

import os
import stat
import time

from skillwire.sources.base import Seal
from skillwire.sources.folder.stamp import Stamp


class FileSeal(Seal):
    """Holds for as long as a file keeps the stamp that it had when it had settled."""

    __slots__ = ("_location", "_stamp")

    def __init__(self, location: str, stamp: Stamp) -> None:
        self._location = location
        self._stamp = stamp

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
            return Stamp.of(os.stat(self._location)) == self._stamp  # noqa: PTH116 - a hot path
        except OSError:
            return False
