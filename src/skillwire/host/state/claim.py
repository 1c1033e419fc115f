"""Who uses the state: several processes may, and one that is alone may put things in order."""

import errno
import os
import sys
import time
from pathlib import Path

from skillwire.host.state.folder import make_private_file
from skillwire.model.display import quoted
from skillwire.model.errors import StateError

if sys.platform != "win32":
    import fcntl

PATIENCE = 10.0
"""Seconds that one process waits for another."""
_LOOK_AGAIN = 0.01
_BUSY = frozenset({errno.EWOULDBLOCK, errno.EACCES})


class Claim:
    """A claim on the state, which ends with the process, however that ends.

    It begins as the only one if nobody else has one, and then `share` lets others in.
    """

    def __init__(self, path: Path) -> None:
        """Claim what the lock file `path` stands for. Raises `StateError` or `OSError`."""
        make_private_file(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._path = path
        self.alone = True
        if sys.platform != "win32":  # there are no locks, but nobody can move what another one uses
            self.alone = self._try(fcntl.LOCK_EX)
        if not self.alone:
            self.share()

    def share(self) -> None:
        """Let others in, or wait for whoever puts things in order just now. Raises `StateError`."""
        self.alone = False
        if sys.platform == "win32":
            return
        until = time.monotonic() + PATIENCE
        while not self._try(fcntl.LOCK_SH):
            if time.monotonic() > until:
                self.close()
                told = f"another process has kept {quoted(str(self._path))} for {PATIENCE:.0f} seconds"
                raise StateError(told, hint="end it, or try again")
            time.sleep(_LOOK_AGAIN)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _try(self, kind: int) -> bool:
        if sys.platform == "win32":
            return False
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in _BUSY and kind == fcntl.LOCK_SH  # no locks here: nobody is ever alone
        return True
