import anyio
from agents import Agent

from skillwire import Host
from skillwire.adapters.openai_agents import openai_tools


async def main() -> None:
    async with Host(folders={"mine": "skills"}) as host:
        await host.discover()
        session = host.session()
        agent = Agent(
            name="clerk",
            instructions=f"You work at the front desk.\n\n{session.catalog_prompt()}",
            tools=[*openai_tools(session.tools())],
        )
        print([tool.name for tool in agent.tools])
        # result = await Runner.run(agent, "Good morning!")


anyio.run(main)
