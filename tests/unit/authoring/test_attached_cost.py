"""The cost of a request to a server with attached skills: it does not depend on how many skills there are."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from types import FrameType
from typing import Any

import anyio
import pytest
from fastmcp import FastMCP
from mcp import Client

from skillwire import MemorySource, attach
from skillwire.sources.base import Locations, WatchFilter
from tests.support.clients import ask, skill
from tests.support.fastmcp_servers import client_of, fastmcp_server
from tests.unit.authoring.test_attaching import lowlevel_server, sdk_server

pytestmark = pytest.mark.anyio

FEW, MANY = 250, 5_000
"""Both more than two pages."""
_URI = "skill://team/skill-0003/SKILL.md"

REQUESTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "first page": ("skills/list", {}),
    "entry": ("skills/get", {"uri": _URI}),
    "read": ("resources/read", {"uri": _URI}),
    "read of another file": ("resources/read", {"uri": _URI.replace("SKILL.md", "notes.txt")}),
    "read of the host's own": ("resources/read", {"uri": "host://readme"}),
    "directory": ("resources/directory/read", {"uri": _URI.removesuffix("/SKILL.md")}),
    "prompt": ("prompts/get", {"name": "skill-0003"}),
    "tool": ("tools/call", {"name": "load-skill", "arguments": {"name": "skill-0003"}}),
    "tools": ("tools/list", {}),
}
SDK_ONLY: Mapping[str, tuple[str, dict[str, Any]]] = {
    "resources": ("resources/list", {}),
    "prompts": ("prompts/list", {}),
}
"""FastMCP itself lists everything to answer these."""


def hiding_server() -> FastMCP[Any]:
    server = fastmcp_server()
    server.disable(names={"skill://team/skill-0007/SKILL.md"})
    return server


SERVERS: Mapping[str, Callable[[], Any]] = {
    "low-level": lowlevel_server,
    "MCPServer": sdk_server,
    "FastMCP": fastmcp_server,
    "FastMCP that hides a skill": hiding_server,
}


class _Unchanged(MemorySource):
    """A source that is not scanned again, so that only the request works while calls are counted."""

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        await anyio.sleep_forever()
        async for locations in super().changes(watch_filter):
            yield locations


@pytest.mark.parametrize("kind", SERVERS)
async def test_cost_of_request_is_independent_of_number_of_skills(kind: str) -> None:
    few, many = await _calls(kind, FEW), await _calls(kind, MANY)
    # A request that touches every skill makes at least one call more for each.
    grown = {what: (few[what], many[what]) for what in few if many[what] - few[what] > (MANY - FEW) / 10}
    assert grown == {}


async def _calls(kind: str, number: int) -> dict[str, int]:
    """Return how many Python and C functions each request calls, once it has been answered before."""
    server, is_fastmcp = SERVERS[kind](), kind.startswith("FastMCP")
    skills = [skill(f"team/skill-{each:04}", files={"notes.txt": b"n"}) for each in range(number)]
    attach(server, _Unchanged(skills))
    requests = {**REQUESTS} if is_fastmcp else {**REQUESTS, **SDK_ONLY}
    counted: dict[str, int] = {}
    async with client_of(server) if is_fastmcp else Client(server) as client:
        cursor = (await ask(client, "skills/list"))["nextCursor"]
        requests["second page"] = "skills/list", {"cursor": cursor}
        for what, (method, params) in requests.items():
            await ask(client, method, **params)
            counted[what] = min([await _count(client, method, params) for _ in range(3)])
    return counted


async def _count(client: Client, method: str, params: dict[str, Any]) -> int:
    """Return the number of calls that a request makes in its task, and in the tasks that it starts."""
    count = 0
    others = asyncio.all_tasks() - {asyncio.current_task()}  # such as the one that fills the search index

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"} and asyncio.current_task() not in others

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        await ask(client, method, **params)
    finally:
        sys.setprofile(before)
    return count
