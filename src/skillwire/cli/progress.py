"""A sign of life while folders are scanned: only for people, and only if it takes a while."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

from skillwire.sources.base import Progress as Report
from skillwire.sources.base import unwatched


@contextmanager
def scanning() -> Generator[Report]:
    """Yield what a source reports its progress to."""
    if not sys.stderr.isatty():
        yield unwatched
        return
    from skillwire.cli.progress_bar import ProgressBar  # noqa: PLC0415 - nobody looks at most scans

    bar = ProgressBar()
    try:
        yield bar.seen
    finally:
        bar.stop()
