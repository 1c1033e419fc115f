"""From the sources that a person named to a loaded library."""

import os
from collections.abc import Sequence

import anyio

from skillwire.catalog.library import Library
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
    with scanning() as progress:
        anyio.run(library.load, progress)
    return library
