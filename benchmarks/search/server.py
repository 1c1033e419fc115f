"""Serve a folder on stdio, with or without search:

    python -m benchmarks.search.server ROOT [INDEX]

`INDEX` is the folder of the index file. Without it, there is no search.
"""

import sys
from pathlib import Path

from skillwire import FolderSource, Library, ServeOptions
from skillwire.app.service import Service, serve_service
from skillwire.core.record import Limits
from skillwire.protocol.messages import STATIC_TTL_MS, Freshness
from skillwire.search.tool import SearchOptions


def main(root: str, index: str = "") -> None:
    library = Library([FolderSource(root, limits=Limits(entries=1_000_000))])
    options = ServeOptions(additions=[SearchOptions(Path(index))] if index else [])
    serve_service(Service.of(library, options, Freshness(STATIC_TTL_MS), name="benchmark"), None)


if __name__ == "__main__":
    main(*sys.argv[1:])
