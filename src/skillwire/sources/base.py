"""`Source`, the interface of every source of skills, and the values it works with."""

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

_FIX = "fix the source; it is scanned again automatically, within half a minute"
_UNAVAILABLE_HINT = "nothing to do if it comes back: it is tried again from time to time"
Progress: TypeAlias = Callable[[int], None]
"""Called during a scan with the number of files and folders found so far."""
Locations: TypeAlias = frozenset[str]
"""Where a source should scan again: values of `Origin.location`, or paths below them."""
EVERYWHERE: Locations = frozenset()
"""Scan everything again."""


def source_problem(label: str, error: SourceError, *, known: bool) -> Problem:
    """Return the problem of a source that cannot be scanned. `known` says whether it was scanned before."""
    what = "is served as it was" if known else "is not served"
    return Problem(
        ".",
        Rule.SOURCE_FAILED,
        Severity.ERROR,
        f"the source {quoted(label)} {what}: {error}",
        hint=_UNAVAILABLE_HINT if isinstance(error, SourceUnavailableError) else _FIX,
    )


class WatchFilter:
    """The skills to watch, by the locations of their origins. It can be changed while it is in use."""

    def __init__(self) -> None:
        self.locations: Locations = frozenset()
        self._listeners: list[Callable[[], None]] = []

    def set(self, locations: Locations) -> None:
        """Watch these locations from now on."""
        if locations != self.locations:
            self.locations = locations
            for listener in self._listeners:
                listener()

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever the locations change. Return a function that removes it again."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def ignore_progress(_count: int) -> None:
    """Ignore the progress of a scan."""


class Validator(ABC):
    """Cheap check that something read earlier is unchanged."""

    __slots__ = ()

    @abstractmethod
    def is_current(self) -> bool:
        """Whether it is still unchanged."""


class _NeverChanges(Validator):
    """Validator that is always current."""

    __slots__ = ()

    def is_current(self) -> bool:
        return True


NEVER_CHANGES: Validator = _NeverChanges()
"""Validator for bytes that never change while the program runs."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Everything that a source contains at one moment."""

    entries: tuple[SkillRecord, ...] = ()
    """The skills that can be served."""
    problems: tuple[Problem, ...] = ()
    """Problems of skills that cannot be served, and of the source itself."""
    templates: tuple[SkillTemplate, ...] = ()
    """Skills with parameters in their paths. They are not listed in `entries`."""


class Source(ABC):
    """Base class of everything that skills come from. A subclass implements `scan` and `read`."""

    label: str
    """A short name that distinguishes this source from the others."""

    @property
    def place(self) -> str:
        """The folder or address as the operator wrote it; by default the label. Never sent to clients."""
        return self.label

    @property
    def status(self) -> str:
        """The state of the source in a few words, for `skillwire sources`. Makes no network request."""
        return "there"

    @property
    def fetched(self) -> datetime | None:
        """When the source was last fetched or found unchanged; None if it does not fetch."""
        return None

    async def fetch(self) -> None:  # noqa: B027 - most have nothing to fetch
        """Fetch the newest version now, for the next scan. Raises `SourceError`."""

    async def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Fetch what the first scan needs. Called for all sources at the same time, before any scan."""

    @abstractmethod
    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        """Return all skills. A bad skill is a problem in the scan.

        Raises `SourceError` only if the whole source cannot be scanned.
        """

    @abstractmethod
    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        """Return the bytes of `file` as they are now. The caller compares them with the listed digest.

        Raises `SourceError` if the file cannot be read.
        """

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:  # noqa: ARG002 - for sources that can
        """Return a validator for the current bytes of `file`, or None if the source has none.

        Take it before a read. While it is current, the bytes that were read are still valid.
        """
        return None

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:  # noqa: ARG002 - for sources that can
        """Scan again at least at `where`, and return all skills.

        If possible, the record of an unchanged skill is the same object as before.
        """
        return await self.scan()

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        """Yield where to rescan whenever something may have changed, until the generator is closed.

        With `watch_filter`, only changes to its skills must be noticed. A source that never changes yields
        nothing.
        """
        for nothing in ():
            yield nothing


class WrappedSource(Source):
    """A source that forwards everything to another one. A subclass overrides what it changes."""

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
