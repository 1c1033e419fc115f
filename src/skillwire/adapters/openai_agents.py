"""Tools for the OpenAI Agents SDK: `pip install 'skillwire[openai-agents]'`."""

import json
from collections.abc import Iterable
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from skillwire.errors import BadParamsError, SkillwireError
from skillwire.host.session.tools import AgentTool
from skillwire.safe_text import quoted


def openai_tools(tools: Iterable[AgentTool]) -> list[FunctionTool]:
    """Convert a session's tools for the OpenAI Agents SDK. Pass the result to `Agent(tools=…)`."""
    return [_function_tool(tool) for tool in tools]


def _function_tool(tool: AgentTool) -> FunctionTool:
    """Convert one tool. The converted tool returns errors as text for the model."""

    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        try:
            return await tool.invoke(_parse_arguments(tool, arguments))
        except SkillwireError as error:
            return str(error)  # the model can try again; an exception would end the run

    return FunctionTool(tool.name, tool.description, dict(tool.parameters), invoke, strict_json_schema=True)


def _parse_arguments(tool: AgentTool, arguments: str) -> object:
    """Parse the arguments that a model sent. Raises `BadParamsError` if they are not JSON.

    An empty string counts as `{}`, because some models send it.
    """
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise BadParamsError(
            f"the arguments of {quoted(tool.name)} are not JSON; send a JSON object"
        ) from error
