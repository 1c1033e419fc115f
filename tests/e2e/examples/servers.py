"""The examples as somebody starts them: processes of their own."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import TextResourceContents

from tests.support.paths import ROOT
from tests.support.peers import PATIENCE

SERVERS = ROOT / "examples/servers"
SKILLS = ROOT / "examples/skills"


def command(example: str) -> list[str]:
    """Return the command line that starts an example."""
    return [sys.executable, str(SERVERS / example)]


@asynccontextmanager
async def started(example: str, mode: Any, cwd: Path | None = None) -> AsyncGenerator[Client]:
    """Start an example, and yield a client of it."""
    program, *arguments = command(example)
    server = StdioServerParameters(command=program, args=arguments, cwd=cwd)
    with anyio.fail_after(PATIENCE):
        async with Client(server, mode=mode) as client:
            yield client


async def listed(client: Client) -> list[str]:
    """Return the skills among the listed resources."""
    return [each.uri for each in (await client.list_resources()).resources if each.uri.endswith("/SKILL.md")]


async def read(client: Client, uri: str) -> tuple[str | None, bytes]:
    """Return MIME type and bytes of a resource of text."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.mime_type, content.text.encode()
