"""Reading a file of somebody's disk: all of it or an error, and never a wait."""

import errno
import os
import stat

from skillwire.model.errors import CannotLookNowError, SourceError
from skillwire.sources.folder.stamp import Stamp

# Non-blocking: what was a file when it was listed may be a pipe by now.
OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)


_AT_LEAST = 4096
"""How much to read at once where the size says nothing, as in /proc."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def raise_if_exhausted(error: OSError) -> None:
    """Raise `CannotLookNowError` if an error tells of this machine and this moment, not of the file."""
    if error.errno in _EXHAUSTED:
        raise CannotLookNowError((error.strerror or "out of resources").lower()) from error


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
