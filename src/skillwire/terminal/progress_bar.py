"""The progress bar for scans and checks."""

import time

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from skillwire.terminal.output import stderr_console

_SHOW_AFTER_SECONDS = 1.0
"""Seconds before the bar appears."""


class ProgressBar:
    """A progress bar that appears only if the work is slow, and disappears when it is done."""

    def __init__(self, title: str, unit: str, total: int | None = None) -> None:
        """Show `title` and the number of `unit` so far, of `total` if that is known in advance."""
        self._started = time.monotonic()
        self._total = total
        self._task: TaskID | None = None
        of = "" if total is None else f" of {total:,}"
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn(title),
            BarColumn(),
            TextColumn(f"{{task.completed:,}}{of} {unit}"),
            TimeElapsedColumn(),
            console=stderr_console(),
            transient=True,
        )

    def seen(self, number: int) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=number)
        elif time.monotonic() - self._started > _SHOW_AFTER_SECONDS:
            self._progress.start()
            self._task = self._progress.add_task("work", total=self._total, completed=number)

    def stop(self) -> None:
        if self._task is not None:
            self._progress.stop()
