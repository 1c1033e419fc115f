"""The state of a host: everything it stores between runs, in one folder."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from skillwire.core.system import require_posix
from skillwire.errors import KeyringStateError, StateError
from skillwire.host.store.approvals import Approvals, Grants
from skillwire.host.store.cache import CACHE_BYTES, Cache
from skillwire.host.store.database import DamagedError, Database, rename_damaged
from skillwire.host.store.folder import STATE_DIR_HINT, StateLock, make_private, require_separate
from skillwire.host.store.labels import Labels, all_labels
from skillwire.host.store.logins import Logins
from skillwire.safe_text import escape_invisible, quoted

DATABASE = "state.db"
_CACHE = "cache"
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class DamagedState:
    """A damaged database that was replaced with an empty database. The user must be notified."""

    path: Path
    """The new path of the damaged file."""
    reason: str

    @property
    def hint(self) -> str:
        return "approve your skills again; the old file can be removed"

    def __str__(self) -> str:
        message = f"the state is damaged ({escape_invisible(self.reason, 200)}) and was moved to"
        return f"{message} {quoted(str(self.path))}; all approvals are lost"


class State:
    """Stored approvals, grants, logins and cached files.

    Several threads and processes can use them at once. All methods are synchronous, and may wait for the disk
    or another process. Asynchronous code must call them in a thread: `await
    anyio.to_thread.run_sync(state.bind, label, identity)`.
    """

    def __init__(
        self,
        folder: Path,
        lock: StateLock,
        database: Database,
        cache_bytes: int,
        damaged: DamagedState | None,
    ) -> None:
        """Private. Use `State.open` instead."""
        self.folder = folder
        self.damaged = damaged
        """The damage found when the state was opened, or None. After damage, all approvals are lost."""
        self._lock = lock
        self._database = database
        self._labels = Labels()
        self.approvals = Approvals(database, self._labels)
        self.grants = Grants(database, self._labels)
        self.cache = Cache(database, self._labels, folder / _CACHE, cache_bytes)
        self.logins = Logins(folder)

    @classmethod
    def open(cls, folder: str | Path, cache_bytes: int = CACHE_BYTES) -> Self:
        """Open or create the state in `folder`. Raises `StateError`, and `PlatformError` on Windows."""
        require_posix("storing approvals")
        folder = Path(folder)
        make_private(folder, known_by=DATABASE)
        try:
            lock = StateLock(folder / _LOCK)
        except OSError as error:
            message = f"cannot use the folder {quoted(str(folder))}: {error.strerror or error}"
            raise StateError(message, hint=STATE_DIR_HINT) from error
        try:
            database, damaged = _open_database(folder / DATABASE, exclusive=lock.exclusive)
        except BaseException:
            lock.close()
            raise
        state = cls(folder, lock, database, cache_bytes, damaged)
        try:
            if lock.exclusive:
                state.cache.sweep()
            lock.share()
        except BaseException:
            state.close()
            raise
        return state

    def bind(self, label: str, identity: str) -> bool:
        """Bind a label to a server. Call this method before any other method that takes the label.

        If the label was bound to another server, its approvals, grants and cached files are removed (H28).
        Its login is also removed, unless only the query of the URL differs. Returns whether the label was
        bound to another server. The binding contains only a hash of the identity.
        """
        with self._database.reading() as connection:
            if self._labels.is_bound(connection, label, identity):
                return False
        with self._database.writing() as connection:
            dropped = self._labels.bind(connection, label, identity)
            leaving = self.cache.move_aside(label)
        self.cache.delete_moved(leaving)
        if dropped:
            with suppress(KeyringStateError):  # no record refers to these tokens any more
                self.logins.remove_if_other(label, identity)
        return dropped

    def forget(self, label: str) -> None:
        """Remove everything that is stored for a label, including cached files and the login (H24)."""
        with self._database.writing() as connection:
            self._labels.forget(connection, label)
            leaving = self.cache.move_aside(label)
        self.cache.delete_moved(leaving)
        self.logins.remove(label)

    def labels(self) -> list[str]:
        """Return all labels for which something is stored."""
        with self._database.reading() as connection:
            bound = all_labels(connection)
        return sorted({*bound, *(each.label for each in self.logins.all())})

    def require_separate(self, skills: Path) -> None:
        """Raise `StateError` if a folder of skills overlaps with the state folder (H24)."""
        require_separate(self.folder, skills)

    def close(self) -> None:
        self._database.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open_database(path: Path, *, exclusive: bool) -> tuple[Database, DamagedState | None]:
    try:
        return Database(path), None
    except DamagedError as error:
        if not exclusive:
            reason = escape_invisible(str(error), 200)
            message = f"{quoted(str(path))} is damaged ({reason}), and another process uses it"
            raise StateError(message, hint="end the other process and start again") from error
        reason = str(error)
    try:
        aside = rename_damaged(path)
    except OSError as error:
        damage = escape_invisible(reason, 200)
        message = f"is damaged ({damage}) and cannot be moved aside: {error.strerror or error}"
        raise StateError(f"{quoted(str(path))} {message}", hint=STATE_DIR_HINT) from error
    return Database(path), DamagedState(aside, reason)
