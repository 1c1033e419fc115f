"""The database of the state: one file of SQLite, safe with several processes and with sudden ends."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from skillwire.host.state.claim import PATIENCE
from skillwire.host.state.folder import ELSEWHERE, make_private_file
from skillwire.model.display import quoted, visible
from skillwire.model.errors import StateError

VERSION = 1
"""Of the tables below. A database with a higher one was written by a newer version of this program."""
_APPLICATION = 0x736B7772  # "skwr"
_TABLES = """
    CREATE TABLE labels (
        label TEXT PRIMARY KEY,
        identity TEXT NOT NULL
    );
    CREATE TABLE approvals (
        label TEXT NOT NULL REFERENCES labels ON DELETE CASCADE,
        uri BLOB NOT NULL,
        content TEXT NOT NULL,
        entry TEXT NOT NULL,
        standing TEXT NOT NULL CHECK (standing IN ('approved', 'changed', 'revoked')),
        approved_at REAL NOT NULL,
        PRIMARY KEY (label, uri)
    );
    CREATE TABLE grants (
        label TEXT NOT NULL,
        uri BLOB NOT NULL,
        tool TEXT NOT NULL,
        PRIMARY KEY (label, uri, tool),
        FOREIGN KEY (label, uri) REFERENCES approvals ON DELETE CASCADE
    );
    CREATE TABLE cached (
        label TEXT NOT NULL REFERENCES labels ON DELETE CASCADE,
        uri BLOB NOT NULL,
        digest TEXT NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (label, uri)
    );
"""
_NAMES = frozenset({"labels", "approvals", "grants", "cached"})
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PRIMARY = 0xFF
"""The bits of an error code that say what it is; the others say more about it."""


class DamagedError(Exception):
    """What is in the file is no database, or no longer one."""


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
            _check(connection, self.path)
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.DatabaseError) and _code(error) in _DAMAGE:
                raise DamagedError(str(error)) from error
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


def stored(uri: str) -> bytes:
    """Return a URI as the database keeps it: every text that JSON can hold, also one that is no Unicode."""
    return uri.encode(errors="surrogatepass")


def restored(uri: bytes) -> str:
    """Return the URI that `stored` was given."""
    return uri.decode(errors="surrogatepass")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables in an empty database; refuse one that is not ours, not whole, or too new."""
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise DamagedError(str(verdict))
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables and not version and not application:
        connection.executescript(
            f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {_APPLICATION};"
            f"PRAGMA user_version = {VERSION}; COMMIT;"
        )
    elif application != _APPLICATION:
        raise StateError(f"{quoted(str(path))} is a database of another program", hint=ELSEWHERE)
    elif version > VERSION:
        told = f"was written by a newer Skillwire (format {version}, this one knows {VERSION})"
        raise StateError(f"{quoted(str(path))} {told}", hint=f"update Skillwire, or {ELSEWHERE}")
    elif version < VERSION or not tables >= _NAMES:
        raise DamagedError("there are tables missing")


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
        told, hint = f"{shown} cannot be used: {visible(str(error), 200)}", f"mend that, or {ELSEWHERE}"
    raise StateError(told, hint=hint) from error


def _code(error: sqlite3.Error) -> int:
    """Return what kind of error it is; 0 where it did not come from SQLite itself."""
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY
