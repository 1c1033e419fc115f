"""The interface of the databases that can hold a registry, and their errors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from skillwire.errors import StateError
from skillwire.safe_text import quoted

Row: TypeAlias = Sequence[Any]
"""The values of a row, in the order of the columns in the statement."""


class RegistryError(StateError):
    """A registry cannot be read or written.

    `fault` completes "the registry …" without naming its place, because clients may read it.
    """

    def __init__(self, place: str, fault: str, hint: str = "") -> None:
        self.fault = fault
        super().__init__(f"the registry {quoted(place, None)} {fault}", hint)


class RegistryMissingError(RegistryError):
    """There is no registry at this place."""


class RegistryBusyError(RegistryError):
    """Another process is writing into the registry for too long."""


class Transaction(ABC):
    """Statements that see one state of the database, and take effect together.

    In a statement, `$1` stands for the first value. Every database understands the same statements.
    """

    @abstractmethod
    async def fetch(self, statement: str, *values: object) -> Sequence[Row]:
        """Return all rows of a query."""

    @abstractmethod
    async def fetch_each(self, statement: str, values: Sequence[Sequence[object]]) -> Sequence[Sequence[Row]]:
        """Run a query once for each set of values, and return the rows of each run."""

    @abstractmethod
    async def execute(self, statement: str, values: Sequence[Sequence[object]] = ((),)) -> None:
        """Run a statement once for each set of values."""


class Database(ABC):
    """A database that holds a registry. All methods raise `RegistryError`."""

    place: str
    """The address to show. It contains no password."""

    @abstractmethod
    async def create(self) -> bool:
        """Create the registry. Return False if it is there already."""

    @abstractmethod
    async def fetch(self, statement: str, *values: object, brief: bool = False) -> Sequence[Row]:
        """Return all rows of one query, outside a transaction.

        `brief` tells that the result is small, and found with few steps.
        """

    @abstractmethod
    def reading(self) -> AbstractAsyncContextManager[Transaction]:
        """Begin a transaction that reads. What others write meanwhile is not visible in it."""

    @abstractmethod
    def writing(self) -> AbstractAsyncContextManager[Transaction]:
        """Begin a transaction that writes. An exception rolls it back.

        Waits while another process writes, for a limited time.
        """


def as_bytes(value: object) -> bytes:
    """Return the bytes in a column; none if the database is damaged and has something else there."""
    return value if isinstance(value, bytes) else b""
