"""A client and a server in one process, and skills that exist only in memory."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp_types import CallToolResult

from skillwire import Library, MemorySource, ServeOptions
from skillwire.host.dialects.client import ask
from skillwire.server import skills_server
from skillwire.sources import MemorySkill
from skillwire.sources.memory import Content

__all__ = ["ERAS", "ask", "connected", "library_of", "refusal", "skill", "text_of"]

ERAS = ["legacy", "auto"]
"""How a client begins: with `initialize`, or with `server/discover`."""


def skill(
    path: str, more: str = "", files: Mapping[str, Content] | None = None, body: str = "# Steps\n"
) -> MemorySkill:
    """Return a skill at `path`. `more` is added to its frontmatter, with a default description."""
    name = path.rpartition("/")[2]
    described = "" if "description:" in more else f"description: Does {name}.\n"
    main = f"---\nname: {name}\n{described}{more}---\n\n{body}"
    return MemorySkill(path, {"SKILL.md": main.encode(), **(files or {})})


async def library_of(*skills: MemorySkill) -> Library:
    """Return a loaded library of these skills, none of which may be broken."""
    library = Library([MemorySource(skills)])
    catalog = await library.load()
    assert len(catalog.entries) == len(skills), catalog.problems
    return library


@asynccontextmanager
async def connected(
    mode: Any, *skills: MemorySkill, options: ServeOptions | None = None
) -> AsyncGenerator[Client]:
    """Yield a client of a server for these skills."""
    async with Client(skills_server(await library_of(*skills), options=options), mode=mode) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    """Return the one text that a tool answered with."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


async def refusal(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    """Return the error text that the model gets when a tool refuses."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error is True
    return text_of(result)
