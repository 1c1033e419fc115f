"""File locks between processes."""

import errno
import os
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio

if sys.platform != "win32":
    import fcntl

_RETRY_SECONDS = 0.01
_BUSY = frozenset({errno.EWOULDBLOCK, errno.EACCES})


class FileLock:
    """A lock on a file or folder.

    The system releases it when this process and all child processes that inherited it have ended.

    Windows and some network file systems do not support such locks. There, every lock is granted unless
    `try_lock` is called with `without_locks=False`, and the last writer wins.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Open `path`, except on Windows. With `create`, create a private file if there is none.

        Raises `OSError`.
        """
        self._descriptor: int | None = None
        if sys.platform == "win32":  # Windows, which cannot open folders
            return
        flags = os.O_RDWR | os.O_CREAT if create else os.O_RDONLY
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
        self._close = weakref.finalize(self, os.close, self._descriptor)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors of the lock, for a child process.

        A child process that inherits them keeps the lock even if this process is killed.
        """
        return () if self._descriptor is None else (self._descriptor,)

    def try_lock(self, *, shared: bool = False, without_locks: bool = True) -> bool:
        """Try to acquire the lock without waiting. Return whether it was granted.

        A `shared` lock excludes only locks that are not shared. If the system has no locks, or the lock was
        released before, return `without_locks`.
        """
        if sys.platform == "win32" or self._descriptor is None:
            return without_locks
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in _BUSY and without_locks
        return True

    def lock(self, *, shared: bool = False, seconds: float | None = None) -> bool:
        """Wait for the lock, for at most `seconds` if it is set. Return whether the lock was granted."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self.try_lock(shared=shared):
            if until is not None and time.monotonic() > until:
                return False
            time.sleep(_RETRY_SECONDS)
        return True

    async def acquire(self, *, seconds: float | None = None) -> bool:
        """Wait for an exclusive lock as `lock` does, without blocking other tasks."""
        with anyio.move_on_after(seconds):
            while not self.try_lock():  # noqa: ASYNC110 - no event reports a lock of another process
                await anyio.sleep(_RETRY_SECONDS)
            return True
        return False

    def release(self) -> None:
        """Release the lock, even if a child process inherited it and still runs.

        Can be called more than once.
        """
        if sys.platform == "win32" or self._descriptor is None:
            return
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._descriptor = None
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def mark_in_use(path: Path) -> FileLock | None:
    """Mark a file or folder as in use with a shared lock. Return the lock; None if the path cannot be opened.

    The mark ends when the lock is released or garbage-collected.
    """
    try:
        lock = FileLock(path)
    except OSError:
        return None
    lock.try_lock(shared=True)
    return lock


def is_in_use(path: Path) -> bool:
    """Return whether any process has marked a file or folder as in use.

    Return False if the path cannot be opened, or if the system has no locks.
    """
    try:
        with FileLock(path) as lock:
            return not lock.try_lock()
    except OSError:
        return False
