"""Add search to a server that `serve` starts."""

import os
from dataclasses import dataclass
from pathlib import Path

from skillwire.area import ServeFlags, ServePart, ServerContext, ServeRequest
from skillwire.features.addition import AddedFeatures
from skillwire.search.tool import SearchOptions
from skillwire.sources.cache_folder import cache_folder_from


def index_folder() -> Path:
    """Return the folder of index files, in the cache folder."""
    return cache_folder_from(os.environ) / "search"


@dataclass(frozen=True, slots=True)
class SearchServeFlags(ServeFlags):
    """Adds search to every server that `serve` starts. There are no options."""

    def part(self, request: ServeRequest) -> ServePart:  # noqa: ARG002 - the same for every server
        return SearchPart()


class SearchPart(ServePart):
    """Adds the tool `search-skills`, with an index in the cache folder."""

    def features(self, server: ServerContext) -> AddedFeatures:
        return SearchOptions(index_folder()).add_to(server.library)
