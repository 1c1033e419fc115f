"""The private folder of the state: create it, check it, and lock it between processes."""

import os
import sys
from pathlib import Path

from skillwire.core.file_lock import FileLock
from skillwire.errors import StateError
from skillwire.safe_text import quoted

_PRIVATE_DIR_MODE = 0o700
_PRIVATE_FILE_MODE = 0o600
_OTHER_USERS_MASK = 0o077
STATE_DIR_HINT = "name another folder with `SKILLWIRE_STATE_DIR`"
PATIENCE = 10.0
"""Seconds to wait for another process."""


def make_private(folder: Path, known_by: str) -> None:
    """Create `folder`, or restrict access to the current user. Raises `StateError`.

    An existing folder that other users can access is restricted only if it is empty or contains a file or
    folder `known_by`. Any other such folder has a different purpose, and is refused.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_DIR_MODE)
        found = folder.stat()
        if sys.platform == "win32":  # folders of a user are already private
            return
        if found.st_uid != os.geteuid():
            raise StateError(f"the folder {quoted(str(folder))} belongs to another user", hint=STATE_DIR_HINT)
        if found.st_mode & _OTHER_USERS_MASK:
            if not (folder / known_by).exists() and any(folder.iterdir()):
                message = f"the folder {quoted(str(folder))} has other files, and other users can access it"
                raise StateError(message, hint=f"{STATE_DIR_HINT}, one that does not exist yet")
            folder.chmod(_PRIVATE_DIR_MODE)
    except OSError as error:
        message = f"cannot use the folder {quoted(str(folder))}: {error.strerror or error}"
        raise StateError(message, hint=STATE_DIR_HINT) from error


def make_private_file(path: Path) -> None:
    """Create an empty file, or restrict access to an existing file to the current user. Raises `OSError`."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE_MODE))
    if sys.platform != "win32" and path.stat().st_mode & _OTHER_USERS_MASK:
        path.chmod(_PRIVATE_FILE_MODE)


def require_separate(state: Path, skills: Path) -> None:
    """Raise `StateError` if the two folders are the same, or if one is inside the other.

    A cached file must never be found as a skill (H24). The folders need not exist. Symbolic links are
    followed.
    """
    for inner, outer in ((state, skills), (skills, state)):
        if _is_inside(inner, outer):
            raise StateError(
                f"the state folder {quoted(str(state))} and the skills folder {quoted(str(skills))} overlap",
                hint=f"use a folder of skills elsewhere, or {STATE_DIR_HINT}",
            )


def _is_inside(inner: Path, outer: Path) -> bool:
    place, other = inner.resolve(), outer.resolve()
    return any(
        place_above == other or _is_same(place_above, other) for place_above in (place, *place.parents)
    )


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same folder, as `Skills` and `skills` do on some file systems."""
    try:
        return one.samefile(other)
    except OSError:
        return False


class StateLock:
    """A lock on the state folder. It is released when the process ends, however it ends.

    The lock is exclusive at first if no other process has a lock; otherwise, it is shared. `share` makes it
    shared.
    """

    def __init__(self, path: Path) -> None:
        """Lock the file `path`. Raises `StateError` or `OSError`."""
        make_private_file(path)
        self._lock = FileLock(path)
        self._path = path
        # Without file locks, assume that other processes use the state. On Windows, this is not needed,
        # because files in use cannot be moved.
        self.exclusive = self._lock.try_lock(without_locks=sys.platform == "win32")
        if not self.exclusive:
            self.share()

    def share(self) -> None:
        """Make the lock shared. Waits while another process has an exclusive lock. Raises `StateError`."""
        self.exclusive = False
        if not self._lock.lock(shared=True, seconds=PATIENCE):
            self.close()
            message = f"another process has locked {quoted(str(self._path))} for {PATIENCE:.0f} seconds"
            raise StateError(message, hint="end that process, or try again")

    def close(self) -> None:
        self._lock.release()
