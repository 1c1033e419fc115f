"""`Source`, the interface of every source of skills, and the types in that interface."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.core.sorted_items import SortedItems
from skillwire.core.template import SkillTemplate
from skillwire.errors import SourceError, SourceUnavailableError
from skillwire.safe_text import quoted

_FIX = "fix the source; it is scanned again automatically, within half a minute"
_UNAVAILABLE_HINT = "nothing to do if the failure is temporary: Skillwire retries automatically"
Progress: TypeAlias = Callable[[int], None]
"""A function that a scan calls with the number of files and folders, or of skills, found so far."""
Locations: TypeAlias = frozenset[str]
"""The locations to scan again: values of `Origin.location`, or paths below them."""
EVERYWHERE: Locations = frozenset()
"""The empty set of locations, which means that everything is scanned again."""


def source_problem(label: str, error: SourceError, *, known: bool) -> Problem:
    """Return the problem for a source that cannot be scanned.

    `known` tells whether its skills from an earlier scan are still served.
    """
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
        """Call `listener` whenever the locations change. Return a function that removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def ignore_progress(_count: int) -> None:
    """Ignore the progress of a scan."""


class Validator(ABC):
    """A cheap check that data that was read earlier is unchanged."""

    __slots__ = ()

    @abstractmethod
    def is_current(self) -> bool:
        """Return whether the data is still unchanged."""


class _NeverChanges(Validator):
    """Validator that is always current."""

    __slots__ = ()

    def is_current(self) -> bool:
        return True


NEVER_CHANGES: Validator = _NeverChanges()
"""A validator for bytes that never change while the program runs."""


@dataclass(frozen=True, slots=True)
class ScanDelta:
    """The records that differ between two scans of a source. All other records are the same objects."""

    gone: tuple[SkillRecord, ...]
    """The records that are only in the earlier scan."""
    new: tuple[SkillRecord, ...]
    """The records that are only in the later scan."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Everything that a source contains at one moment."""

    entries: Sequence[SkillRecord] = ()
    """The skills that can be served. A source with many skills uses `SortedItems`."""
    problems: tuple[Problem, ...] = ()
    """Problems with skills that cannot be served, and with the source itself."""
    templates: tuple[SkillTemplate, ...] = ()
    """Templates for skills with parameters in their paths. These skills are not listed in `entries`."""

    def delta_since(self, before: "Scan") -> ScanDelta:
        """Return how `entries` differs from those of an earlier scan.

        If both are `SortedItems`, only the parts that they do not share are compared. So a change of a large
        source costs only what changed.
        """
        if isinstance(self.entries, SortedItems) and isinstance(before.entries, SortedItems):
            return ScanDelta(*self.entries.differences(before.entries))
        earlier, later = set(map(id, before.entries)), set(map(id, self.entries))
        gone = tuple(each for each in before.entries if id(each) not in later)
        new = tuple(each for each in self.entries if id(each) not in earlier)
        return ScanDelta(gone, new)


class Source(ABC):
    """The base class of all sources of skills. A subclass implements `scan` and `read`."""

    label: str
    """A short name that distinguishes this source from other sources."""

    def __init_subclass__(cls, **options: object) -> None:
        """Give a subclass that has its own `read` the `read_now` of this class, unless it has its own too.

        Otherwise, an inherited `read_now` would bypass what the subclass does in `read`.
        """
        super().__init_subclass__(**options)
        if "read" in vars(cls) and "read_now" not in vars(cls):
            cls.read_now = Source.read_now

    @property
    def place(self) -> str:
        """The folder or address as the operator wrote it. The default is the label. Never sent to clients."""
        return self.label

    @property
    def status(self) -> str:
        """A short description of the source's state, for `skillwire sources`. Makes no network request."""
        return "there"

    @property
    def fetched(self) -> datetime | None:
        """When the source was last fetched or found unchanged; None if that has never happened."""
        return None

    async def fetch(self) -> None:  # noqa: B027 - most have nothing to fetch
        """Fetch the newest version now, for the next scan. Raises `SourceError`."""

    async def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Fetch what the first scan needs. Called for all sources concurrently, before they are scanned.

        A `SourceError` is ignored, because the scan raises it again.
        """

    @abstractmethod
    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        """Return all skills. A bad skill becomes a problem in the scan.

        Raises `SourceError` only if the whole source cannot be scanned.
        """

    @abstractmethod
    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        """Return the current bytes of `file`. The caller compares them with the listed digest.

        Raises `SourceError` if the file cannot be read.
        """

    def read_now(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes | None:  # noqa: ARG002 - for sources that can
        """Return the current bytes of `file` without waiting, or None if only `read` can tell.

        For sources that read a small file faster than they could start a task. None also stands for every
        error. As after `read`, the caller compares the bytes with the listed digest.
        """
        return None

    async def instance(self, entry: SkillRecord, *, fresh: bool = False) -> SkillRecord | None:  # noqa: ARG002 - for servers
        """Return the source's record of a skill that a template describes; None if `entry` is that record.

        `entry` is the record made from the template. With `fresh`, no cached record is returned. Raises
        `SkillwireError` if there is no such skill.
        """
        return None

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:  # noqa: ARG002 - for sources that can
        """Return a validator for the current bytes of `file`, or None if the source has none.

        Get the validator before a read. As long as it is current, the bytes that were read are valid.
        """
        return None

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:  # noqa: ARG002 - for sources that can
        """Scan at least the locations `where` again, and return all skills.

        If possible, the record of an unchanged skill is the same object as before.
        """
        return await self.scan()

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        """Yield the locations to rescan whenever something may have changed.

        With `watch_filter`, only changes to the skills in the filter must be noticed. A source that never
        changes yields nothing.
        """
        for nothing in ():
            yield nothing


class WrappedSource(Source):
    """A source that forwards everything to another source.

    A subclass overrides the methods that it changes.
    """

    def __init__(self, source: Source) -> None:
        self.label = source.label
        self._source = source

    @property
    def source(self) -> Source:
        """The wrapped source."""
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

    def read_now(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes | None:
        return self.source.read_now(entry, file)

    async def instance(self, entry: SkillRecord, *, fresh: bool = False) -> SkillRecord | None:
        return await self.source.instance(entry, fresh=fresh)

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        return self.source.validator(entry, file)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        return await self.source.rescan(where)

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        async with aclosing(self.source.changes(watch_filter)) as changes:
            async for where in changes:
                yield where
