"""Read a file from disk safely, and detect by its stamp (size, times, inode) that it has changed."""

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
"""A file written this recently may be written again without a change of its times."""

_STAMP = struct.Struct("=qqqQQ")
_pack = _STAMP.pack
OutOfRangeError = struct.error
"""Raised for a time that does not fit into a packed stamp."""
PACKED_STAMP_SIZE = _STAMP.size
"""Bytes of a packed stamp."""
UNSETTLED = bytes(PACKED_STAMP_SIZE)
"""Stamp of a file that may still change without a change of its times. No real file has it."""
# Non-blocking: what was listed as a file may have been replaced by a pipe.
OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_MIN_READ_BYTES = 4096
"""Bytes to read at once at least. Files in /proc have the size 0."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class Stamp(NamedTuple):
    """Identity, size and times of a file. It changes whenever a settled file changes."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)

    def settled(self, now_ns: int) -> bool:
        """Whether the last change is long enough ago for the stamp to be trusted."""
        return now_ns - max(self.modified_ns, self.changed_ns) > _SETTLED_AFTER_NS


def packed(status: os.stat_result) -> bytes:
    """Return the stamp of a file or folder as a few bytes. Raises `OutOfRangeError`.

    The stamp of a folder changes whenever an entry is added, removed or renamed. Some file systems do not
    guarantee that: see `FolderWalk.has_reliable_mtime`.
    """
    return _pack(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)


def pack_settled_stamps(statuses: Iterable[os.stat_result], now_ns: int) -> list[bytes]:
    """Return the packed stamps, with `UNSETTLED` for each that is too recent to be trusted."""
    before = now_ns - _SETTLED_AFTER_NS
    return [
        packed(each) if each.st_mtime_ns < before and each.st_ctime_ns < before else UNSETTLED
        for each in statuses
    ]


def raise_if_exhausted(error: OSError) -> None:
    """Raise `SourceBusyError` if the machine is out of descriptors or memory: the file is not at fault."""
    if error.errno in _EXHAUSTED:
        raise SourceBusyError((error.strerror or "out of resources").lower()) from error


def make_executable(descriptor: int) -> None:
    """Allow everyone who may read a file to execute it. Does nothing on systems without that permission."""
    if hasattr(os, "fchmod"):
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        os.fchmod(descriptor, mode | (mode & 0o444) >> 2)


def read_file(location: str, limit: int, listed: Stamp | None = None) -> tuple[bytes, Stamp | None]:
    """Return the bytes of a regular file and its stamp, or None for the stamp if the size does not match.

    Of a file longer than `limit`, return the first `limit` bytes and one more. With `listed`, read only the
    file that had this stamp: the target of a link was checked then, and the link may point elsewhere now.
    Raises `SourceError`.

    A settled stamp is not compared with the stamp after reading. A write during the read changes the times,
    so the next scan finds another stamp and reads the file again.
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
        if listed is not None and (status.st_ino, status.st_dev) != (listed.inode, listed.device):
            raise SourceError("was replaced by another file during the scan")
        content = _read(descriptor, status.st_size, left=limit + 1)
    except OSError as error:
        raise_if_exhausted(error)
        raise SourceError(_reason(error)) from error
    finally:
        os.close(descriptor)
    stamp = Stamp.of(status)
    return content, stamp if stamp.size == len(content) else None


def _read(descriptor: int, size: int, *, left: int) -> bytes:
    at_once = max(size + 1, _MIN_READ_BYTES)
    pieces: list[bytes] = []
    while left and (piece := os.read(descriptor, min(left, at_once))):
        if len(piece) == size:  # complete: if the file has grown since, its stamp has changed
            return piece
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or type(error).__name__).lower()}"


class FileValidator(Validator):
    """Validator that is current while a settled file keeps its stamp.

    It does not notice writes through a memory map whose pages are already dirty: the system updates the times
    at the first such write, and then not until it has written the pages back.
    """

    __slots__ = ("_changed", "_identity", "_location", "_modified")

    def __init__(self, location: str, stamp: Stamp) -> None:
        self._location = os.fsencode(location)  # encoded once, not at every call
        self._changed, self._modified = stamp.changed_ns, stamp.modified_ns
        self._identity = stamp.inode, stamp.device, stamp.size

    @classmethod
    def of(cls, location: str, size: int) -> "FileValidator | None":
        """Return the validator of a regular file of this size, or None if its stamp cannot be trusted yet."""
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
            and (now.st_ino, now.st_dev, now.st_size) == self._identity
        )
