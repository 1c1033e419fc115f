from pathlib import Path

import anyio

from skillwire import Host, State, Target
from skillwire.host import Answer, LoadRequest, Request


async def ask(request: Request) -> Answer:
    print(request)  # show it to a person, and return their answer instead
    return Answer.KEEP if isinstance(request, LoadRequest) else Answer.NO


async def main() -> None:
    acme = Target("acme", url="http://127.0.0.1:8765/mcp")
    with State.open(Path("state")) as state:
        async with Host([acme], approve=ask, state=state) as host:
            registry = await host.discover()
            for problem in registry.problems:
                print(problem)
            session = host.session()
            reading = await session.load("acme:hello")
            print(reading.text)


anyio.run(main)
