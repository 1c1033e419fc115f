import anyio
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from skillwire import Host
from skillwire.adapters.pydantic_ai import pydantic_ai_tools


async def main() -> None:
    async with Host(folders={"mine": "skills"}) as host:
        await host.discover()
        session = host.session()
        agent = Agent(
            TestModel(),  # calls each tool once, without a network; use your model instead
            instructions=f"You work at the front desk.\n\n{session.catalog_prompt()}",
            tools=pydantic_ai_tools(session.tools()),
        )
        result = await agent.run("Good morning!")
        print(result.output)


anyio.run(main)
