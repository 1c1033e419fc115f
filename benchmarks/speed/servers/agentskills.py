"""`agentskills-mcp-server`, as its documentation sets it up.

It needs Python 3.12, so it has its own environment.

    PYTHON -m benchmarks.speed.servers.agentskills stdio|PORT ROOT

It reads all files into memory before it answers, and serves no changes until the program calls `refresh`.
"""

import asyncio
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

_NO_LIMIT = 1 << 40


async def _server(root: Path, folders: Sequence[Path]) -> Any:
    core, fs = import_module("agentskills_core"), import_module("agentskills_fs")
    skills = [core.Skill(each.name, fs.LocalFileSystemSkillProvider(each.parent)) for each in folders]
    return await import_module("agentskills_mcp_server").create_mcp_server(
        skills,
        name="agentskills",
        skill_paths={each.name: each.relative_to(root).as_posix() for each in folders},
        max_skills=_NO_LIMIT,
        max_total_bytes=_NO_LIMIT,
    )


def main(where: str, root: str) -> None:
    server = asyncio.run(_server(Path(root), sorted(file.parent for file in Path(root).rglob("SKILL.md"))))
    if where == "stdio":
        server.run(transport="stdio")
        return
    from benchmarks.speed.servers.web import run_web  # noqa: PLC0415 - not needed on stdio

    run_web(server.streamable_http_app(json_response=True), int(where))


if __name__ == "__main__":
    main(*sys.argv[1:])
