"""Folders that some process serves from: nobody may throw them away meanwhile."""

import os
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl


class Hold:
    """Holds on to a folder until it is released or forgotten, or the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._close: Callable[[], object] = lambda: None
        if sys.platform == "win32":  # without locks: there, one process uses one cache
            return
        with suppress(OSError):  # some network file systems have no locks
            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            self._close = weakref.finalize(self, os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def release(self) -> None:
        self._close()


def is_held(folder: Path) -> bool:
    """Whether anybody holds on to a folder."""
    if sys.platform == "win32":
        return False
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no locks here
        return False
    finally:
        os.close(descriptor)
    return False
