from typing import Any

import anyio

from skillwire import AgentTool, Host
from skillwire.errors import SkillwireError


def describe(tool: AgentTool) -> dict[str, Any]:
    """Return an item of `tools` for the Anthropic Messages API."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


async def call(tool: AgentTool, arguments: object) -> str:
    """Return what the model gets. `arguments` are parsed JSON, valid or not."""
    try:
        return await tool.invoke(arguments)
    except SkillwireError as error:
        return f"error: {error}"


async def main() -> None:
    async with Host(folders={"mine": "skills"}) as host:
        await host.discover()
        tools = {tool.name: tool for tool in host.session().tools()}
        print([describe(tool) for tool in tools.values()])  # send these to the model
        print(await call(tools["read_skill"], {"name": "hello"}))  # when the model calls a tool
        print(await call(tools["read_skill"], {}))


anyio.run(main)
