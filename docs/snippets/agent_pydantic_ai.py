from pathlib import Path

import anyio
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from skillwire import Host
from skillwire.adapters.pydantic_ai import pydantic_ai_tools

SKILLS = Path(__file__).parents[2] / "examples/skills"


async def main() -> None:
    async with Host(folders={"mine": SKILLS}) as host:
        await host.discover()
        session = host.session()
        agent = Agent(
            TestModel(),  # calls every tool once, without a network; name your model instead
            instructions=f"You work at the desk for refunds.\n\n{session.catalog_prompt()}",
            tools=pydantic_ai_tools(session.tools()),
        )
        result = await agent.run("May order 7 be refunded?")
        assert "read_skill_file" in result.output


anyio.run(main)
