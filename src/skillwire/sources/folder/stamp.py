"""The mark by which a changed file or folder is known without looking into it."""

import os
import struct
from collections.abc import Iterable
from typing import NamedTuple

_SETTLED_AFTER_NS = 2_000_000_000
"""A file written so recently may be written again without its times moving."""

_STAMP = struct.Struct("=qqqQQ")
_pack = _STAMP.pack
OutOfRangeError = struct.error
"""Raised for times further away than anybody needs."""
PACKED = _STAMP.size
"""Bytes of a packed stamp."""
UNSETTLED = bytes(PACKED)
"""Stands for the stamp of what may still change without a trace: no file has it."""


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


def packed(status: os.stat_result) -> bytes:
    """Return the stamp in a few bytes, for where there are very many. Raises `OutOfRangeError`.

    That of a folder differs whenever something comes into it, goes, or gets another name; not on every file
    system, as `folder_times` knows.
    """
    return _pack(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)


def packed_if_settled(statuses: Iterable[os.stat_result], now_ns: int) -> list[bytes]:
    """Return the packed stamps of several; `UNSETTLED` for what was changed too recently to be trusted."""
    before = now_ns - _SETTLED_AFTER_NS
    return [
        packed(each) if each.st_mtime_ns < before and each.st_ctime_ns < before else UNSETTLED
        for each in statuses
    ]
