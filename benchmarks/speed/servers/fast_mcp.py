"""FastMCP with its skills extension, as its documentation sets it up.

python -m benchmarks.speed.servers.fast_mcp stdio|PORT ROOT
"""

import sys
from pathlib import Path
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension

from benchmarks.speed.servers.web import run_web


def main(where: str, root: str) -> None:
    provider = SkillsDirectoryProvider(roots=Path(root), experimental_skills=True)
    server: FastMCP[Any] = FastMCP("fastmcp", providers=[provider])
    server.add_extension(SkillsExtension(providers=[provider]))
    if where == "stdio":
        server.run(transport="stdio", show_banner=False)
    else:
        run_web(server.http_app(json_response=True), int(where))


if __name__ == "__main__":
    main(*sys.argv[1:])
