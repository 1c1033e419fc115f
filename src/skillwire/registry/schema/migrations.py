"""The table of migrations, and the statements that bring a database to the newest one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from skillwire.registry.schema import m0001_initial

MIGRATIONS: Mapping[int, Sequence[str]] = {1: m0001_initial.STATEMENTS}
"""The statements of each migration, by number."""
NEWEST = max(MIGRATIONS)
_NUMBERS = "CREATE TABLE schema_version (number INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database writes what others write differently."""

    identity: str
    """The type of a column that numbers the rows."""
    text: str
    """The type of text that is sorted by code points."""
    binary: str
    compact: str
    """What is added to a table that is stored in the order of its primary key."""


def statements_after(number: int, dialect: Dialect, now: str) -> Iterator[str]:
    """Yield the statements of all migrations after `number`, which is 0 for an empty database.

    `now` is the current time in ISO 8601.
    """
    names = asdict(dialect)
    if number == 0:
        yield _NUMBERS
    for each in sorted(each for each in MIGRATIONS if each > number):
        yield from (statement.format(**names) for statement in MIGRATIONS[each])
        yield f"INSERT INTO schema_version (number, applied_at) VALUES ({each}, '{now}')"  # noqa: S608 - both are ours
