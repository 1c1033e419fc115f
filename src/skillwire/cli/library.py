"""From the sources that a person named to a loaded library."""

import gc
import os
from collections.abc import Sequence

import anyio

from skillwire.catalog.library import Library
from skillwire.catalog.snapshot import Catalog
from skillwire.cli.progress import scanning
from skillwire.config.kinds import SourceOptions, open_sources
from skillwire.config.settings import limits_from, wanted_sources


def open_library(arguments: Sequence[str], *, follow_links: bool = False) -> Library:
    """Return the library of the sources named, not loaded yet. Raises `UsageError`."""
    wanted = wanted_sources(arguments, os.environ)
    options = SourceOptions(follow_links=follow_links, limits=limits_from(os.environ))
    return Library(open_sources(wanted, options))


def load_library(arguments: Sequence[str], *, follow_links: bool = False) -> Library:
    """Return the library of the sources named, scanned. Raises `UsageError`."""
    library = open_library(arguments, follow_links=follow_links)
    anyio.run(load, library)
    return library


async def load(library: Library) -> Catalog:
    """Scan the sources of `library`, with a sign of life if that takes long."""
    gc.disable()  # a scan makes many values and no garbage: there is nothing to look for
    try:
        with scanning() as progress:
            return await library.load(progress)
    finally:
        gc.freeze()
        gc.enable()
