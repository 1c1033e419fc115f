"""Read files from disk safely, and detect changes by a file's stamp: size, times, inode and device."""

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
"""Nanoseconds after a write in which the file may be written again without a change to its times."""

_STAMP = struct.Struct("=qqqQQ")
_pack = _STAMP.pack
OutOfRangeError = struct.error
"""The exception for a time that does not fit into a packed stamp."""
PACKED_STAMP_SIZE = _STAMP.size
"""Number of bytes in a packed stamp."""
_NO_SIZE = -1
UNSETTLED = bytes(PACKED_STAMP_SIZE)
"""The stamp of a file that may still change without a change to its times. No real file has this stamp."""
# Non-blocking, because a listed file may have been replaced with a pipe.
OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_MIN_READ_BYTES = 4096
"""Minimum number of bytes to read at once. Files in /proc have the size 0."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class Stamp(NamedTuple):
    """The identity, size and times of a file. The stamp changes whenever a settled file changes."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    device: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)

    def settled(self, now_ns: int) -> bool:
        """Return whether the last change is long enough ago for the stamp to be reliable."""
        return now_ns - max(self.modified_ns, self.changed_ns) > _SETTLED_AFTER_NS


def packed(status: os.stat_result) -> bytes:
    """Encode the stamp of a file or folder in a few bytes. Raises `OutOfRangeError`.

    The stamp of a folder changes whenever an entry is added, removed or renamed. Some file systems do not
    guarantee this; see `FolderWalk.has_reliable_mtime`.
    """
    return _pack(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)


def pack_settled_stamps(statuses: Iterable[os.stat_result], now_ns: int) -> bytes:
    """Return the packed stamps. A stamp that is too recent to be reliable never equals a later one."""
    before = now_ns - _SETTLED_AFTER_NS
    return b"".join(
        packed(each)
        if each.st_mtime_ns < before and each.st_ctime_ns < before
        else _pack(_NO_SIZE, 0, 0, each.st_ino, each.st_dev)
        for each in statuses
    )


def identity_in_stamp(stamps: bytes) -> tuple[int, int]:
    """Return the device and inode in the first packed stamp, even if it has not settled."""
    *_, inode, device = _STAMP.unpack_from(stamps)
    return device, inode


def raise_if_exhausted(error: OSError) -> None:
    """Raise `SourceBusyError` if the cause of `error` is a lack of file descriptors or memory."""
    if error.errno in _EXHAUSTED:
        raise SourceBusyError((error.strerror or "out of resources").lower()) from error


def make_executable(descriptor: int) -> None:
    """Allow everyone who may read a file to execute it. Does nothing on systems without that permission."""
    if hasattr(os, "fchmod"):
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        os.fchmod(descriptor, mode | (mode & 0o444) >> 2)


def read_file(location: str, limit: int, listed: Stamp | None = None) -> tuple[bytes, Stamp | None]:
    """Return the bytes of a regular file and its stamp. The stamp is None if the size does not match.

    If a file is longer than `limit`, only the first `limit` + 1 bytes are returned. With `listed`, only the
    file with the inode and device of that stamp is read, because a link that was checked when the file was
    listed may now point to a different file. Raises `SourceError`.

    A settled stamp is not compared with the stamp after reading. A write during the read changes the times,
    so the next scan finds a different stamp and reads the file again.
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


def read_unchanged(location: str, size: int) -> bytes | None:
    """Return the bytes of a regular file of exactly this size, or None for any other file or an error."""
    try:
        descriptor = os.open(location, OPEN_FLAGS)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = os.read(descriptor, size + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content if len(content) == size else None


def _read(descriptor: int, size: int, *, left: int) -> bytes:
    at_once = max(size + 1, _MIN_READ_BYTES)
    pieces: list[bytes] = []
    while left and (piece := os.read(descriptor, min(left, at_once))):
        if len(piece) == size:  # complete; if the file has grown since, its stamp has changed
            return piece
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or type(error).__name__).lower()}"


class FileValidator(Validator):
    """A validator that is current while a settled file keeps its stamp.

    The validator does not notice writes through a memory map whose pages are already dirty. The system
    updates the times at the first such write, and then not again until it has written the pages back.
    """

    __slots__ = ("_changed", "_identity", "_location", "_modified")

    def __init__(self, location: str, stamp: Stamp) -> None:
        self._location = os.fsencode(location)  # encoded once instead of at every call
        self._changed, self._modified = stamp.changed_ns, stamp.modified_ns
        self._identity = stamp.inode, stamp.device, stamp.size

    @classmethod
    def of(cls, location: str, size: int) -> "FileValidator | None":
        """Return a validator for a regular file of this size; None if it is missing or changed recently."""
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
