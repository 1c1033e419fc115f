"""Tools for Pydantic AI: `pip install 'skillwire[pydantic-ai]'`."""

from collections.abc import Iterable
from typing import Any

from pydantic_ai import ModelRetry, Tool, ToolFailed

from skillwire.errors import BadParamsError, SkillwireError
from skillwire.host.session.tools import AgentTool


def pydantic_ai_tools(tools: Iterable[AgentTool]) -> list[Tool[Any]]:
    """Convert a session's tools for Pydantic AI. Pass the result to `Agent(tools=…)`.

    The tools work with every type of agent dependencies (`deps_type`).
    """
    return [_tool(tool) for tool in tools]


def _tool(tool: AgentTool) -> Tool[Any]:
    """Convert one tool. Errors become `ModelRetry` for wrong arguments, else `ToolFailed`."""

    async def call(**arguments: Any) -> str:
        try:
            return await tool.invoke(arguments)
        except BadParamsError as error:
            raise ModelRetry(str(error)) from error  # the model can correct the arguments
        except SkillwireError as error:
            raise ToolFailed(str(error)) from error  # no retry would succeed; the run continues

    return Tool.from_schema(call, tool.name, tool.description, dict(tool.parameters))
