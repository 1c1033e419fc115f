"""A sign of life while folders are scanned: only for people, and only if it takes a while."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from skillwire.cli.output import talk
from skillwire.sources.base import Progress as Report
from skillwire.sources.base import unwatched

_PATIENCE = 1.0
"""Seconds before it shows."""


@contextmanager
def scanning() -> Generator[Report]:
    """Yield what a source reports its progress to."""
    if not sys.stderr.isatty():
        yield unwatched
        return
    bar = _Bar()
    try:
        yield bar.seen
    finally:
        bar.stop()


class _Bar:
    def __init__(self) -> None:
        self._started = time.monotonic()
        self._task: TaskID | None = None
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("looking for skills"),
            BarColumn(),
            TextColumn("{task.completed:,} files and folders"),
            TimeElapsedColumn(),
            console=talk(),
            transient=True,
        )

    def seen(self, number: int) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=number)
        elif time.monotonic() - self._started > _PATIENCE:
            self._progress.start()
            self._task = self._progress.add_task(
                "scan", total=None, completed=number
            )  # nobody knows how many there will be

    def stop(self) -> None:
        if self._task is not None:
            self._progress.stop()
