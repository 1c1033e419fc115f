"""What every source of skills can do, and the problem of one that cannot be scanned now."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.errors import SourceError, SourceUnavailableError
from skillwire.safe_text import quoted

_FIX = "fix the source; it is looked at again after a while, at the latest every half a minute"
_UNAVAILABLE_HINT = "nothing to do if it comes back: it is asked again from time to time"
Progress: TypeAlias = Callable[[int], None]
"""Called during a scan with the number of files and folders seen so far."""
Locations: TypeAlias = frozenset[str]
"""Where a source should scan again: paths, or whatever its origins name."""
EVERYWHERE: Locations = frozenset()
"""Scan everything again."""


def source_problem(label: str, error: SourceError, *, known: bool) -> Problem:
    """Return what is wrong with the source `label`; `known` says whether something of it is still listed."""
    what = "shows as it was" if known else "is not served"
    return Problem(
        ".",
        Rule.SOURCE_FAILED,
        Severity.ERROR,
        f"the source {quoted(label)} {what}: {error}",
        hint=_UNAVAILABLE_HINT if isinstance(error, SourceUnavailableError) else _FIX,
    )


class WatchFilter:
    """Which skills are watched, by the locations of their origins."""

    def __init__(self) -> None:
        self.locations: Locations = frozenset()
        self._listeners: list[Callable[[], None]] = []

    def set(self, locations: Locations) -> None:
        """Follow these from now on."""
        if locations != self.locations:
            self.locations = locations
            for listener in self._listeners:
                listener()

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called whenever it goes elsewhere, until what this returns is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def ignore_progress(_seen: int) -> None:
    """Progress that is ignored."""


class Validator(ABC):
    """Cheap check that something read earlier is unchanged."""

    __slots__ = ()

    @abstractmethod
    def is_current(self) -> bool:
        """Whether nothing has changed since."""


class _NeverChanges(Validator):
    """Holds for ever."""

    __slots__ = ()

    def is_current(self) -> bool:
        return True


NEVER_CHANGES: Validator = _NeverChanges()
"""For bytes that stay the same for as long as the program runs."""


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
    def status(self) -> str:
        """Whether there is anything to serve, in a few words for `skillwire sources`. Asks no one."""
        return "there"

    @property
    def fetched(self) -> datetime | None:
        """When what is served was fetched, or found unchanged, the last time; None where nothing is."""
        return None

    async def fetch(self) -> None:  # noqa: B027 - most have nothing to fetch
        """Fetch now what a later scan will show. Raises `SourceError`."""

    async def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Fetch what the first scan will want. Sources that have to ask others do so all at once."""

    @abstractmethod
    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        """Return all skills. One bad skill is a problem in the scan; only a useless source raises."""

    @abstractmethod
    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        """Return the bytes of `file` as they are now. The caller compares them with the listing.

        Raises `SourceError` where there is nothing to return.
        """

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:  # noqa: ARG002 - for sources that can
        """Return what tells whether `file` still has the bytes that it has now, if anything can.

        Whoever takes it before a read, and sees that it holds, need not read again.
        """
        return None

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:  # noqa: ARG002 - for sources that can
        """Return all skills, having looked again at `where` at least.

        An entry that did not change is the same object as before, where the source can tell.
        """
        return await self.scan()

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        """Yield where to look again, whenever something may have changed, for as long as somebody listens.

        `watch_filter` limits what must be noticed. A source that cannot change by itself yields nothing.
        """
        for nothing in ():
            yield nothing


class WrappedSource(Source):
    """Another source under the same label. Forwards everything; a subclass overrides what it changes."""

    def __init__(self, source: Source) -> None:
        self.label = source.label
        self._source = source

    @property
    def source(self) -> Source:
        """The source that is wrapped."""
        return self._source

    @property
    def place(self) -> str:
        return self.source.place

    @property
    def status(self) -> str:
        return self.source.status

    @property
    def fetched(self) -> datetime | None:
        return self.source.fetched

    async def fetch(self) -> None:
        await self.source.fetch()

    async def prepare(self) -> None:
        await self.source.prepare()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return await self.source.scan(progress)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        return await self.source.read(entry, file)

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        return self.source.validator(entry, file)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return await self.source.rescan(where)

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        async with aclosing(self.source.changes(watch_filter)) as changes:
            async for where in changes:
                yield where
