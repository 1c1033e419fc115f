"""What a person lets a skill use without asking: exactly that, for exactly these files (H21)."""

from collections.abc import Iterable

from skillwire.host.state.approvals import NotKeptError, stands
from skillwire.host.state.database import Database
from skillwire.host.state.labels import Labels
from skillwire.host.state.schema import stored
from skillwire.model.display import quoted
from skillwire.wire.remote import RemoteSkill


class Grants:
    """Tools by label and URI. They rest on an approval, and go when it goes."""

    def __init__(self, database: Database, labels: Labels) -> None:
        self._database = database
        self._labels = labels

    def grant(self, label: str, skill: RemoteSkill, tools: Iterable[str]) -> None:
        """Remember these tools and no others.

        Raises `NotKeptError` where no approval of these files is kept, and `StateError`.
        """
        key = label, stored(skill.uri)
        with self._database.writing() as connection:
            self._labels.must_hold(connection, label)
            if not stands(connection, label, skill):
                raise NotKeptError(
                    f"no tool can be granted to {quoted(skill.uri)} from {quoted(label)}: it is not approved",
                    hint="approve it first",
                )
            connection.execute("DELETE FROM grants WHERE label = ? AND uri = ?", key)
            connection.executemany(
                "INSERT INTO grants VALUES (?, ?, ?)", [(*key, tool) for tool in set(tools)]
            )

    def granted(self, label: str, skill: RemoteSkill) -> frozenset[str]:
        """Return what was granted to these very files: nothing, unless their approval stands."""
        query = "SELECT tool FROM grants WHERE label = ? AND uri = ?"
        with self._database.reading() as connection:
            if not self._labels.holds(connection, label) or not stands(connection, label, skill):
                return frozenset()
            return frozenset(tool for (tool,) in connection.execute(query, (label, stored(skill.uri))))

    def withdraw(self, label: str, uri: str) -> bool:
        """Take back every tool of a skill; return whether there was any. Its approval stays."""
        with self._database.writing() as connection:
            delete = "DELETE FROM grants WHERE label = ? AND uri = ?"
            return connection.execute(delete, (label, stored(uri))).rowcount > 0
