"""From what the command line, the environment and the configuration say to sources that can be served."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillwire.config.configured import Configured
from skillwire.config.file import ConfigFile
from skillwire.config.kinds import SourceOptions
from skillwire.config.settings import limits_from
from skillwire.config.wanted import Opened, Wanted, open_wanted, wanted_sources
from skillwire.sources.cache_folder import cache_folder_from


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
        return SourceOptions(
            follow_links=self.follow_links,
            limits=limits_from(os.environ, configured.limits),
            live=self.live,
            serving=self.live or self.frozen,
            cache=cache_folder_from(os.environ),
            allowed_origins=configured.allowed_origins,
            environment=os.environ,
        )


def open_sources(
    arguments: Sequence[str],
    options: LibraryOptions,
    config: ConfigFile | None = None,
    *,
    to_fetch: bool = True,
    known: Mapping[Wanted, Opened] | None = None,
) -> list[Opened]:
    """Return the sources named, and those of `config`, not looked at yet. Raises `UsageError`.

    Those that are `known` are open already.
    """
    configured = Configured() if config is None else Configured.read(config)
    also = configured if options.configured_sources else None
    wanted = wanted_sources(arguments, os.environ, also, options.prefix, may_be_none=options.may_be_none)
    return open_wanted(wanted, options.for_sources(configured), to_fetch=to_fetch, known=known)
