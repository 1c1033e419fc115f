"""From the sources that a person named to a loaded library."""

import gc
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

import anyio

from skillwire.catalog.library import Library
from skillwire.catalog.snapshot import Catalog
from skillwire.cli.progress import scanning
from skillwire.config.configured import Configured
from skillwire.config.file import ConfigFile, default_config
from skillwire.config.kinds import SourceOptions
from skillwire.config.settings import CACHE_DIR, limits_from
from skillwire.config.wanted import Opened, open_wanted, wanted_sources
from skillwire.sources.base import Source


@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """How the sources of a library are looked at."""

    follow_links: bool = False
    prefix: str | None = None
    live: bool = False
    """Whether they will be followed: then they may come later, and what an edit breaks stays as it was."""
    frozen: bool = False
    """Whether the skills stay those that are found first."""
    configured_sources: bool = True
    """Whether the sources of the configuration are wanted, too."""
    may_be_none: bool = False
    """Whether there is something to do without any source."""

    def for_sources(self, configured: Configured) -> SourceOptions:
        """Return what holds for all sources, with what the environment and the configuration say."""
        options = SourceOptions(
            follow_links=self.follow_links,
            limits=limits_from(os.environ, configured.limits),
            live=self.live,
            serving=self.live or self.frozen,
            allowed_origins=configured.allowed_origins,
            environment=os.environ,
        )
        cache = os.environ.get(CACHE_DIR)
        return replace(options, cache=Path(cache)) if cache else options


def open_sources(
    arguments: Sequence[str],
    options: LibraryOptions,
    config: ConfigFile | None = None,
    *,
    to_fetch: bool = True,
) -> list[Opened]:
    """Return the sources named, and those of `config`, not looked at yet. Raises `UsageError`."""
    configured = Configured() if config is None else Configured.read(config)
    also = configured if options.configured_sources else None
    wanted = wanted_sources(arguments, os.environ, also, options.prefix, may_be_none=options.may_be_none)
    return open_wanted(wanted, options.for_sources(configured), to_fetch=to_fetch)


def open_library(
    arguments: Sequence[str],
    options: LibraryOptions,
    config: ConfigFile | None = None,
    more: Callable[[str], Source] | None = None,
) -> Library:
    """Return the library of the sources named, not loaded yet; `more` makes one more, under a free label.

    Raises `UsageError`.
    """
    sources = [each.source for each in open_sources(arguments, options, config)]
    if more is not None:
        sources.append(more(_free({source.label for source in sources})))
    return Library(sources, frozen=options.frozen)


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
    library = open_library(arguments, options, config or ConfigFile(default_config()))
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


def keep_out_of_the_collector() -> None:
    """Spare the catalogue the search for garbage: with many skills it would hold up every request.

    What is young is searched before it is set aside; a catalogue that is replaced goes by itself.
    """
    gc.collect(1)
    gc.freeze()
