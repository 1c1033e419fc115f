"""Serve skills from a server written in code, on a free loopback port. Run by judges.py.

in_code.py code FOLDER        a SkillServer
in_code.py mcpserver FOLDER   an MCPServer of the official SDK, with its own tool, prompt and resource
in_code.py fastmcp FOLDER     a FastMCP server, likewise

FOLDER holds the skill folders `acme/billing/refunds`, `hello-world` and `code-mode`.
"""

import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer

from skillwire import Skill, SkillRequest, SkillServer, attach
from skillwire.server.http.address import Address, listen


def collected(folder: Path) -> SkillServer:
    """Return a server with every kind of skill: from a folder, with a path, with a prompt, dynamic."""
    server = SkillServer("skills-demo")
    # The suite requires that the first skill contains a folder.
    refunds = Skill.from_dir(folder / "acme/billing/refunds")
    server.add(refunds.with_path("acme/billing/refunds"))
    server.add(Skill.from_dir(folder / "hello-world"))
    server.add(Skill.from_dir(folder / "code-mode"), prompt="start_code_mode")

    @server.skill("docs/{product}/guide", description="How to use {product}.", values={"product": ["anvil"]})
    def guide(request: SkillRequest) -> str:
        return f"# {request.params['product']}\n"

    assert guide
    return server


def furnish(server: Any) -> None:
    """Add a tool, a resource and a prompt of the server's own."""

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @server.resource("host://readme")
    def readme() -> str:
        return "theirs"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Hello, {name}"

    assert all((add, readme, greet))


def serve(app: Any) -> None:
    """Print the address, and serve an application until a signal stops it."""
    listening, bound = listen(Address("127.0.0.1", 0))
    print(f"http://{bound.authority}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


def main(kind: str, folder: Path) -> None:
    skills = collected(folder)
    match kind:
        case "code":
            skills.run(http="127.0.0.1:0")
        case "mcpserver":
            server = MCPServer[Any]("host", log_level="WARNING")
            furnish(server)
            attach(server, skills)
            serve(server.streamable_http_app(json_response=True))
        case "fastmcp":
            fast: FastMCP[Any] = FastMCP("host")
            furnish(fast)
            attach(fast, skills)
            serve(fast.http_app(path="/mcp", json_response=True))
        case _:
            sys.exit(f"error: unknown server `{kind}`")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
