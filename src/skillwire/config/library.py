"""Load the library of named sources, with a progress bar if loading takes long."""

import shlex
import sys
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager

import anyio

from skillwire.config.choice import ConfigChoice, choose_config
from skillwire.config.file import read_overrides
from skillwire.config.source_config import LibraryOptions, open_sources
from skillwire.config.typed_sources import typed_sources
from skillwire.core.patterns import Selection
from skillwire.core.process import gc_paused
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.library.visibility import VisibilityPolicy
from skillwire.safe_text import escape_invisible
from skillwire.sources.base import Progress as Report
from skillwire.sources.base import ignore_progress


@contextmanager
def show_progress(title: str, unit: str, total: int | None = None) -> Generator[Report]:
    """Yield a callback for the progress of slow work. On a terminal, it shows a progress bar.

    The bar shows `title` and the number of `unit` so far, of `total` if that is known in advance.
    """
    if not sys.stderr.isatty():
        yield ignore_progress
        return
    from skillwire.terminal.progress_bar import ProgressBar  # noqa: PLC0415 - needed only on a terminal

    bar = ProgressBar(title, unit, total)
    try:
        yield bar.seen
    finally:
        bar.stop()


def scanning() -> AbstractContextManager[Report]:
    """Return a context manager that yields a callback for the progress of scans."""
    return show_progress("scanning for skills", "files and folders")


def load_library(
    arguments: Sequence[str],
    *,
    follow_links: bool = False,
    config: ConfigChoice | None = None,
    selection: Selection | None = None,
) -> Library:
    """Scan the named sources, or the default sources if none are named. Return their library.

    Limits, allowed origins and visibility come from the configuration file in both cases. Raises
    `UsageError`.
    """
    config = config or choose_config(None, named=bool(arguments))
    options = LibraryOptions(follow_links=follow_links, configured_sources=config.sources)
    opened = open_sources(typed_sources(arguments), options, config.file)
    visibility = None if config.file is None else VisibilityPolicy(read_overrides(config.file))
    sources = [each.source for each in opened]
    library = Library(sources, visibility=visibility, selection=selection, once=True)
    anyio.run(load, library)
    return library


async def load(library: Library) -> Catalog:
    """Scan the sources of `library`, with a progress bar on a terminal if the scan is slow."""
    with gc_paused(), scanning() as progress:
        return await library.load(progress)


def check_command(library: Library) -> str:
    """Return the beginning of a sentence: the command that shows the problems of these sources."""
    existing = (
        source for source in library.sources if source.place and source not in library.pending_sources
    )
    places = " ".join(escape_invisible(shlex.quote(source.place)) for source in existing)
    return f"`skillwire check {places}` shows"
