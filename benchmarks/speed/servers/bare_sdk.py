"""A low-level server of the official SDK that has every answer in memory. Shows the cost of the SDK itself.

    python -m benchmarks.speed.servers.bare_sdk stdio|PORT [ROOT]

Without ROOT it has no skills.
"""

import hashlib
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from benchmarks.speed.servers.web import run_web

_PAGE = 100
_ENVELOPE = {"resultType": "complete", "ttlMs": 5000, "cacheScope": "public"}


class _Params(types.RequestParams):
    uri: str = ""
    cursor: str | None = None


def _entry(root: Path, folder: Path) -> dict[str, Any]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    name = folder.name
    return {
        "uri": _uri(root, folder / "SKILL.md"),
        "frontmatter": {"name": name, "description": f"The skill {name}."},
        "resources": [
            {
                "uri": _uri(root, path),
                "digest": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
                "size": path.stat().st_size,
            }
            for path in files
        ],
    }


def _uri(root: Path, path: Path) -> str:
    return f"skill://{path.relative_to(root).as_posix()}"


def _contents(root: Path) -> dict[str, str]:
    return {_uri(root, path): path.read_text("utf-8") for path in root.rglob("*") if path.is_file()}


def _server(root: Path | None) -> Server[Any]:
    folders = [] if root is None else sorted(path.parent for path in root.rglob("SKILL.md"))
    entries = [] if root is None else [_entry(root, folder) for folder in folders]
    by_uri = {entry["uri"]: entry for entry in entries}
    contents = {} if root is None else _contents(root)

    async def list_skills(_context: Any, params: _Params) -> dict[str, Any]:
        start = int(params.cursor or 0)
        more = {"nextCursor": str(start + _PAGE)} if start + _PAGE < len(entries) else {}
        return {**_ENVELOPE, "skills": entries[start : start + _PAGE], **more}

    async def get_skill(_context: Any, params: _Params) -> dict[str, Any]:
        return {**_ENVELOPE, "skill": by_uri[params.uri]}

    async def read(_context: Any, params: _Params) -> dict[str, Any]:
        block = {"uri": params.uri, "mimeType": "text/markdown", "text": contents[params.uri]}
        return {**_ENVELOPE, "contents": [block]}

    server: Server[Any] = Server("bare", version="1")
    server.add_request_handler("skills/list", _Params, list_skills)
    server.add_request_handler("skills/get", _Params, get_skill)
    server.add_request_handler("resources/read", _Params, read)
    return server


async def _on_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main(where: str, root: str | None = None) -> None:
    server = _server(None if root is None else Path(root))
    if where == "stdio":
        anyio.run(_on_stdio, server, backend_options={"use_uvloop": True})
    else:
        run_web(server.streamable_http_app(json_response=True), int(where))


if __name__ == "__main__":
    main(*sys.argv[1:])
