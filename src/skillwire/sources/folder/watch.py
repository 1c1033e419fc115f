"""Watch folders for changes, by system notifications if possible, else by polling."""

import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Collection, Generator
from contextlib import aclosing, closing, contextmanager, suppress
from dataclasses import dataclass

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.sources.base import EVERYWHERE, Locations, WatchFilter
from skillwire.sources.folder.watch_plan import WatchPlan

_log = logging.getLogger(__name__)

_POLLING = "changes are noticed late, by polling every few seconds"
_REASONS = (
    (
        ("watch limit reached", "os error 28)"),
        "the system cannot watch all these folders",
        "raise the limit (Linux: `sysctl fs.inotify.max_user_watches`), or serve fewer folders",
    ),
    (
        ("os error 24)", "os error 23)"),
        "too many files are open or watched",
        "raise the limit (Linux: `sysctl fs.inotify.max_user_instances`, or `ulimit -n`)",
    ),
)
"""Why watching fails: texts in the messages from watchfiles, the reason to report, and what helps."""
_GONE = "folders were removed again and again while they were to be watched", "watching is tried again"
_OTHER = "the system cannot watch these folders", "the log has the error; watching is tried again later"
_DEBOUNCE_MS = 50
_STEP_MS = 20
"""Milliseconds between two checks for further changes. An edit is noticed after one or two checks."""
_ARMED_MS = 50
_MAX_LOCATIONS = 2000
"""Maximum number of changes at once.

If there are more, the system may have lost some, so everything is rescanned later.
"""
_QUIET_SECONDS = 1.0
_POLL_SECONDS = 2.0
_POLL_SHARE = 10
"""The minimum pause while polling, as a multiple of the time that a scan takes."""
_POLLS_BEFORE_RETRY = 30
_NOT_FOUND_MESSAGES = ("No path was found", "os error 2)", "os error 20)")
"""Messages from watchfiles about a folder that does not exist or is not a folder."""
_MAX_TRIES = 20


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """The locations where something may have changed."""

    where: Locations
    problem: Problem | None = None
    """The problem to report while the folders are polled; None while they are watched."""


class _CannotWatchError(Exception):
    """The system cannot watch these folders, or has stopped watching them."""

    def __init__(self, error: BaseException) -> None:
        message = str(error)
        self.gone = isinstance(error, FileNotFoundError) or any(
            each in message for each in _NOT_FOUND_MESSAGES
        )
        """Whether a folder was removed before it could be watched."""
        known = (texts[1:] for texts in _REASONS if any(each in message for each in texts[0]))
        reason, hint = _GONE if self.gone else next(known, _OTHER)
        self.problem = Problem(".", Rule.WATCH_POLLING, Severity.WARNING, f"{_POLLING}: {reason}", hint=hint)
        """The problem to report while the folders are polled. It names no path of this machine."""
        self.level = logging.WARNING if (reason, hint) == _OTHER else logging.INFO
        """The level at which the error itself is logged: a warning, if the problem does not explain it."""
        super().__init__(message)


async def watch(
    plan: Callable[[], WatchPlan], location_filter: WatchFilter | None = None
) -> AsyncGenerator[WatchEvent]:
    """Yield the locations that changed in the folders of `plan`, which is called again after each yield.

    The first event covers everything, for changes before the watcher started. With `location_filter`, `plan`
    is also called whenever the filter changes, and the first event covers only newly watched folders. If the
    system cannot watch the folders, yields `EVERYWHERE` every few seconds.
    """
    tries = 0
    while True:
        try:
            async with aclosing(_watch_by_notification(plan, location_filter)) as events:
                async for event in events:
                    yield event
                    tries = 0
        except _CannotWatchError as error:
            tries += 1
            if error.gone and tries < _MAX_TRIES:  # a folder was removed in the meantime; scan and plan again
                await anyio.sleep(_POLL_SECONDS / 100)
                yield WatchEvent(EVERYWHERE)
                continue
            _log.log(error.level, "folders cannot be watched, so they are polled: %s", error)
            for _ in range(1 if error.gone else _POLLS_BEFORE_RETRY):
                began = time.monotonic()
                yield WatchEvent(EVERYWHERE, error.problem)
                await anyio.sleep(max(_POLL_SECONDS, _POLL_SHARE * (time.monotonic() - began)))


async def _watch_by_notification(
    plan: Callable[[], WatchPlan], location_filter: WatchFilter | None
) -> AsyncGenerator[WatchEvent]:
    watched = WatchPlan()
    inbox = _Inbox()
    everywhere = location_filter is None
    may_have_lost = False
    stop_listening = (lambda: None) if location_filter is None else location_filter.on_change(inbox.wake)
    old: _WatchThreads | None = None
    try:
        while True:
            current = await anyio.to_thread.run_sync(plan)
            if current != watched:
                threads = _WatchThreads(current, inbox)
                # The old threads watch until the new threads have started, so that no change is missed.
                await threads.armed()
                if old is not None:
                    old.stop()
                old = threads
                # Changes in a folder before it was watched were not reported.
                new, watched = current.new_since(watched), current
                if everywhere or new:
                    yield WatchEvent(EVERYWHERE if everywhere else new)
                    everywhere = False
                    continue
            changed: set[str] = set()
            with anyio.move_on_after(_QUIET_SECONDS if may_have_lost else None) as waiting:
                changed = await inbox.take()
            if waiting.cancelled_caught:
                may_have_lost = False
                yield WatchEvent(EVERYWHERE)
                continue
            locations = await anyio.to_thread.run_sync(current.filter_relevant, changed)
            may_have_lost = may_have_lost or len(locations) > _MAX_LOCATIONS
            if locations & current.folders:
                # A watch follows the folder and not its path, so replaced folders need new watches.
                watched = watched.without(locations)
            if locations:
                yield WatchEvent(locations)
    finally:
        stop_listening()
        if old is not None:
            old.stop()


class _Inbox:
    """Changed locations, passed from the watching threads to the event loop."""

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
        """Let `take` return although nothing changed. Call it only in the event loop."""
        self._filled.set()

    def fail(self, error: _CannotWatchError) -> None:
        self._error = error
        self._wake()

    async def take(self) -> set[str]:
        """Wait for changes. Return all locations since the last call.

        Raises the error of a thread that failed.
        """
        await self._filled.wait()
        self._filled = anyio.Event()
        if self._error is not None:
            raise self._error
        with self._lock:
            taken, self._locations = self._locations, set()
        return taken

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            anyio.from_thread.run_sync(self.wake, token=self._token)


@contextmanager
def _quiet_in_this_thread() -> Generator[None]:
    """Drop what watchfiles logs about each change in this thread. Other uses of watchfiles log as before."""
    thread, logger = threading.get_ident(), logging.getLogger("watchfiles.main")

    def is_of_others(record: logging.LogRecord) -> bool:
        return record.thread != thread or record.levelno >= logging.WARNING

    logger.addFilter(is_of_others)
    try:
        yield
    finally:
        logger.removeFilter(is_of_others)


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
        """Wait until every folder is watched. Raises `_CannotWatchError` if a folder cannot be watched."""
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

    def _pump(self, folders: list[str], deep: bool, armed: "_ReadySignal") -> None:  # noqa: FBT001 - thread arguments are positional
        import watchfiles  # noqa: PLC0415 - imported in the thread, so that the event loop does not wait for it

        try:
            with (
                _quiet_in_this_thread(),
                closing(
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
                ) as batches,
            ):
                for batch in batches:
                    armed.succeed()
                    if batch:
                        self._inbox.put({location for _, location in batch})
        except Exception as error:  # noqa: BLE001 - passed on to the event loop
            failure = _CannotWatchError(error)
            if not armed.fail(failure):
                self._inbox.fail(failure)


class _ReadySignal:
    """Tells the event loop whether a thread has started to watch, or has failed."""

    def __init__(self, token: anyio.lowlevel.EventLoopToken) -> None:
        self._known = anyio.Event()
        self._token = token
        self._error: _CannotWatchError | None = None
        self._sent = False

    async def wait(self) -> None:
        await self._known.wait()

    def raise_if_failed(self) -> None:
        if self._error is not None:
            raise self._error

    def succeed(self) -> None:
        self._send()

    def fail(self, error: _CannotWatchError) -> bool:
        """Report that the thread cannot watch. If it had already started, return False and report nothing."""
        if self._sent:
            return False
        self._error = error
        self._send()
        return True

    def _send(self) -> None:
        if not self._sent:
            self._sent = True
            with suppress(RuntimeError):  # the event loop has ended
                anyio.from_thread.run_sync(self._known.set, token=self._token)
