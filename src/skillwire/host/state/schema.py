"""The tables of the state, and whether those in a file are whole."""

import sqlite3
from pathlib import Path

from skillwire.host.state.folder import ELSEWHERE
from skillwire.model.digest import Digest
from skillwire.model.display import quoted
from skillwire.model.errors import StateError

VERSION = 1
"""Of the tables below. A database with a higher one was written by a newer version of this program."""
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
_MADE = {name: f"CREATE TABLE {name} ({columns})" for name, columns in _TABLES.items()}
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


class DamagedError(Exception):
    """What is in the file is no database, or no longer one."""


def stored(uri: str) -> bytes:
    """Return a URI as the tables hold it: every text that JSON can hold, also one that is no Unicode."""
    return uri.encode(errors="surrogatepass")


def restored(uri: bytes) -> str:
    """Return the URI that `stored` was given."""
    return uri.decode(errors="surrogatepass")


def make_or_check(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables in an empty database; refuse one that is not ours, not whole, or too new.

    Raises `StateError`, `DamagedError`, or in a damaged file whatever SQLite and Python make of it.
    """
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise DamagedError(str(verdict))
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql NOTNULL"))
    if not tables and not version and not application:
        connection.executescript(
            f"BEGIN IMMEDIATE; {'; '.join(_MADE.values())}; PRAGMA application_id = {_APPLICATION};"
            f"PRAGMA user_version = {VERSION}; COMMIT;"
        )
    elif application != _APPLICATION:
        raise StateError(f"{quoted(str(path))} is a database of another program", hint=ELSEWHERE)
    elif version > VERSION:
        told = f"was written by a newer Skillwire (format {version}, this one knows {VERSION})"
        raise StateError(f"{quoted(str(path))} {told}", hint=f"update Skillwire, or {ELSEWHERE}")
    elif version < VERSION or tables != _MADE:
        raise DamagedError("its tables are not those that were made")
    else:
        _check_rows(connection)
        connection.execute("DELETE FROM labels WHERE FALSE")  # whether it can be written at all


def _check_rows(connection: sqlite3.Connection) -> None:
    """Read everything once: SQLite does not notice a byte that changed within a value."""
    for table, columns in _TYPES.items():
        for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table}"):  # noqa: S608 - our own names
            for value, (column, kind) in zip(row, columns.items(), strict=True):
                if not isinstance(value, kind):
                    raise DamagedError(f"`{column}` in `{table}` is no {kind.__name__}")
                if column == "uri":
                    restored(value)
                if column == "digest" and Digest.parse(value) is None:
                    raise DamagedError(f"`{column}` in `{table}` is no digest")
