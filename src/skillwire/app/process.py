"""Own the process of a server: the log on stderr, the garbage collector, threads and the event loop."""

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
"""How long a request waits, at most, for each turn of a thread that looks at folders meanwhile."""
SAME_LINES = 5
"""Lines of one kind that are written each minute."""
ALL_LINES = 40
"""Lines of one logger that are written each minute, whatever their kind."""
MINUTE = 60.0


class RateLimitedHandler(logging.StreamHandler[TextIO]):
    """Writes the first records of each kind, and at the end of the minute how many more there were.

    Records are of one kind if they have the same logger and the same template. A logger that puts what
    clients send into its templates would make a new kind each time, hence the second limit.
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
        """By logger: the highest level that was left out, and how many records."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it. The caller holds the lock of the handler."""
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
        with self.lock or threading.RLock():
            self._summarise()

    def _begin(self) -> None:
        self._summarise()
        self._kinds.clear()
        self._written.clear()
        self._until = time.monotonic() + self._seconds

    def _summarise(self) -> None:
        left_out, self._left_out = self._left_out, {}
        for name, (level, number) in left_out.items():
            said = "... and %s more in the last minute"
            super().emit(logging.LogRecord(name, level, "", 0, said, (f"{number:,}",), None))


def log_to_stderr() -> logging.Handler | None:
    """Let people see what goes wrong inside. Stdout belongs to the client.

    Returns what was added to the log. A program that has set up its own keeps it, and nothing is added.
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
    """Fit the whole process to one server meanwhile, and leave it as it was.

    On any thread but the main one, the process is somebody else's, and nothing is done to it.
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
        if not frozen:  # else somebody set something aside before, and it cannot be told apart
            gc.unfreeze()
        if handler is not None:
            root.removeHandler(handler)
            root.setLevel(level)
            handler.close()


def run_loop(serving: Callable[[], Awaitable[None]]) -> None:
    """Run the event loop in a process of its own; uvloop where it is to be had."""
    with own_process():
        anyio.run(serving, backend_options={"use_uvloop": find_spec("uvloop") is not None})
