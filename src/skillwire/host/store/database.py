"""The SQLite database of the state: tables, checks for damage, and access from many threads."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from skillwire.core.record import Digest
from skillwire.errors import StateError
from skillwire.host.store.folder import PATIENCE, STATE_DIR_HINT, make_private_file
from skillwire.safe_text import escape_invisible, quoted

VERSION = 1
"""The version of the tables in this module. A newer Skillwire may write a higher version."""
_APPLICATION = 0x736B7772  # "skwr"
_TABLES = {
    "labels": """
        label TEXT PRIMARY KEY,
        identity TEXT NOT NULL""",
    "approvals": """
        label TEXT NOT NULL REFERENCES labels ON DELETE CASCADE,
        uri BLOB NOT NULL,
        content TEXT NOT NULL,
        entry TEXT NOT NULL,
        standing TEXT NOT NULL CHECK (standing IN ('approved', 'changed', 'revoked')),
        approved_at REAL NOT NULL CHECK (approved_at BETWEEN 0 AND 99999999999),
        revocations INTEGER NOT NULL CHECK (revocations >= 0),
        PRIMARY KEY (label, uri)""",
    "grants": """
        label TEXT NOT NULL,
        uri BLOB NOT NULL,
        tool TEXT NOT NULL,
        PRIMARY KEY (label, uri, tool),
        FOREIGN KEY (label, uri) REFERENCES approvals ON DELETE CASCADE""",
    "cached": """
        label TEXT NOT NULL REFERENCES labels ON DELETE CASCADE,
        uri BLOB NOT NULL,
        digest TEXT NOT NULL,
        size INTEGER NOT NULL CHECK (size >= 0),
        PRIMARY KEY (label, uri)""",
}
_CREATE_STATEMENTS = {name: f"CREATE TABLE {name} ({columns})" for name, columns in _TABLES.items()}
_TYPES: dict[str, dict[str, type]] = {
    "labels": {"label": str, "identity": str},
    "approvals": {
        "label": str,
        "uri": bytes,
        "content": str,
        "entry": str,
        "standing": str,
        "approved_at": float,
        "revocations": int,
    },
    "grants": {"label": str, "uri": bytes, "tool": str},
    "cached": {"label": str, "uri": bytes, "digest": str, "size": int},
}
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_INVALID_DATA_CODES = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_READONLY, 0})
"""Error codes that valid statements cause if tables in a writable file are damaged."""
_PRIMARY = 0xFF
"""The bits of the primary result code in an extended result code."""
_SHOWN = 80


class DamagedError(Exception):
    """The file is not a database, or is damaged."""


def encode_uri(uri: str) -> bytes:
    """Encode a URI for the tables.

    Plain UTF-8 is not enough, because JSON text may contain lone surrogates.
    """
    return uri.encode(errors="surrogatepass")


def decode_uri(uri: bytes) -> str:
    """Decode a URI that `encode_uri` encoded."""
    return uri.decode(errors="surrogatepass")


def create_or_check(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables in an empty database, or check an existing one.

    Raises `StateError` if the database belongs to another program or is too new, and `DamagedError` if it is
    damaged. A damaged file may also cause other SQLite and Python errors.
    """
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise DamagedError(str(verdict))
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql NOTNULL"))
    if not tables and not version and not application:
        connection.executescript(
            f"BEGIN IMMEDIATE; {'; '.join(_CREATE_STATEMENTS.values())}; "
            f"PRAGMA application_id = {_APPLICATION};"
            f"PRAGMA user_version = {VERSION}; COMMIT;"
        )
    elif application != _APPLICATION:
        raise StateError(f"{quoted(str(path))} is a database of another program", hint=STATE_DIR_HINT)
    elif version > VERSION:
        message = f"was written by a newer Skillwire (format {version}, this one knows {VERSION})"
        raise StateError(f"{quoted(str(path))} {message}", hint=f"update Skillwire, or {STATE_DIR_HINT}")
    elif version < VERSION or tables != _CREATE_STATEMENTS:
        raise DamagedError("its tables have another structure")
    else:
        _check_rows(connection)
        connection.execute("DELETE FROM labels WHERE FALSE")  # fails if the file is not writable


def _check_rows(connection: sqlite3.Connection) -> None:
    """Check every value, because SQLite does not detect a changed byte in a value. Raises `DamagedError`."""
    for table, columns in _TYPES.items():
        for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table}"):  # noqa: S608 - the names are constants
            for value, (column, kind) in zip(row, columns.items(), strict=True):
                if not isinstance(value, kind):
                    raise DamagedError(f"`{column}` in `{table}` is not of type {kind.__name__}")
                if column == "uri":
                    decode_uri(value)
                if column == "digest" and Digest.parse(value) is None:
                    raise DamagedError(f"`{column}` in `{table}` is not a digest")


class Database:
    """A database connection that all threads share. One thread uses it at a time.

    A call may wait for the disk, and for up to `PATIENCE` seconds for another process that writes.
    Asynchronous code must make calls in a thread: `await anyio.to_thread.run_sync(state.approvals.approve,
    …)`.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the database. Raises `DamagedError` or `StateError`."""
        self.path = path
        self._lock = threading.RLock()
        with _translate_errors(path):
            try:
                self._connection = self._open_connection()
            except OSError as error:
                message = f"cannot use {quoted(str(path))}: {error.strerror or error}"
                raise StateError(message, hint=STATE_DIR_HINT) from error

    def _open_connection(self) -> sqlite3.Connection:
        make_private_file(self.path)  # SQLite creates the files beside it with the same mode
        connection = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA journal_mode = WAL")  # readers never wait for a writer
            connection.execute("PRAGMA synchronous = FULL")  # committed data survives a power failure
            create_or_check(connection, self.path)
        except BaseException as error:
            connection.close()
            # In a damaged file, columns may be missing, and texts, also SQLite's own, may not be valid UTF-8.
            if isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGE | _INVALID_DATA_CODES:
                raise DamagedError(escape_invisible(str(error), _SHOWN)) from error
            raise
        return connection

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Yield the connection, for statements that only read. Raises `StateError`."""
        with self._lock, _translate_errors(self.path):
            yield self._connection

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction, which an exception rolls back.

        No other process can write until the block ends. Raises `StateError`.
        """
        with self._lock, _translate_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # some errors roll back by themselves
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def rename_damaged(path: Path) -> Path:
    """Rename a damaged database and its log, and return the new path of the database.

    Call this function only while no other process uses the database. Raises `OSError`.
    """
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in range(1, 10_000))
    aside = next(name for name in names if not name.exists())
    # Rename the database first, because SQLite deletes a log without a database.
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside


@contextmanager
def _translate_errors(path: Path) -> Generator[None]:
    """Convert SQLite errors to `StateError`."""
    try:
        yield
    except sqlite3.Error as error:
        _raise_state_error(path, error)


def _raise_state_error(path: Path, error: sqlite3.Error) -> NoReturn:
    code, shown = _code(error), quoted(str(path))
    if code in _DAMAGE:
        message, hint = f"{shown} is damaged", "start again: it is replaced, and all approvals are lost"
    elif code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        message, hint = f"another process has locked {shown}", "end that process, or try again"
    else:
        message, hint = (
            f"cannot use {shown}: {escape_invisible(str(error), _SHOWN)}",
            f"fix that, or {STATE_DIR_HINT}",
        )
    raise StateError(message, hint=hint) from error


def _code(error: BaseException) -> int | None:
    """Return SQLite's primary result code, 0 for other database errors, or None for other exceptions."""
    if not isinstance(error, sqlite3.DatabaseError):
        return None
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY
