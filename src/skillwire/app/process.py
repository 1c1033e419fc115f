"""Set up the process of a server: the log on stderr, the garbage collector, threads and the event loop."""

import gc
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TextIO

import anyio

from skillwire.core.process import owned

_SWITCH_SECONDS = 0.001
"""Thread switch interval in seconds. It limits how long a request waits for a thread that scans folders."""
SAME_LINES = 5
"""Maximum lines of one kind per minute."""
ALL_LINES = 40
"""Maximum lines of one logger per minute, all kinds together."""
MINUTE = 60.0


class RateLimitedHandler(logging.StreamHandler[TextIO]):
    """Writes the first log records of each kind in each minute, and counts the other records.

    At the end of each minute, writes how many records it left out. Records are of one kind if they have the
    same logger and the same message template. Some loggers put client input into the template, which makes
    each record a new kind. So there is also a limit for all records of one logger.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        same_lines: int = SAME_LINES,
        all_lines: int = ALL_LINES,
        seconds: float = MINUTE,
    ) -> None:
        super().__init__(stream)
        self._same_lines = same_lines
        self._all_lines = all_lines
        self._seconds = seconds
        self._until = 0.0
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._written: Counter[str] = Counter()
        self._left_out: dict[str, tuple[int, int]] = {}
        """The highest level and the number of the omitted records, by logger."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record or, above a limit, only count it. The caller holds the handler's lock."""
        if time.monotonic() >= self._until:
            self._begin()
        name = record.name
        if self._written[name] < self._all_lines:
            kind = name, str(record.msg)[:200]
            self._kinds[kind] += 1
            if self._kinds[kind] <= self._same_lines:
                self._written[name] += 1
                super().emit(record)
                return
        if not self._left_out:
            timer = threading.Timer(max(0.0, self._until - time.monotonic()), self._tick)
            timer.daemon = True
            timer.start()
        level, number = self._left_out.get(name, (0, 0))
        self._left_out[name] = max(level, record.levelno), number + 1

    def close(self) -> None:
        with self.lock or threading.RLock():
            self._summarise()
        super().close()

    def _tick(self) -> None:
        """Write how many records were left out. Runs in the timer's thread."""
        with self.lock or threading.RLock():
            self._summarise()

    def _begin(self) -> None:
        """Write how many records were left out, and begin the next minute."""
        self._summarise()
        self._kinds.clear()
        self._written.clear()
        self._until = time.monotonic() + self._seconds

    def _summarise(self) -> None:
        """Write how many records of each logger were left out."""
        left_out, self._left_out = self._left_out, {}
        for name, (level, number) in left_out.items():
            message = "... and %s more in the last minute"
            super().emit(logging.LogRecord(name, level, "", 0, message, (f"{number:,}",), None))


def log_to_stderr() -> logging.Handler | None:
    """Log warnings to stderr, because stdout belongs to the client. Return the new handler.

    If the program has already set up logging, do nothing and return None.
    """
    if logging.getLogger().handlers:
        return None
    handler = RateLimitedHandler(sys.stderr)
    logging.basicConfig(
        level=logging.WARNING, handlers=[handler], format="%(levelname)s: %(name)s: %(message)s"
    )
    return handler


@contextmanager
def own_process() -> Generator[None]:
    """Configure the whole process for one server while the block runs, then restore it.

    Does nothing outside the main thread, because the process then belongs to other code.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    root, seconds, frozen = logging.getLogger(), sys.getswitchinterval(), gc.get_freeze_count()
    level, handler = root.level, log_to_stderr()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        with owned():
            yield
    finally:
        sys.setswitchinterval(seconds)
        if not frozen:  # otherwise it would also unfreeze objects that other code froze before
            gc.unfreeze()
        if handler is not None:
            root.removeHandler(handler)
            root.setLevel(level)
            handler.close()


def run_loop(serving: Callable[[], Awaitable[None]]) -> None:
    """Configure the process, and run `serving` in an event loop. Uses uvloop if it is installed."""
    with own_process():
        anyio.run(serving, backend_options={"use_uvloop": find_spec("uvloop") is not None})
