"""Sources whose skills are first fetched, and then served from a local folder."""

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
"""Seconds before a fetch that ran out of file descriptors or memory is retried. Doubled each time."""
_START_SECONDS = 15.0
"""Maximum time that a live source waits for the first fetch, in seconds.

After that, the source starts without skills and fetches later.
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A fetched folder. It is complete and never changes."""

    root: Path
    version: str
    """A commit or a digest. Snapshots with the same version have the same content."""
    problems: tuple[Problem, ...] = ()
    """A problem for each part that was left out or is outdated, such as a skill or a submodule."""
    folder: Path | None = None
    """The folder to delete when the snapshot is no longer needed, if that is not `root`."""


class Fetcher(ABC):
    """Fetches snapshots from one remote location. Each kind of location has its own subclass."""

    place: str
    """The address as the operator wrote it, without secrets."""

    @abstractmethod
    async def fetch(self) -> Snapshot:
        """Return a snapshot of the current content, with the same root as before if nothing has changed.

        Raises `SourceError`.

        The previous snapshot stays on disk, because it may still be read. Older snapshots may be deleted.
        """

    @abstractmethod
    def last(self) -> Snapshot | None:
        """Return the last good snapshot from this or an earlier run, or None. Makes no network request."""

    async def changes(self, every: float) -> AsyncGenerator[None]:
        """Yield whenever it is time to fetch again: by default, after `every` seconds."""
        while True:
            await anyio.sleep(every)
            yield


class FetchedSource(Source):
    """The skills in the newest snapshot from a `Fetcher`.

    If fetching fails, the last good snapshot is used.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        label: str,
        limits: Limits | None = None,
        every: float = POLL_SECONDS,
        live: bool = False,
    ) -> None:
        """Serve snapshots from `fetcher`, which decides when to fetch again, usually after `every` seconds.

        With `live`, the last good snapshot is served at once, and the newest snapshot as soon as it is
        fetched. Raises `PlatformError` on Windows.
        """
        require_posix("serving fetched skills")
        self.label = label
        self._fetcher = fetcher
        self._limits = limits or Limits()
        self._every = every
        self._live = live
        self._has_tried = self._is_prepared = False
        self._snapshot: Snapshot | None = None
        self._folder: FolderSource | None = None
        self._failure: SourceError | None = None
        self._fetched: datetime | None = None
        self._in_use: deque[FileLock] = deque()
        """Locks on the served snapshot and the previous snapshot, which may still be read."""

    @property
    def place(self) -> str:
        return self._fetcher.place

    @property
    def status(self) -> str:
        version = "" if self.last is None else self.last.version.removeprefix("sha256:")[:12]
        return f"fetched, {version}" if version else "not fetched yet"

    async def fetch(self) -> None:
        """Fetch now, and serve the new snapshot from the next scan on. Raises `SourceError`."""
        self._has_tried = True
        try:
            snapshot = await self._fetcher.fetch()
        except SourceError as error:
            self._failure = error
            raise
        self._failure = None
        self._fetched = datetime.now(UTC)
        self._serve_snapshot(snapshot)

    @property
    def fetched(self) -> datetime | None:
        return self._fetched

    @property
    def last(self) -> Snapshot | None:
        """The snapshot that is served, or would be served if fetching failed; None if there is none."""
        return self._snapshot or self._fetcher.last()

    async def prepare(self) -> None:
        if not self._is_prepared:
            self._is_prepared = True
            await self._prepare_first_snapshot()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        await self.prepare()
        if self._folder is None:
            raise self._failure or SourceError("it is still being fetched")
        return self._add_problems(await self._folder.scan(progress))

    async def _prepare_first_snapshot(self) -> None:
        last = self._fetcher.last()
        if last is None or not self._live:
            with (
                contextlib.suppress(SourceError),
                anyio.move_on_after(_START_SECONDS if self._live else None),
            ):
                await self.fetch()
        if self._folder is None and last is not None:
            self._serve_snapshot(last)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if self._folder is None or where == EVERYWHERE:
            return await self.scan()
        return self._add_problems(await self._folder.rescan(where))

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        if self._folder is None:
            raise SourceError("nothing has been fetched yet")
        return await self._folder.read(entry, file)

    def read_now(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes | None:
        return None if self._folder is None else self._folder.read_now(entry, file)

    def validator(self, entry: SkillRecord, file: SkillFile | LiveFile) -> Validator | None:
        return None if self._folder is None else self._folder.validator(entry, file)

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        if watch_filter is not None:  # with a filter, the listed versions stay the same
            return
        if not self._has_tried or self._folder is None:
            await self._try_fetch()
            yield EVERYWHERE
            async with contextlib.aclosing(self._retries()) as retries:
                async for where in retries:
                    yield where
        async with contextlib.aclosing(self._fetcher.changes(self._every)) as times:
            async for _ in times:
                if await self._try_fetch():
                    yield EVERYWHERE
                async with contextlib.aclosing(self._retries()) as retries:
                    async for where in retries:
                        yield where

    async def _retries(self) -> AsyncGenerator[Locations]:
        """Retry a fetch as long as it fails because the machine is out of resources.

        Yield `EVERYWHERE` if the snapshot or the error changes. Without retries, the change would be missed,
        because a fetcher does not report it twice.
        """
        pause = _FIRST_RETRY
        while isinstance(self._failure, SourceBusyError):
            await anyio.sleep(min(pause, self._every))
            pause = min(2 * pause, _LAST_RETRY)
            if await self._try_fetch():
                yield EVERYWHERE

    async def _try_fetch(self) -> bool:
        """Try to fetch. Return whether the snapshot or the error message changed."""
        before = self._snapshot, str(self._failure)
        with contextlib.suppress(SourceError):
            await self.fetch()
        return before != (self._snapshot, str(self._failure))

    def _serve_snapshot(self, snapshot: Snapshot) -> None:
        if self._snapshot is None or snapshot.root != self._snapshot.root:
            if (lock := mark_in_use(snapshot.folder or snapshot.root)) is not None:
                self._in_use.append(lock)
            while len(self._in_use) > 2:
                self._in_use.popleft().release()
            self._folder = FolderSource(snapshot.root, label=self.label, limits=self._limits)
        self._snapshot = snapshot

    def _add_problems(self, scan: Scan) -> Scan:
        """Add the problems of the snapshot and of the last fetch to a scan."""
        problems = (*(self._snapshot.problems if self._snapshot else ()), *scan.problems)
        if self._failure is not None:
            problems = (*problems, _stale_problem(self._failure))
        return replace(scan, problems=problems)


def _stale_problem(failure: SourceError) -> Problem:
    return Problem(
        ".",
        Rule.SOURCE_STALE,
        Severity.WARNING,
        f"it cannot be fetched now, so the last good copy is served: {failure}",
        hint="nothing to do if the failure is temporary: Skillwire retries automatically",
    )
