"""Pydantic AI: its MCP toolset, and an agent that loads a skill with it. The agent's model is a function."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from driving import Report, Target, drive, same, same_bytes
from fastmcp.client.transports import StdioTransport
from plainly import Content, check_plainly, data_of
from pydantic_ai import Agent, BinaryContent, ModelRetry
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


class Plain:
    """The toolset as a plain client."""

    def __init__(self, toolset: MCPToolset[Any]) -> None:
        self._toolset = toolset

    async def tools(self) -> Mapping[str, str]:
        return {tool.name: tool.description or "" for tool in await self._toolset.list_tools()}

    async def call(self, tool: str, arguments: Mapping[str, str]) -> Content:
        result = await self._toolset.direct_call_tool(tool, dict(arguments))
        return [content_of(each) for each in (result if isinstance(result, list) else [result])]

    async def refusal(self, tool: str, arguments: Mapping[str, str]) -> str:
        try:
            await self._toolset.direct_call_tool(tool, dict(arguments))
        except ModelRetry as retry:
            return retry.message
        raise AssertionError("the call did not fail")

    async def resources(self) -> Sequence[str]:
        return [resource.uri for resource in await self._toolset.list_resources()]

    async def read(self, uri: str) -> bytes:
        return data_of(content_of(await self._toolset.read_resource(uri)))

    async def prompts(self) -> Sequence[str]:
        return [prompt.name for prompt in await self._toolset.list_prompts()]

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        (message,) = (await self._toolset.get_prompt(name, dict(arguments))).messages
        content: Any = message.content
        assert isinstance(content.content, str)
        return content.content


def content_of(content: object) -> object:
    return content.data if isinstance(content, BinaryContent) else content


def toolset(target: Target) -> MCPToolset[Any]:
    if target.transport == "http":
        return MCPToolset(target.url)
    command, *arguments = target.command
    log = target.scratch / "server.log"
    return MCPToolset(StdioTransport(command, arguments, env=target.env, keep_alive=False, log_file=log))


async def check_agent(target: Target, report: Report) -> None:
    """Check that an agent's model gets the loaded skill and the server's instructions."""
    instructions: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        instructions.append(info.instructions or "")
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                return ModelResponse(parts=[TextPart(str(part.content))])
        return ModelResponse(parts=[ToolCallPart("load-skill", {"name": "greeting"})])

    async with report.check("run an agent"):
        agent = Agent(FunctionModel(model), toolsets=[toolset(target)])
        result = await agent.run("Say hello.")
        same_bytes(result.output.encode(), target.skill("greeting")["files"]["SKILL.md"])
        same(len(instructions), 2, "requests to the model")
    report.support("agent")


async def body(target: Target, report: Report) -> None:
    async with report.check("connect"), toolset(target) as connected:
        await check_plainly(Plain(connected), target, report)
    await check_agent(target, report)


drive(body, lambda _: version("pydantic-ai-slim"))
