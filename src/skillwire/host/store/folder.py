"""The private folder of the state, and the lock on it that processes share."""

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
"""Seconds that one process waits for another."""


def make_private(folder: Path, known_by: str) -> None:
    """Make `folder`, or make sure that only we may enter it. Raises `StateError`.

    A folder that others may enter is taken only if it is empty or holds the file `known_by`: else it is
    somebody's folder for something else, and not ours to close.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_DIR_MODE)
        found = folder.stat()
        if sys.platform == "win32":  # where the person's own folders are closed already
            return
        if found.st_uid != os.geteuid():
            raise StateError(f"the folder {quoted(str(folder))} belongs to another user", hint=STATE_DIR_HINT)
        if found.st_mode & _OTHER_USERS_MASK:
            if not (folder / known_by).exists() and any(folder.iterdir()):
                message = f"the folder {quoted(str(folder))} holds other files, and others may enter it"
                raise StateError(message, hint=f"{STATE_DIR_HINT}, one that does not exist yet")
            folder.chmod(_PRIVATE_DIR_MODE)
    except OSError as error:
        message = f"the folder {quoted(str(folder))} cannot be used: {error.strerror or error}"
        raise StateError(message, hint=STATE_DIR_HINT) from error


def make_private_file(path: Path) -> None:
    """Make an empty file that only we may read, or close one that is there. Raises `OSError`."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE_MODE))
    if sys.platform != "win32" and path.stat().st_mode & _OTHER_USERS_MASK:
        path.chmod(_PRIVATE_FILE_MODE)


def require_separate(state: Path, skills: Path) -> None:
    """Raise `StateError` if one folder lies in the other: a cached file must never be found as a skill (H24).

    Neither needs to exist. Links are followed.
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
    """Whether two names lead to one folder, as `Skills` and `skills` do on some file systems."""
    try:
        return one.samefile(other)
    except OSError:
        return False


class StateLock:
    """A claim on the state, which ends with the process, however that ends.

    It begins as the only one if no one else has one, and then `share` lets others in.
    """

    def __init__(self, path: Path) -> None:
        """Claim what the lock file `path` stands for. Raises `StateError` or `OSError`."""
        make_private_file(path)
        self._lock = FileLock(path)
        self._path = path
        # Without locks, no process is ever alone; but on Windows, none can move what another one uses.
        self.exclusive = self._lock.try_lock(without_locks=sys.platform == "win32")
        if not self.exclusive:
            self.share()

    def share(self) -> None:
        """Let others in, or wait for whoever puts things in order just now. Raises `StateError`."""
        self.exclusive = False
        if not self._lock.lock(shared=True, seconds=PATIENCE):
            self.close()
            message = f"another process has kept {quoted(str(self._path))} for {PATIENCE:.0f} seconds"
            raise StateError(message, hint="end it, or try again")

    def close(self) -> None:
        self._lock.release()
