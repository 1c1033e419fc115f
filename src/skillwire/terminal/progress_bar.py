"""The progress bar for scans."""

import time

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from skillwire.terminal.output import stderr_console

_SHOW_AFTER_SECONDS = 1.0
"""Seconds before the bar appears."""


class ProgressBar:
    """A progress bar that appears only for slow scans, and disappears when the scan is done."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._task: TaskID | None = None
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("scanning for skills"),
            BarColumn(),
            TextColumn("{task.completed:,} files and folders"),
            TimeElapsedColumn(),
            console=stderr_console(),
            transient=True,
        )

    def seen(self, number: int) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=number)
        elif time.monotonic() - self._started > _SHOW_AFTER_SECONDS:
            self._progress.start()
            # The total is not known in advance.
            self._task = self._progress.add_task("scan", total=None, completed=number)

    def stop(self) -> None:
        if self._task is not None:
            self._progress.stop()
