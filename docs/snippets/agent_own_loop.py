from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio

from skillwire import AgentTool, Host
from skillwire.errors import SkillwireError

SKILLS = Path(__file__).parents[2] / "examples/skills"


def for_anthropic(tool: AgentTool) -> dict[str, Any]:
    """An item of `tools` in the Messages API."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}


def for_openai(tool: AgentTool) -> dict[str, Any]:
    """An item of `tools` in the Responses API. Chat Completions has the same, within `function`."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "strict": True,
    }


async def answer(tools: Iterable[AgentTool], name: str, arguments: object) -> str:
    """What the model gets for a call. `arguments` are parsed JSON, right or wrong."""
    wanted = next((tool for tool in tools if tool.name == name), None)
    if wanted is None:
        return f"error: there is no tool `{name}`"
    try:
        return await wanted.invoke(arguments)
    except SkillwireError as error:
        return f"error: {error}"


def model(messages: list[Mapping[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The place of your API call: this model wants to load a skill, and then is content."""
    assert [tool["name"] for tool in tools] == ["read_skill", "read_skill_file"]
    if len(messages) == 1:
        return {"type": "tool_use", "id": "1", "name": "read_skill", "input": {"name": "refunds"}}
    return {"type": "text", "text": "Yes."}


async def main() -> None:
    async with Host(folders={"mine": SKILLS}) as host:
        await host.discover()
        tools = host.session().tools()
        messages: list[Mapping[str, Any]] = [{"role": "user", "content": "May order 7 be refunded?"}]
        while (said := model(messages, [for_anthropic(tool) for tool in tools]))["type"] == "tool_use":
            text = await answer(tools, said["name"], said["input"])
            result = {"type": "tool_result", "tool_use_id": said["id"], "content": text}
            messages += [{"role": "assistant", "content": [said]}, {"role": "user", "content": [result]}]
        assert "The skill `refunds`" in str(messages[-1])
        assert for_openai(tools[0])["strict"]
        assert (
            await answer(tools, "read_skill", {})
            == "error: `read_skill` needs the parameter `name`; write `name`"
        )


anyio.run(main)
