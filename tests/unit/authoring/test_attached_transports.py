"""Skills attached to a third-party server, over stdio, HTTP, and HTTP without sessions."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from skillwire.host.dialects.client import ask
from tests.support.clients import ERAS

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)

PROGRAM = """
import sys
import uvicorn
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from skillwire import Skill, attach
from skillwire.server import Address, listen

kind, transport = sys.argv[1:]
server = MCPServer("host", log_level="ERROR") if kind == "sdk" else FastMCP("host")
one = Skill("one", "---\\nname: one\\ndescription: O.\\n---\\n")
attach(server, one.with_reference("a.md", "text/plain", "a"))
if transport == "stdio":
    server.run("stdio", **({} if kind == "sdk" else {"show_banner": False}))
else:
    make = server.streamable_http_app if kind == "sdk" else server.http_app
    listening, bound = listen(Address("127.0.0.1", 0))
    print(f"http://{bound.authority}/mcp", flush=True)
    config = uvicorn.Config(make(stateless_http=transport == "stateless"), log_level="error")
    config.timeout_graceful_shutdown = 1
    uvicorn.Server(config).run(sockets=[listening])
"""


@contextmanager
def over_http(kind: str, transport: str) -> Generator[str]:
    """Start a third-party server with skills; yield its address."""
    command = [sys.executable, "-c", PROGRAM, kind, transport]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.terminate()
            process.wait(20)


async def look_around(client: Client) -> types.ServerCapabilities:
    (entry,) = (await ask(client, "skills/list"))["skills"]
    for file in entry["resources"]:
        assert (await client.read_resource(file["uri"])).contents
    return client.server_capabilities


@every_era
@pytest.mark.parametrize("kind", ["sdk", "fastmcp"])
async def test_attached_skills_are_served_over_stdio(mode: Any, kind: str) -> None:
    program = StdioServerParameters(command=sys.executable, args=["-c", PROGRAM, kind, "stdio"])
    async with Client(program, mode=mode) as client:
        capabilities = await look_around(client)
        assert capabilities.resources is not None
        assert capabilities.resources.subscribe is True


@every_era
@pytest.mark.parametrize("kind", ["sdk", "fastmcp"])
@pytest.mark.parametrize("transport", ["http", "stateless"])
async def test_attached_skills_are_served_over_http(mode: Any, kind: str, transport: str) -> None:
    with over_http(kind, transport) as url:
        async with Client(url, mode=mode) as client:
            capabilities = await look_around(client)
    assert capabilities.resources is not None
    told = mode == "auto" or transport == "http"  # without a session, nobody can be told anything
    assert capabilities.resources.subscribe is told
