"""What every source of skills can do. To add one: a file beside this, a line in `config/kinds.py`, a test."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from skillwire.model.entry import Entry, LiveFile, SkillFile
from skillwire.model.problem import Problem

Progress: TypeAlias = Callable[[int], None]
"""Called now and then while a source is scanned, with the number of files and folders seen so far."""


def unwatched(_seen: int) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All that a source holds at one moment."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Problems of skills that are not among the entries, and of the source itself."""


class Source(ABC):
    """A place that skills come from."""

    label: str
    """A short name that tells this source from the others."""

    @property
    def place(self) -> str:
        """What the operator calls it: a folder, an address. Never sent to a client."""
        return self.label

    @abstractmethod
    async def scan(self, progress: Progress = unwatched) -> Scan:
        """Return all skills. One bad skill is a problem in the scan; only a useless source raises."""

    @abstractmethod
    async def read(self, entry: Entry, file: SkillFile | LiveFile) -> bytes:
        """Return the bytes of `file` as they are now. The caller compares them with the listing.

        Raises `SourceError` where there is nothing to return.
        """

    async def rescan(self, entry: Entry) -> Scan:  # noqa: ARG002 - for sources that can look at one skill alone
        """Return all skills, having looked again at `entry` at least."""
        return await self.scan()
