"""Skills that live elsewhere: a copy is fetched to this machine, and served as any folder is."""

import contextlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import anyio

from skillwire.core.file_lock import FileLock, mark_in_use
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits, LiveFile, SkillFile, SkillRecord
from skillwire.core.system import require_posix
from skillwire.errors import SourceBusyError, SourceError
from skillwire.sources.base import (
    EVERYWHERE,
    Locations,
    Progress,
    Scan,
    Source,
    Validator,
    WatchFilter,
    ignore_progress,
)
from skillwire.sources.folder.source import FolderSource

POLL_SECONDS = 300.0
_FIRST_RETRY, _LAST_RETRY = 0.5, 30.0
"""Seconds before a fetch is repeated that failed for lack of descriptors or memory. Doubled each time."""
_START_SECONDS = 15.0
"""How long the start of a service waits for the first copy. It goes on without, and serves it later."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A fetched folder. It is complete, and never written to again."""

    root: Path
    version: str
    """A commit or a digest: copies of one version have the same content."""
    problems: tuple[Problem, ...] = ()
    """What had to be left out, each with its remedy."""
    folder: Path | None = None
    """What is thrown away when nobody needs it any more, if that is more than the root."""


class Fetcher(ABC):
    """Fetches copies of one remote place. One subclass for each kind of place."""

    place: str
    """What the operator calls it. Never holds a secret."""

    @abstractmethod
    async def fetch(self) -> Snapshot:
        """Return a copy of what is there now; the one before, if nothing changed. Raises `SourceError`.

        The copy before stays on disk for as long as somebody may read from it: until the next but one.
        """

    @abstractmethod
    def last(self) -> Snapshot | None:
        """Return the last good copy, of this run or an earlier one, without asking anybody."""

    async def changes(self, every: float) -> AsyncGenerator[None]:
        """Yield whenever it is time to fetch again."""
        while True:
            await anyio.sleep(every)
            yield


class FetchedSource(Source):
    """The skills of the newest copy of a mirror, or of its last good copy."""

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        label: str,
        limits: Limits | None = None,
        every: float = POLL_SECONDS,
        live: bool = False,
    ) -> None:
        """With `live`, the last good copy is served at once, and the newest as soon as it is here.

        Raises `PlatformError` on Windows.
        """
        require_posix("serving fetched skills")
        self.label = label
        self._fetcher = fetcher
        self._limits = limits or Limits()
        self._every = every
        self._live = live
        self._has_synced = self._is_prepared = False
        self._copy: Snapshot | None = None
        self._folder: FolderSource | None = None
        self._failure: SourceError | None = None
        self._fetched: datetime | None = None
        self._in_use: deque[FileLock] = deque()
        """Marks on the copy that is served, and the one before: somebody may still read from that."""

    @property
    def place(self) -> str:
        return self._fetcher.place

    @property
    def status(self) -> str:
        version = "" if self.last is None else self.last.version.removeprefix("sha256:")[:12]
        return f"fetched, {version}" if version else "not fetched yet"

    async def sync(self) -> Snapshot:
        """Fetch, and serve what was fetched from the next scan on. Raises `SourceError`."""
        self._has_synced = True
        try:
            copy = await self._fetcher.fetch()
        except SourceError as error:
            self._failure = error
            raise
        self._failure = None
        self._fetched = datetime.now(UTC)
        self._serve_copy(copy)
        return copy

    @property
    def fetched(self) -> datetime | None:
        return self._fetched

    async def fetch(self) -> None:
        await self.sync()

    @property
    def last(self) -> Snapshot | None:
        """What would be served if nobody could be asked."""
        return self._copy or self._fetcher.last()

    async def prepare(self) -> None:
        if not self._is_prepared:
            self._is_prepared = True
            await self._prepare_first_copy()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        await self.prepare()
        if self._folder is None:
            raise self._failure or SourceError("it is still being fetched")
        return self._add_problems(await self._folder.scan(progress))

    async def _prepare_first_copy(self) -> None:
        last = self._fetcher.last()
        if last is None or not self._live:
            with (
                contextlib.suppress(SourceError),
                anyio.move_on_after(_START_SECONDS if self._live else None),
            ):
                await self.sync()
        if self._folder is None and last is not None:
            self._serve_copy(last)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if self._folder is None or where == EVERYWHERE:
            return await self.scan()
        return self._add_problems(await self._folder.rescan(where))

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        if self._folder is None:
            raise SourceError("nothing was fetched yet")
        return await self._folder.read(entry, file)

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        return None if self._folder is None else self._folder.validator(entry, file)

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        if (
            watch_filter is not None
        ):  # whoever wants the skills to stay as they are does not ask for newer ones
            return
        if not self._has_synced or self._folder is None:
            await self._try_sync()
            yield EVERYWHERE
            async with contextlib.aclosing(self._retries()) as retries:
                async for where in retries:
                    yield where
        async with contextlib.aclosing(self._fetcher.changes(self._every)) as times:
            async for _ in times:
                if await self._try_sync():
                    yield EVERYWHERE
                async with contextlib.aclosing(self._retries()) as retries:
                    async for where in retries:
                        yield where

    async def _retries(self) -> AsyncGenerator[Locations]:
        """Fetch again while this machine is out of something: a mirror does not report a change twice."""
        pause = _FIRST_RETRY
        while isinstance(self._failure, SourceBusyError):
            await anyio.sleep(min(pause, self._every))
            pause = min(2 * pause, _LAST_RETRY)
            if await self._try_sync():
                yield EVERYWHERE

    async def _try_sync(self) -> bool:
        """Fetch if that can be done; return whether anything is to be told differently now."""
        before = self._copy, str(self._failure)
        with contextlib.suppress(SourceError):
            await self.sync()
        return before != (self._copy, str(self._failure))

    def _serve_copy(self, copy: Snapshot) -> None:
        if self._copy is None or copy.root != self._copy.root:
            if (lock := mark_in_use(copy.folder or copy.root)) is not None:
                self._in_use.append(lock)
            while len(self._in_use) > 2:
                self._in_use.popleft().release()
            self._folder = FolderSource(copy.root, label=self.label, limits=self._limits)
        self._copy = copy

    def _add_problems(self, scan: Scan) -> Scan:
        """Return the scan with what is wrong with the copy itself."""
        problems = (*(self._copy.problems if self._copy else ()), *scan.problems)
        if self._failure is not None:
            problems = (*problems, _stale_problem(self._failure))
        return replace(scan, problems=problems)


def _stale_problem(failure: SourceError) -> Problem:
    return Problem(
        ".",
        Rule.SOURCE_STALE,
        Severity.WARNING,
        f"it cannot be fetched now, so the last good copy is served: {failure}",
        hint="nothing to do if it comes back; it is asked again from time to time",
    )
