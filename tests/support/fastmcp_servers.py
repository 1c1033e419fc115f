"""Third-party FastMCP servers, and clients that list everything they offer."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from fastmcp import FastMCP
from mcp import Client

from skillwire.host.dialects.client import ask


def fastmcp_server(name: str = "host") -> FastMCP[Any]:
    """Return a third-party server with one of each feature."""
    server: FastMCP[Any] = FastMCP(name, instructions="Be kind.", list_page_size=3)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.resource("host://readme")
    def readme() -> str:
        return "theirs"

    @server.resource("host://{name}/page")
    def a_page(name: str) -> str:
        return name

    @server.prompt
    def greet(name: str) -> str:
        return f"Hello, {name}"

    assert all((add, readme, a_page, greet))
    return server


@asynccontextmanager
async def client_of(server: FastMCP[Any], mode: Any = "auto", **more: Any) -> AsyncGenerator[Client]:
    inner: Any = server._mcp_server  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    async with Client(inner, mode=mode, **more) as client:
        yield client


async def names_of(client: Client) -> list[str]:
    entries: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = await ask(client, "skills/list", **cursor)
        entries += page["skills"]
        if "nextCursor" not in page:
            return [entry["uri"] for entry in entries]
        cursor = {"cursor": page["nextCursor"]}


async def all_resources(client: Client) -> list[types.Resource]:
    found: list[types.Resource] = []
    cursor: str | None = None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        if (cursor := page.next_cursor) is None:
            return found
