"""Which server a label means. Approvals, grants and cached files are of that server alone (H28)."""

import hashlib
import sqlite3

from skillwire.errors import StateError
from skillwire.safe_text import quoted


class Labels:
    """What each label is bound to: in the database, and for this process.

    Another process may bind a label to another server while this one still talks to the old one. What this
    one then writes must not count for the other server, so every access compares the two.
    """

    def __init__(self) -> None:
        self._bound: dict[str, str] = {}

    def is_bound(self, connection: sqlite3.Connection, label: str, identity: str) -> bool:
        """Whether the label already means this server."""
        self._bound[label] = _hashed(identity)
        return self.is_still_bound(connection, label)

    def bind(self, connection: sqlite3.Connection, label: str, identity: str) -> bool:
        """Bind the label, and drop all rows of whatever it was bound to; return whether that was another."""
        self._bound[label] = _hashed(identity)
        if self.is_still_bound(connection, label):
            return False
        dropped = connection.execute("DELETE FROM labels WHERE label = ?", (label,)).rowcount
        connection.execute("INSERT INTO labels VALUES (?, ?)", (label, self._bound[label]))
        return dropped > 0

    def forget(self, connection: sqlite3.Connection, label: str) -> None:
        """Drop the label and all rows of it."""
        connection.execute("DELETE FROM labels WHERE label = ?", (label,))
        self._bound.pop(label, None)

    def is_still_bound(self, connection: sqlite3.Connection, label: str) -> bool:
        """Whether the label still means the server that this process bound it to. Raises `StateError`."""
        if label not in self._bound:
            raise StateError(f"the label {quoted(label)} is bound to no server", hint="call `bind` first")
        row = connection.execute("SELECT identity FROM labels WHERE label = ?", (label,)).fetchone()
        return row == (self._bound[label],)

    def was_rebound(self, connection: sqlite3.Connection, label: str) -> bool:
        """Whether this process bound the label, and it means another server by now."""
        return label in self._bound and not self.is_still_bound(connection, label)

    def require_bound(self, connection: sqlite3.Connection, label: str) -> None:
        """Raise `StateError` if the label means another server by now, or none."""
        if not self.is_still_bound(connection, label):
            raise StateError(
                f"the label {quoted(label)} no longer means this server: another process has changed that",
                hint="use two labels for two servers",
            )


def all_labels(connection: sqlite3.Connection) -> list[str]:
    return [label for (label,) in connection.execute("SELECT label FROM labels ORDER BY label")]


def _hashed(identity: str) -> str:
    """Return what is compared: a URL may hold a secret, and that is never written down."""
    return hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()
