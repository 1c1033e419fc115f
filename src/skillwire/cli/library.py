"""From the sources that a person named to a loaded library."""

from collections.abc import Callable, Collection, Sequence
from itertools import chain, count

import anyio

from skillwire.catalog.library import Library
from skillwire.catalog.snapshot import Catalog
from skillwire.cli.collecting import nothing_to_collect
from skillwire.cli.progress import scanning
from skillwire.config.file import ConfigFile, default_config
from skillwire.config.opening import LibraryOptions, open_sources
from skillwire.sources.base import Source


def one_more(more: Callable[[str], Source], sources: Sequence[Source]) -> Source:
    """Return the source that `more` makes, under a label that none of `sources` has."""
    return more(_free({source.label for source in sources}))


def _free(taken: Collection[str]) -> str:
    labels = (f"live-{number}" for number in count(2))
    return next(label for label in chain(["live"], labels) if label not in taken)


def load_library(
    arguments: Sequence[str], *, follow_links: bool = False, config: ConfigFile | None = None
) -> Library:
    """Return the library of the sources named, scanned; without any, of those that are served by default.

    Limits and allowed origins are those of the configuration in any case. Raises `UsageError`.
    """
    options = LibraryOptions(follow_links=follow_links, configured_sources=not arguments)
    opened = open_sources(arguments, options, config or ConfigFile(default_config()))
    library = Library([each.source for each in opened])
    anyio.run(load, library)
    return library


async def load(library: Library) -> Catalog:
    """Scan the sources of `library`, with a sign of life if that takes long."""
    with nothing_to_collect(), scanning() as progress:
        return await library.load(progress)
