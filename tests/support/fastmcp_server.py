"""A FastMCP server of skills with nothing of ours in it, over stdio, for tests of our host.

fastmcp_server.py extension SKILLS    with its Skills extension
fastmcp_server.py manifests SKILLS    as it was before that: a `_manifest` in each skill's folder
"""

import sys
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension


def server_of(folder: str, *, extension: bool) -> FastMCP[Any]:
    """Return a server of the skills in a folder."""
    server: FastMCP[Any] = FastMCP("fastmcp", list_page_size=2)
    provider = SkillsDirectoryProvider(folder, experimental_skills=extension)
    server.add_provider(provider)
    if extension:
        server.add_extension(SkillsExtension(providers=[provider]))
    return server


if __name__ == "__main__":
    server_of(sys.argv[2], extension=sys.argv[1] == "extension").run(transport="stdio", show_banner=False)
