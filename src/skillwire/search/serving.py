"""Add search to a server that `serve` starts."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from skillwire.area import ServeFlags, ServePart, ServerContext, ServeRequest
from skillwire.config.file import ConfigFile
from skillwire.config.search_settings import SearchSettings
from skillwire.features.addition import AddedFeatures
from skillwire.library.library import Library
from skillwire.search.tool import SearchOptions
from skillwire.sources.cache_folder import cache_folder_from
from skillwire.terminal.options import MODELS

if TYPE_CHECKING:
    from skillwire.search.ranker import Ranker

Semantic: TypeAlias = Annotated[
    bool,
    Parameter(
        group=MODELS,
        help="Find skills by meaning, too, with a model on this machine. Needs the extra `semantic`.",
    ),
]


def index_folder() -> Path:
    """Return the folder of index files, in the cache folder."""
    return cache_folder_from(os.environ) / "search"


@dataclass(frozen=True, slots=True)
class SearchServeFlags(ServeFlags):
    """Adds search to every server that `serve` starts."""

    semantic: Semantic = False

    def part(self, request: ServeRequest) -> ServePart:  # noqa: ARG002 - the same for every server
        return SearchPart(semantic=self.semantic)


class SearchPart(ServePart):
    """Adds the tool `search-skills`, with an index in the cache folder."""

    def __init__(self, *, semantic: bool = False) -> None:
        """Create the part. With `semantic`, the local model is used, whatever the configuration says."""
        self._semantic = semantic

    def features(self, server: ServerContext) -> AddedFeatures:
        opener = chosen_ranker(server.config, semantic=self._semantic)
        return SearchOptions(index_folder(), opener).add_to(server.library)


def configured_options(config: ConfigFile) -> SearchOptions:
    """Return the options for a bridge. Its index is in memory. Raises `UsageError` or `SourceError`."""
    return SearchOptions(open_ranker=chosen_ranker(config, semantic=False))


def chosen_ranker(config: ConfigFile | None, *, semantic: bool) -> "Callable[[Library], Ranker] | None":
    """Return a function that opens the ranker of the option or the configuration, or None.

    Raises `UsageError` or `SourceError`.
    """
    settings = SearchSettings.read(config)
    if semantic:
        settings = settings.with_local_model()
    if not settings.is_semantic:
        return None
    from skillwire.search.semantic.setup import ranker_opener  # noqa: PLC0415 - only if it was chosen

    return ranker_opener(settings, index_folder())
