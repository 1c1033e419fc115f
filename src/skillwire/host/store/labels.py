"""Bind labels to servers. Approvals, grants and cached files belong to that server only (H28)."""

import hashlib
import sqlite3

from skillwire.errors import StateError
from skillwire.safe_text import quoted


class Labels:
    """The server to which each label is bound, in the database and in this process.

    Another process may bind a label to a different server while this process still uses the old server. Data
    that this process writes must not apply to the different server, so every access compares the two
    bindings.
    """

    def __init__(self) -> None:
        self._bound: dict[str, str] = {}

    def is_bound(self, connection: sqlite3.Connection, label: str, identity: str) -> bool:
        """Bind the label in this process. Return whether the database has the same binding."""
        self._bound[label] = _hashed(identity)
        return self.is_still_bound(connection, label)

    def bind(self, connection: sqlite3.Connection, label: str, identity: str) -> bool:
        """Bind the label in the database and in this process.

        If the label was bound to another server, delete all its rows and return True, else return False.
        """
        self._bound[label] = _hashed(identity)
        if self.is_still_bound(connection, label):
            return False
        dropped = connection.execute("DELETE FROM labels WHERE label = ?", (label,)).rowcount
        connection.execute("INSERT INTO labels VALUES (?, ?)", (label, self._bound[label]))
        return dropped > 0

    def forget(self, connection: sqlite3.Connection, label: str) -> None:
        """Delete the label and all its rows."""
        connection.execute("DELETE FROM labels WHERE label = ?", (label,))
        self._bound.pop(label, None)

    def is_still_bound(self, connection: sqlite3.Connection, label: str) -> bool:
        """Return whether the label is still bound to the same server as in this process.

        Raises `StateError`.
        """
        if label not in self._bound:
            raise StateError(f"the label {quoted(label)} is not bound to a server", hint="call `bind` first")
        row = connection.execute("SELECT identity FROM labels WHERE label = ?", (label,)).fetchone()
        return row == (self._bound[label],)

    def was_rebound(self, connection: sqlite3.Connection, label: str) -> bool:
        """Return whether this process bound the label, and the database no longer has that binding."""
        return label in self._bound and not self.is_still_bound(connection, label)

    def require_bound(self, connection: sqlite3.Connection, label: str) -> None:
        """Raise `StateError` if the label is now bound to another server or not bound."""
        if not self.is_still_bound(connection, label):
            raise StateError(
                f"another process has bound the label {quoted(label)} to another server",
                hint="use two labels for two servers",
            )


def all_labels(connection: sqlite3.Connection) -> list[str]:
    return [label for (label,) in connection.execute("SELECT label FROM labels ORDER BY label")]


def _hashed(identity: str) -> str:
    """Hash an identity for storage and comparison, because a URL may contain a secret."""
    return hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()
