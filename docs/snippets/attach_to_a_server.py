import anyio
from mcp import Client
from mcp.server.mcpserver import MCPServer

from skillwire import Skill, attach

ADDING = """---
name: adding
description: Adds up bills. Use when somebody asks what they owe.
---

Call the tool `add` for every two amounts. Never add in your head.
"""

mcp = MCPServer("bills", log_level="WARNING")


@mcp.tool()
def add(a: int, b: int) -> int:
    return a + b


attach(mcp, Skill("adding", ADDING), prompt="start_adding")


async def main() -> None:
    async with Client(mcp) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["add", "load-skill", "skill-resource"]
        assert "skill://adding/SKILL.md" in [each.uri for each in (await client.list_resources()).resources]
        assert "start_adding" in [prompt.name for prompt in (await client.list_prompts()).prompts]


anyio.run(main)
