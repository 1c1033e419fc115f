"""What every source of skills can do. To add one: a file beside this, a line in `config/kinds.py`, a test."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from skillwire.model.entry import LiveFile, SkillFile, SkillRecord
from skillwire.model.problem import Problem
from skillwire.model.template import SkillTemplate

Progress: TypeAlias = Callable[[int], None]
"""Called during a scan with the number of files and folders seen so far."""


Locations: TypeAlias = frozenset[str]
"""Where a source should scan again: paths, or whatever its origins name."""
EVERYWHERE: Locations = frozenset()
"""Scan everything again."""


class Attention:
    """Which skills are watched, by the locations of their origins."""

    def __init__(self) -> None:
        self.locations: Locations = frozenset()
        self._turned: list[Callable[[], None]] = []

    def turn_to(self, locations: Locations) -> None:
        """Follow these from now on."""
        if locations != self.locations:
            self.locations = locations
            for turned in self._turned:
                turned()

    def when_turned(self, turned: Callable[[], None]) -> Callable[[], None]:
        """Have `turned` called whenever it goes elsewhere, until what this returns is called."""
        self._turned.append(turned)
        return lambda: self._turned.remove(turned)


def unwatched(_seen: int) -> None:
    """Progress that is ignored."""


class Seal(ABC):
    """Put on something that was read: tells later, at next to no cost, whether it is still that."""

    __slots__ = ()

    @abstractmethod
    def holds(self) -> bool:
        """Whether nothing has changed since."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All that a source holds at one moment."""

    entries: tuple[SkillRecord, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Problems of skills that are not among the entries, and of the source itself."""
    templates: tuple[SkillTemplate, ...] = ()
    """Skills that are not among the entries because there is one for each way to fill in a path."""


class Source(ABC):
    """A place that skills come from."""

    label: str
    """A short name that tells this source from the others."""

    @property
    def place(self) -> str:
        """What the operator calls it: a folder, an address, or nothing. Never sent to a client."""
        return self.label

    @property
    def fetched(self) -> datetime | None:
        """When what is served was fetched, or found unchanged, the last time; None where nothing is."""
        return None

    async def fetch(self) -> None:  # noqa: B027 - most have nothing to fetch
        """Fetch now what a later scan will show. Raises `SourceError`."""

    async def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Fetch what the first scan will want. Sources that have to ask others do so all at once."""

    @abstractmethod
    async def scan(self, progress: Progress = unwatched) -> Scan:
        """Return all skills. One bad skill is a problem in the scan; only a useless source raises."""

    @abstractmethod
    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        """Return the bytes of `file` as they are now. The caller compares them with the listing.

        Raises `SourceError` where there is nothing to return.
        """

    def seal(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Seal | None:  # noqa: ARG002 - for sources that can
        """Return what tells whether `file` still has the bytes that it has now, if anything can.

        Whoever takes it before a read, and sees that it holds, need not read again.
        """
        return None

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:  # noqa: ARG002 - for sources that can
        """Return all skills, having looked again at `where` at least.

        An entry that did not change is the same object as before, where the source can tell.
        """
        return await self.scan()

    async def changes(self, only: Attention | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        """Yield where to look again, whenever something may have changed, for as long as somebody listens.

        With `only`, nothing else need be noticed. A source that cannot change by itself yields nothing.
        """
        for nothing in ():
            yield nothing
