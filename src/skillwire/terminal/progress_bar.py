"""What a person sees while folders are scanned."""

import time

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from skillwire.terminal.output import stderr_console

_SHOW_AFTER_SECONDS = 1.0
"""Seconds before it shows."""


class ProgressBar:
    """Shows after a while, and goes when the scan is done."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._task: TaskID | None = None
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("looking for skills"),
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
            # Nobody knows how many there will be.
            self._task = self._progress.add_task("scan", total=None, completed=number)

    def stop(self) -> None:
        if self._task is not None:
            self._progress.stop()
