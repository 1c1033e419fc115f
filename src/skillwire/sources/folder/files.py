"""Read a file from disk safely, and tell by its stamp whether it has changed since."""

import errno
import os
import stat
import struct
import time
from collections.abc import Iterable
from typing import NamedTuple

from skillwire.errors import SourceBusyError, SourceError
from skillwire.sources.base import Validator

_SETTLED_AFTER_NS = 2_000_000_000
"""A file written so recently may be written again without its times moving."""

_STAMP = struct.Struct("=qqqQQ")
_pack = _STAMP.pack
OutOfRangeError = struct.error
"""Raised for times further away than anybody needs."""
PACKED_STAMP_SIZE = _STAMP.size
"""Bytes of a packed stamp."""
UNSETTLED = bytes(PACKED_STAMP_SIZE)
"""Stands for the stamp of what may still change without a trace: no file has it."""
# Non-blocking: what was a file when it was listed may be a pipe by now.
OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_AT_LEAST = 4096
"""How much to read at once where the size says nothing, as in /proc."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


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


def pack_settled_stamps(statuses: Iterable[os.stat_result], now_ns: int) -> list[bytes]:
    """Return the packed stamps of several; `UNSETTLED` for what was changed too recently to be trusted."""
    before = now_ns - _SETTLED_AFTER_NS
    return [
        packed(each) if each.st_mtime_ns < before and each.st_ctime_ns < before else UNSETTLED
        for each in statuses
    ]


def raise_if_exhausted(error: OSError) -> None:
    """Raise `SourceBusyError` if an error tells of this machine and this moment, not of the file."""
    if error.errno in _EXHAUSTED:
        raise SourceBusyError((error.strerror or "out of resources").lower()) from error


def make_executable(descriptor: int) -> None:
    """Let those run a file who may read it. Does nothing where the system knows no such permission."""
    if hasattr(os, "fchmod"):
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        os.fchmod(descriptor, mode | (mode & 0o444) >> 2)


def read_file(location: str, limit: int, seen: Stamp | None = None) -> tuple[bytes, Stamp | None]:
    """Return the bytes of a regular file, and its stamp if that is of these bytes. Raises `SourceError`.

    Of a file that is longer than `limit`, the first `limit` bytes and one more. With `seen`, only the very
    file that had this stamp: links were judged then, and another file may be where a link leads now.

    A stamp that has settled need not be compared with the one after reading: whoever writes meanwhile moves
    the times, so that the next look finds another stamp and reads again.
    """
    try:
        descriptor = os.open(location, OPEN_FLAGS)
    except OSError as error:
        raise_if_exhausted(error)
        raise SourceError(_reason(error)) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError("is not a regular file")
        if seen is not None and (status.st_ino, status.st_dev) != (seen.inode, seen.device):
            raise SourceError("was replaced by another file while it was looked at")
        content = _read(descriptor, status.st_size, left=limit + 1)
    except OSError as error:
        raise_if_exhausted(error)
        raise SourceError(_reason(error)) from error
    finally:
        os.close(descriptor)
    stamp = Stamp.of(status)
    return content, stamp if stamp.size == len(content) else None


def _read(descriptor: int, size: int, *, left: int) -> bytes:
    at_once = max(size + 1, _AT_LEAST)
    pieces: list[bytes] = []
    while left and (piece := os.read(descriptor, min(left, at_once))):
        if len(piece) == size:  # all that there should be: a longer file has another stamp
            return piece
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or type(error).__name__).lower()}"


class FileValidator(Validator):
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
    def of(cls, location: str, size: int) -> "FileValidator | None":
        """Return the seal of a file of this size; None if it is none, or may change without a trace."""
        try:
            status = os.stat(location)  # noqa: PTH116 - a hot path
        except OSError:
            return None
        stamp = Stamp.of(status)
        whole = stat.S_ISREG(status.st_mode) and stamp.size == size
        return cls(location, stamp) if whole and stamp.settled(time.time_ns()) else None

    def is_current(self) -> bool:
        try:
            now = os.stat(self._location)  # noqa: PTH116 - a hot path, so field by field
        except OSError:
            return False
        return (
            now.st_ctime_ns == self._changed
            and now.st_mtime_ns == self._modified
            and (now.st_ino, now.st_dev, now.st_size) == self._where
        )
