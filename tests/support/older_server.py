"""Our own server as clients of an earlier draft see it: the index and its archives, without the extension.

`python -m tests.support.older_server FOLDER` serves on stdio.
"""

import sys
from pathlib import Path
from typing import Any

import anyio

from skillwire import FolderSource, Library, ServeOptions
from skillwire.server import serve_stdio, skills_server
from tests.support.scripted import ScriptedServer


async def older_server(folder: Path) -> Any:
    """Return a server of the skills below a folder, which speaks only drafts A and B."""
    library = Library([FolderSource(folder)])
    await library.load()
    server = skills_server(library, options=ServeOptions(archives=True))
    server.extensions.clear()
    return server


class OlderServer(ScriptedServer):
    """The same for a `ScriptedSite`. Nothing in it is scripted."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._root = folder

    def server(self) -> Any:
        return anyio.run(older_server, self._root)


async def _main() -> None:
    await serve_stdio(await older_server(Path(sys.argv[1])))


if __name__ == "__main__":
    anyio.run(_main)
