"""LangChain's MCP adapters: tools, resources and prompts as LangChain objects. Prompts must be text."""

import base64
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from driving import Report, Target, contains, drive, same
from langchain_core.messages import HumanMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.prompts import load_mcp_prompt
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_mcp_adapters.tools import load_mcp_tools
from plainly import Content, check_plainly

SERVER = "skills"


class Plain:
    """One session of the adapters as a plain client."""

    def __init__(self, session: Any, tools: Sequence[Any]) -> None:
        self._session = session
        self._tools = {tool.name: tool for tool in tools}

    async def tools(self) -> Mapping[str, str]:
        return {name: tool.description for name, tool in self._tools.items()}

    async def call(self, tool: str, arguments: Mapping[str, str]) -> Content:
        message = await self._message(tool, arguments)
        same(message.status, "success", "status")
        return [content_of(block) for block in message.content]

    async def refusal(self, tool: str, arguments: Mapping[str, str]) -> str:
        message = await self._message(tool, arguments)
        same(message.status, "error", "status")
        return message.text

    async def _message(self, tool: str, arguments: Mapping[str, str]) -> Any:
        """Return the message that an agent passes on to its model."""
        call = {"type": "tool_call", "id": "1", "name": tool, "args": dict(arguments)}
        return await self._tools[tool].ainvoke(call)

    async def resources(self) -> Sequence[str]:
        return [str(blob.metadata["uri"]) for blob in await load_mcp_resources(self._session)]

    async def read(self, uri: str) -> bytes:
        (blob,) = await load_mcp_resources(self._session, uris=[uri])
        return blob.as_bytes()

    async def prompts(self) -> Sequence[str]:
        return [prompt.name for prompt in (await self._session.list_prompts()).prompts]

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        (message,) = await load_mcp_prompt(self._session, name, arguments=dict(arguments))
        assert isinstance(message, HumanMessage)
        assert isinstance(message.content, str)
        return message.content


def content_of(block: Mapping[str, Any]) -> str | bytes:
    return block["text"] if block["type"] == "text" else base64.b64decode(block["base64"])


async def body(target: Target, report: Report) -> None:
    if target.transport == "http":
        connection: dict[str, Any] = {"transport": "streamable_http", "url": target.url}
    else:
        command, *arguments = target.command
        connection = {"transport": "stdio", "command": command, "args": arguments, "env": target.env}
    client = MultiServerMCPClient({SERVER: connection})
    async with report.check("connect anew for each call"):
        tools = {tool.name: tool for tool in await client.get_tools()}
        (block,) = await tools["load-skill"].ainvoke({"name": "greeting"})
        contains([block["text"][:3]], ["---"], "the skill")
        uris = [str(blob.metadata["uri"]) for blob in await client.get_resources(SERVER)]
        contains(uris, [skill["uri"] for skill in target.served], "resources")
        (message,) = await client.get_prompt(SERVER, "greeting")
        same(message.content, block["text"], "the prompt")
    async with report.check("connect"), client.session(SERVER) as session:
        await check_plainly(Plain(session, await load_mcp_tools(session)), target, report)


drive(body, lambda _: version("langchain-mcp-adapters"))
