"""OpenAI Agents SDK: its MCP servers, and an agent that uses them. The agent's model follows a script."""

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServer, MCPServerStdio, MCPServerStreamableHttp
from driving import Report, Target, drive, same, same_bytes
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from plainly import Content, check_plainly


class Plain:
    """One of the SDK's MCP servers as a plain client. An agent calls the tools, as its model sees them."""

    def __init__(self, server: MCPServer) -> None:
        self._server = server

    async def tools(self) -> Mapping[str, str]:
        return {tool.name: tool.description or "" for tool in await self._server.list_tools()}

    async def call(self, tool: str, arguments: Mapping[str, str]) -> Content:
        output = await output_of(self._server, tool, arguments)
        return [content_of(block) for block in (output if isinstance(output, list) else [output])]

    async def refusal(self, tool: str, arguments: Mapping[str, str]) -> str:
        result = await self._server.call_tool(tool, dict(arguments))
        if not result.is_error:
            raise AssertionError("the call did not fail")
        (content,) = await self.call(tool, arguments)
        assert isinstance(content, str)
        return content

    async def resources(self) -> Sequence[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = await self._server.list_resources(cursor)
            found += [str(resource.uri) for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                return found

    async def read(self, uri: str) -> bytes:
        (content,) = (await self._server.read_resource(uri)).contents
        return content.text.encode() if hasattr(content, "text") else base64.b64decode(content.blob)

    async def prompts(self) -> Sequence[str]:
        return [prompt.name for prompt in (await self._server.list_prompts()).prompts]

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        (message,) = (await self._server.get_prompt(name, dict(arguments))).messages
        content: Any = message.content
        return content.text if content.type == "text" else content.resource.text


class Scripted(Model):
    """A model that calls one tool and stores the result."""

    def __init__(self, tool: str, arguments: Mapping[str, str]) -> None:
        self._call = ResponseFunctionToolCall(
            type="function_call", call_id="1", name=tool, arguments=json.dumps(arguments)
        )
        self.output: Any = None

    async def get_response(self, *arguments: Any, **named: Any) -> ModelResponse:
        history = named["input"] if "input" in named else arguments[1]
        answers = [
            item for item in history if isinstance(item, dict) and item.get("type") == "function_call_output"
        ]
        if not answers:
            return ModelResponse(output=[self._call], usage=Usage(), response_id=None)
        self.output = answers[0]["output"]
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        message = ResponseOutputMessage(
            id="1", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def output_of(server: MCPServer, tool: str, arguments: Mapping[str, str]) -> Any:
    """Return the result of a tool as an agent's model receives it."""
    model = Scripted(tool, arguments)
    agent = Agent("reader", model=model, mcp_servers=[server])
    result = await Runner.run(agent, "Go.", run_config=RunConfig(tracing_disabled=True))
    same(result.final_output, "done", "the agent's answer")
    return model.output


def content_of(block: Any) -> str | bytes:
    """Return a block as the server sent it. The SDK passes embedded resources on as JSON."""
    text = block if isinstance(block, str) else block["text"]
    try:
        sent = json.loads(text)
        return base64.b64decode(sent["resource"]["blob"])
    except (ValueError, KeyError, TypeError):
        return text


def server(target: Target) -> MCPServer:
    if target.transport == "http":
        return MCPServerStreamableHttp({"url": target.url})
    command, *arguments = target.command
    return MCPServerStdio({"command": command, "args": arguments, "env": target.env})


async def body(target: Target, report: Report) -> None:
    async with report.check("connect"), server(target) as connected:
        await check_plainly(Plain(connected), target, report)
    async with report.check("run an agent"), server(target) as connected:
        (text,) = await Plain(connected).call("load-skill", {"name": "greeting"})
        assert isinstance(text, str)
        same_bytes(text.encode(), target.skill("greeting")["files"]["SKILL.md"])
    report.support("agent")


drive(body, lambda _: version("openai-agents"))
