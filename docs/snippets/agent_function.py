from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from skillwire import AgentTool, Host
from skillwire.errors import SkillwireError

SKILLS = Path(__file__).parents[2] / "examples/skills"


def as_function(tool: AgentTool) -> Callable[..., Awaitable[str]]:
    """Return an asynchronous function that takes the tool's parameters by their names."""

    async def function(**arguments: Any) -> str:
        try:
            return await tool.invoke(arguments)
        except SkillwireError as error:
            return f"error: {error}"

    function.__name__, function.__doc__ = tool.name, tool.description
    return function


async def main() -> None:
    async with Host(folders={"mine": SKILLS}) as host:
        await host.discover()
        functions = [as_function(tool) for tool in host.session().tools()]
        assert [function.__name__ for function in functions] == ["read_skill", "read_skill_file"]
        assert (await functions[0](name="refunds")).startswith("The skill `refunds`")


anyio.run(main)
