from pathlib import Path

import anyio
from agents import Agent

from skillwire import Host
from skillwire.adapters.openai_agents import openai_tools

SKILLS = Path(__file__).parents[2] / "examples/skills"


async def main() -> None:
    async with Host(folders={"mine": SKILLS}) as host:
        await host.discover()
        session = host.session()
        agent = Agent(
            name="clerk",
            instructions=f"You work at the desk for refunds.\n\n{session.catalog_prompt()}",
            tools=[*openai_tools(session.tools())],
        )
        assert [tool.name for tool in agent.tools] == ["read_skill", "read_skill_file"]
        # result = await Runner.run(agent, "May order 7 be refunded?")


anyio.run(main)
