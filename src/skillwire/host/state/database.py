"""The database of the state: one file of SQLite, safe with several processes and with sudden ends."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from skillwire.host.state.claim import PATIENCE
from skillwire.host.state.folder import ELSEWHERE, make_private_file
from skillwire.host.state.schema import DamagedError, make_or_check
from skillwire.model.display import quoted, visible
from skillwire.model.errors import StateError

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_SENSELESS = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_READONLY, 0})
"""What a statement that is right ends with where the tables are wrong, in a file that we may write."""
_PRIMARY = 0xFF
"""The bits of an error code that say what it is; the others say more about it."""
_SHOWN = 80


class Database:
    """A connection that every thread may use, one at a time.

    A call may wait: for another process that writes (at most `PATIENCE` seconds), and for the disk. In
    asynchronous code, call from a thread: `await anyio.to_thread.run_sync(state.approvals.approve, …)`.
    """

    def __init__(self, path: Path) -> None:
        """Open the database, or make it. Raises `DamagedError` or `StateError`."""
        self.path = path
        self._lock = threading.RLock()
        with _told(path):
            try:
                self._connection = self._connected()
            except OSError as error:
                told = f"{quoted(str(path))} cannot be used: {error.strerror or error}"
                raise StateError(told, hint=ELSEWHERE) from error

    def _connected(self) -> sqlite3.Connection:
        make_private_file(self.path)  # SQLite gives the files beside it the same mode
        connection = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA journal_mode = WAL")  # readers never wait for a writer
            connection.execute("PRAGMA synchronous = FULL")  # what was committed survives a power cut
            make_or_check(connection, self.path)
        except BaseException as error:
            connection.close()
            # In a damaged file, SQLite finds no columns, or texts that Python cannot read, its own included.
            if isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGE | _SENSELESS:
                raise DamagedError(visible(str(error), _SHOWN)) from error
            raise
        return connection

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Yield the connection, for statements that only read. Raises `StateError`."""
        with self._lock, _told(self.path):
            yield self._connection

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Yield the connection: all that is written counts once this ends well, or none of it does.

        No other process writes meanwhile. Raises `StateError`.
        """
        with self._lock, _told(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # some errors have rolled it back already
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def set_aside(path: Path) -> Path:
    """Rename a damaged database and return its new name. Nobody else may have it open. Raises `OSError`."""
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in range(1, 10_000))
    aside = next(name for name in names if not name.exists())
    # The database first: SQLite throws the log away that stands beside no database.
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside


@contextmanager
def _told(path: Path) -> Generator[None]:
    """Tell errors of SQLite as `StateError`."""
    try:
        yield
    except sqlite3.Error as error:
        _tell(path, error)


def _tell(path: Path, error: sqlite3.Error) -> NoReturn:
    code, shown = _code(error), quoted(str(path))
    if code in _DAMAGE:
        told, hint = f"{shown} is damaged", "start again: it is moved aside, and approvals begin from none"
    elif code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        told, hint = f"another process keeps {shown} busy", "end it, or try again"
    else:
        told, hint = f"{shown} cannot be used: {visible(str(error), _SHOWN)}", f"mend that, or {ELSEWHERE}"
    raise StateError(told, hint=hint) from error


def _code(error: BaseException) -> int | None:
    """Return what kind of error of a database it is; 0 where it did not come from SQLite itself."""
    if not isinstance(error, sqlite3.DatabaseError):
        return None
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY
