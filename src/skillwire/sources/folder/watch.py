"""Noticing that files changed, by the system's word; by looking now and then where it has none."""

import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.sources.base import EVERYWHERE, Locations, WatchFilter
from skillwire.sources.folder.watch_plan import WatchPlan

_log = logging.getLogger(__name__)

_POLLING = Problem(
    ".",
    Rule.WATCH_POLLING,
    Severity.WARNING,
    "changes are noticed late, by looking every few seconds: the system does not watch all these folders",
    hint="let it watch more (Linux: `sysctl fs.inotify.max_user_watches`), or serve less",
)
_DEBOUNCE_MS = 50
_STEP_MS = 20
"""How long the system is given to say more. An edit is noticed after one or two steps."""
_ARMED_MS = 50
_MAX_LOCATIONS = 2000
"""Changes at once after which the system may have lost some: once it is quiet, everything is looked at."""
_QUIET_SECONDS = 1.0
_POLL_SECONDS = 2.0
_POLL_SHARE = 10
"""While polling, at most one part in so many of the time is spent looking."""
_POLLS_BEFORE_RETRY = 30
_NOT_FOUND_MESSAGES = ("No path was found", "os error 2)", "os error 20)")
"""How the watcher words it that a folder is not there, or is no folder."""
_TRIES = 20


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Where something may have changed, and what keeps the watcher from doing better."""

    where: Locations
    problem: Problem | None = None


class _CannotWatchError(Exception):
    """The system does not watch these folders for us, or no longer does."""

    def __init__(self, error: BaseException) -> None:
        told = str(error)
        self.gone = isinstance(error, FileNotFoundError) or any(each in told for each in _NOT_FOUND_MESSAGES)
        """Whether a folder went away before it could be watched."""
        super().__init__(str(error))


async def watch(
    plan: Callable[[], WatchPlan], location_filter: WatchFilter | None = None
) -> AsyncGenerator[WatchEvent]:
    """Yield what changes in the folders of `plan`, which is asked again after each yield.

    The first yield covers everything, for changes before the watcher started. With `location_filter`,
    the plan is asked again whenever that turns elsewhere, and what was not planned for is of no interest.
    """
    tries = 0
    while True:
        try:
            async with aclosing(_watch_by_notification(plan, location_filter)) as notices:
                async for event in notices:
                    yield event
                    tries = 0
        except _CannotWatchError as error:
            tries += 1
            if error.gone and tries < _TRIES:  # a folder went away meanwhile: look, and plan anew
                await anyio.sleep(_POLL_SECONDS / 100)
                yield WatchEvent(EVERYWHERE)
                continue
            _log.warning("folders cannot be watched, so they are looked at now and then: %s", error)
            for _ in range(_POLLS_BEFORE_RETRY):
                began = time.monotonic()
                yield WatchEvent(EVERYWHERE, _POLLING)
                await anyio.sleep(max(_POLL_SECONDS, _POLL_SHARE * (time.monotonic() - began)))


async def _watch_by_notification(
    plan: Callable[[], WatchPlan], location_filter: WatchFilter | None
) -> AsyncGenerator[WatchEvent]:
    watched = WatchPlan()
    inbox = _Inbox()
    everywhere = location_filter is None
    doubtful = False
    turned = (lambda: None) if location_filter is None else location_filter.on_change(inbox.wake)
    old: _WatchThreads | None = None
    try:
        while True:
            wanted = await anyio.to_thread.run_sync(plan)
            if wanted != watched:
                threads = _WatchThreads(wanted, inbox)
                # The old ones watch on until the new ones do: no change falls in between.
                await threads.armed()
                if old is not None:
                    old.stop()
                old = threads
                # What happened in a folder before it was watched, nobody told.
                new, watched = wanted.new_since(watched), wanted
                if everywhere or new:
                    yield WatchEvent(EVERYWHERE if everywhere else new)
                    everywhere = False
                    continue
            seen: set[str] = set()
            with anyio.move_on_after(_QUIET_SECONDS if doubtful else None) as waiting:
                seen = await inbox.take()
            if waiting.cancelled_caught:
                doubtful = False
                yield WatchEvent(EVERYWHERE)
                continue
            locations = await anyio.to_thread.run_sync(wanted.filter_relevant, seen)
            doubtful = doubtful or len(locations) > _MAX_LOCATIONS
            if locations & wanted.folders:
                # A watch is on the folder that was there, not on its path: begin anew with these.
                watched = watched.without(locations)
            if locations:
                yield WatchEvent(locations)
    finally:
        turned()
        if old is not None:
            old.stop()


class _Inbox:
    """Where threads put what they saw, and the loop takes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locations: set[str] = set()
        self._error: _CannotWatchError | None = None
        self._filled = anyio.Event()
        self._token = anyio.lowlevel.current_token()

    def put(self, locations: Collection[str]) -> None:
        with self._lock:
            self._locations.update(locations)
        self._wake()

    def wake(self) -> None:
        """Let the loop look about, though nothing was seen. For callers in the loop."""
        self._filled.set()

    def fail(self, error: _CannotWatchError) -> None:
        self._error = error
        self._wake()

    async def take(self) -> set[str]:
        """Return all that was seen since the last time. Raises what a thread ran into."""
        await self._filled.wait()
        self._filled = anyio.Event()
        if self._error is not None:
            raise self._error
        with self._lock:
            taken, self._locations = self._locations, set()
        return taken

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the event loop is gone
            anyio.from_thread.run_sync(self.wake, token=self._token)


class _WatchThreads:
    """The threads that watch the folders of one plan."""

    def __init__(self, plan: WatchPlan, inbox: _Inbox) -> None:
        self._stop = threading.Event()
        self._inbox = inbox
        self._token = anyio.lowlevel.current_token()
        self._armed = [
            self._start(sorted(folders), deep=deep)
            for folders, deep in ((plan.shallow_folders, False), (plan.deep, True))
            if folders
        ]

    async def armed(self) -> None:
        """Wait until every folder is watched. Raises why one cannot be."""
        try:
            for armed in self._armed:
                await armed.wait()
                armed.raise_if_failed()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self._stop.set()

    def _start(self, folders: list[str], *, deep: bool) -> "_ReadySignal":
        armed = _ReadySignal(self._token)
        arguments = (folders, deep, armed)
        threading.Thread(target=self._pump, args=arguments, name="skillwire-watch", daemon=True).start()
        return armed

    def _pump(self, folders: list[str], deep: bool, armed: "_ReadySignal") -> None:  # noqa: FBT001 - of one thread
        import watchfiles  # noqa: PLC0415 - in the thread: nothing has to wait for it

        try:
            with closing(
                watchfiles.watch(
                    *folders,
                    watch_filter=None,
                    debounce=_DEBOUNCE_MS,
                    step=_STEP_MS,
                    stop_event=self._stop,
                    rust_timeout=_ARMED_MS,
                    yield_on_timeout=True,
                    raise_interrupt=False,
                    recursive=deep,
                )
            ) as batches:
                for batch in batches:
                    armed.succeed()
                    if batch:
                        self._inbox.put({location for _, location in batch})
        except Exception as error:  # noqa: BLE001 - of any kind: told to whoever waits, in the loop
            failure = _CannotWatchError(error)
            if not armed.fail(failure):
                self._inbox.fail(failure)


class _ReadySignal:
    """Whether a thread watches yet."""

    def __init__(self, token: anyio.lowlevel.EventLoopToken) -> None:
        self._known = anyio.Event()
        self._token = token
        self._error: _CannotWatchError | None = None
        self._told = False

    async def wait(self) -> None:
        await self._known.wait()

    def raise_if_failed(self) -> None:
        if self._error is not None:
            raise self._error

    def succeed(self) -> None:
        self._tell()

    def fail(self, error: _CannotWatchError) -> bool:
        """Say that it never will; False if it did before."""
        if self._told:
            return False
        self._error = error
        self._tell()
        return True

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            with suppress(RuntimeError):  # the event loop is gone
                anyio.from_thread.run_sync(self._known.set, token=self._token)
