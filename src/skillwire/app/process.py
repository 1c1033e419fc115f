"""Set up a process that is ours: the log on stderr and the event loop."""

import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TextIO

import anyio

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


def log_to_stderr() -> None:
    """Let people see what goes wrong inside. Stdout belongs to the client."""
    logging.basicConfig(
        level=logging.WARNING,
        handlers=[RateLimitedHandler(sys.stderr)],
        format="%(levelname)s: %(name)s: %(message)s",
    )


def run(serving: Callable[[], Awaitable[None]]) -> None:
    """Run the event loop; uvloop where it is to be had."""
    anyio.run(serving, backend_options={"use_uvloop": find_spec("uvloop") is not None})
