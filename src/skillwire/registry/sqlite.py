"""A registry in an SQLite file, with the standard library alone."""

import contextlib
import os
import re
import sqlite3
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote
from uuid import uuid4

import anyio
from anyio.to_thread import run_sync

from skillwire.core.atomic_write import lock_folder, staging_folder
from skillwire.registry.database import (
    Database,
    RegistryBusyError,
    RegistryError,
    RegistryMissingError,
    Row,
    Transaction,
)
from skillwire.registry.schema.migrations import NEWEST, Dialect, statements_after
from skillwire.safe_text import escape_invisible

DIALECT = Dialect("INTEGER PRIMARY KEY", "TEXT COLLATE BINARY", "BLOB", " WITHOUT ROWID")
WAIT_SECONDS = 60.0
"""Seconds to wait for another process that writes."""
_APPLICATION = 0x736B7267  # "skrg"
_BUSY_SECONDS = 0.25
"""Seconds that one statement waits. After that, waiting can be cancelled."""
_PRIMARY = 0xFF
"""The bits of the primary result code in an extended result code."""
_VALUE = re.compile(r"\$(\d+)")
_SHOWN = 120
_DAMAGED_HINT = "restore it from a backup, or move it away and push again"
_FAULTS = {
    sqlite3.SQLITE_CORRUPT: ("is damaged", _DAMAGED_HINT),
    sqlite3.SQLITE_NOTADB: ("is damaged, or is not a registry", _DAMAGED_HINT),
    sqlite3.SQLITE_FULL: ("cannot be written: the disk is full", "free some space, and try again"),
    sqlite3.SQLITE_READONLY: ("cannot be written: it is read-only", "change its permissions"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check the permissions of the file and its folder"),
    sqlite3.SQLITE_PERM: ("cannot be opened: permission denied", "change its permissions"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written: an input or output error", "check the disk"),
    sqlite3.SQLITE_TOOBIG: ("cannot hold a file of this size", "remove large files"),
}
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
Result = TypeVar("Result")


class SqliteDatabase(Database):
    """A registry in one file. Each transaction has a connection of its own, and single queries share one."""

    def __init__(self, path: Path, place: str, *, create_folder: bool = False) -> None:
        """Use the file at `path`, which is not opened yet.

        `create_folder` tells whether `create` may create the folder of the file.
        """
        self.place = place
        self.path = path
        self._create_folder = create_folder
        self._lock = threading.Lock()
        self._reader: _Reader | None = None

    async def create(self) -> bool:
        return await run_sync(self._create)

    async def fetch(self, statement: str, *values: object, brief: bool = False) -> Sequence[Row]:
        # Readers never wait for a writer, so a brief query takes less time than starting a thread.
        if not brief or not self._lock.acquire(blocking=False):
            return await run_sync(self._fetch, statement, values)
        try:
            return self._fetch_locked(statement, values)
        finally:
            self._lock.release()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[Transaction]:
        async with self._transaction("BEGIN", "PRAGMA query_only = ON") as transaction:
            yield transaction

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[Transaction]:
        async with self._transaction("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @asynccontextmanager
    async def _transaction(self, begin: str, *before: str) -> AsyncGenerator[Transaction]:
        connection = await run_sync(self._open)
        try:
            transaction = _SqliteTransaction(connection, self._translated)
            for statement in before:
                await transaction.execute(statement)
            await self._begin(transaction, begin)
            try:
                yield transaction
                await transaction.execute("COMMIT")
            except BaseException:
                with anyio.CancelScope(shield=True), contextlib.suppress(RegistryError):
                    await transaction.execute("ROLLBACK")
                raise
        finally:
            with anyio.CancelScope(shield=True):
                await run_sync(connection.close)

    async def _begin(self, transaction: Transaction, statement: str) -> None:
        """Begin a transaction. Wait for other processes for at most `WAIT_SECONDS`."""
        deadline = anyio.current_time() + WAIT_SECONDS
        while True:
            try:
                return await transaction.execute(statement)
            except RegistryBusyError:
                if anyio.current_time() > deadline:
                    raise

    def _fetch(self, statement: str, values: Sequence[object]) -> Sequence[Row]:
        with self._lock:
            return self._fetch_locked(statement, values)

    def _fetch_locked(self, statement: str, values: Sequence[object]) -> Sequence[Row]:
        with self._translated():
            stamp = self._stamp()
            if self._reader is None or self._reader.stamp != stamp:
                self._reader = _Reader(self._open(), stamp)  # the file was replaced
            return self._reader.connection.execute(_translate(statement), values).fetchall()

    def _stamp(self) -> tuple[int, int]:
        """Return what identifies the file, even if another one gets its name."""
        try:
            found = self.path.stat()
        except FileNotFoundError as error:
            hint = "create it with `skillwire push ./skills`, or correct the address"
            raise RegistryMissingError(self.place, "does not exist", hint) from error
        except OSError as error:
            raise self._inaccessible(error) from error
        return found.st_dev, found.st_ino

    def _open(self) -> sqlite3.Connection:
        """Return a new connection to an existing registry."""
        with self._translated():
            self._stamp()
            connection = _connect(self.path, "rw")
            try:
                self._check(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Prepare a connection. Raises `RegistryError` if this version cannot use the database."""
        connection.execute("PRAGMA trusted_schema = OFF")  # run nothing that the file defines
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power failure
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != _APPLICATION:
            fault = "is not a registry: the file belongs to another program, or is empty"
            raise RegistryError(self.place, fault, "correct the address")
        (number,) = connection.execute("SELECT max(number) FROM schema_version").fetchone()
        if number != NEWEST:
            fault = f"was written by a newer Skillwire (schema {number}, this one knows {NEWEST})"
            raise RegistryError(self.place, fault, "update Skillwire")

    def _create(self) -> bool:
        """Create the file under another name, so that no one sees it half created."""
        folder = self.path.parent
        try:
            if self._create_folder:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.exists():
                return False
            if not folder.is_dir():
                hint = f"create its folder first: `mkdir -p {folder}`"
                raise RegistryMissingError(self.place, "cannot be created: its folder does not exist", hint)
            with lock_folder(folder), staging_folder(folder) as staging:
                if self.path.exists():  # another process was faster
                    return False
                with self._translated():
                    _write_schema(staging / self.path.name)
                (staging / self.path.name).rename(self.path)
        except OSError as error:
            raise self._inaccessible(error) from error
        return True

    def _inaccessible(self, error: OSError) -> RegistryError:
        reason = (error.strerror or type(error).__name__).lower()
        hint = "check the permissions of the file and its folder, and the space on the disk"
        return RegistryError(self.place, f"cannot be opened: {reason}", hint)

    @contextmanager
    def _translated(self) -> Generator[None]:
        """Convert the errors of SQLite to `RegistryError`."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
            if code in _BUSY:
                fault, hint = "is locked by another process that writes", "try again when that is done"
                raise RegistryBusyError(self.place, fault, hint) from error
            reason = escape_invisible(str(error), _SHOWN)
            fault, hint = _FAULTS.get(code, (f"is damaged: {reason}", _DAMAGED_HINT))
            raise RegistryError(self.place, fault, hint) from error
        except (UnicodeDecodeError, OverflowError) as error:  # in a damaged file, text may not be UTF-8
            raise RegistryError(self.place, "is damaged", _DAMAGED_HINT) from error


class _Reader:
    """A connection for single queries, which is closed when it is no longer used."""

    def __init__(self, connection: sqlite3.Connection, stamp: tuple[int, int]) -> None:
        self.connection, self.stamp = connection, stamp
        weakref.finalize(self, connection.close)


class _SqliteTransaction(Transaction):
    """Statements on one connection, each in a thread, because it may wait for the disk."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        translated: Callable[[], "contextlib.AbstractContextManager[None]"],
    ) -> None:
        self._connection = connection
        self._translated = translated

    async def fetch(self, statement: str, *values: object) -> Sequence[Row]:
        (rows,) = await self.fetch_each(statement, [values])
        return rows

    async def fetch_each(self, statement: str, values: Sequence[Sequence[object]]) -> Sequence[Sequence[Row]]:
        return await self._in_thread(partial(self._fetch_each, _translate(statement), values))

    async def execute(self, statement: str, values: Sequence[Sequence[object]] = ((),)) -> None:
        await self._in_thread(partial(self._execute, _translate(statement), values))

    async def _in_thread(self, function: Callable[[], Result]) -> Result:
        def translated() -> Result:
            with self._translated():
                return function()

        return await run_sync(translated)

    def _fetch_each(self, statement: str, values: Sequence[Sequence[object]]) -> list[list[Row]]:
        return [self._connection.execute(statement, each).fetchall() for each in values]

    def _execute(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        for each in values:
            self._connection.execute(statement, each)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(os.fspath(path))}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _write_schema(path: Path) -> None:
    """Create a registry without skills in a new file."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = _connect(path, "rwc")
    try:
        connection.execute("PRAGMA journal_mode = WAL")  # stored in the file; readers never wait for a writer
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements_after(0, DIALECT, datetime.now(UTC).isoformat(timespec="seconds")):
            connection.execute(statement)
        insert = "INSERT INTO catalogue (id, name, instance) VALUES (1, 'main', ?)"
        connection.execute(insert, (uuid4().hex,))
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute("COMMIT")
    finally:
        connection.close()


@cache
def _translate(statement: str) -> str:
    """Return a statement with the placeholders of SQLite."""
    return _VALUE.sub(r"?\1", statement)
