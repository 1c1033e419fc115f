"""Tools in the OpenAI Agents SDK, called by its own runner. A script stands in the place of the model."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, FunctionTool, Model, ModelResponse, RunConfig, Runner, Usage
from agents.items import TResponseOutputItem
from agents.tool_context import ToolContext
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from skillwire import Host
from skillwire.adapters.openai_agents import openai_tools
from tests.support.agent_tools import RecordedTools
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio
QUIET = RunConfig(tracing_disabled=True)


class ScriptedModel(Model):
    """Calls the tools that it is told to, one in each turn, then says what it got."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self._calls = list(calls)
        self.offered: list[FunctionTool] = []
        self.heard: list[str] = []

    async def get_response(self, *_: Any, **given: Any) -> ModelResponse:
        self.offered = [tool for tool in given["tools"] if isinstance(tool, FunctionTool)]
        said_before: Sequence[dict[str, Any]] = given["input"]
        outputs = [item for item in said_before if item.get("type") == "function_call_output"]
        self.heard = [str(item["output"]) for item in outputs]
        said: TResponseOutputItem
        if self._calls:
            name, arguments = self._calls.pop(0)
            said = ResponseFunctionToolCall(
                name=name, arguments=arguments, call_id=f"call-{len(self._calls)}", type="function_call"
            )
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            said = ResponseOutputMessage(
                id="1", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse([said], Usage(), None)

    def stream_response(self, *_: Any, **given: Any) -> AsyncIterator[Any]:
        raise AssertionError("nobody asked for a stream")


async def run(model: ScriptedModel, tools: list[FunctionTool]) -> list[str]:
    agent = Agent(name="clerk", model=model, tools=list(tools))
    result = await Runner.run(agent, "Handle the refund.", run_config=QUIET)
    assert result.final_output == "done"
    return model.heard


def test_a_tool_keeps_its_name_description_and_closed_schema() -> None:
    ours = RecordedTools().tools()
    theirs = openai_tools(ours)
    assert [(tool.name, tool.description) for tool in theirs] == [
        (tool.name, tool.description) for tool in ours
    ]
    assert all(tool.strict_json_schema for tool in theirs)
    assert [tool.params_json_schema for tool in theirs] == [tool.parameters for tool in ours]


async def test_runner_offers_tools_and_passes_the_arguments_of_the_model() -> None:
    recorded = RecordedTools()
    model = ScriptedModel(
        ("read_skill", '{"name": "refunds"}'),
        ("read_file", '{"name": "refunds", "path": "references/policy.md"}'),
        ("list_skills", ""),
    )
    heard = await run(model, openai_tools(recorded.tools()))
    assert [tool.name for tool in model.offered] == ["read_skill", "read_file", "list_skills", "refuse"]
    assert recorded.calls == [
        ("read_skill", {"name": "refunds"}),
        ("read_file", {"name": "refunds", "path": "references/policy.md"}),
        ("list_skills", {}),
    ]
    assert heard[0] == "read_skill says [('name', 'refunds')]"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{", "the arguments of `read_skill` are not JSON"),
        ('["refunds"]', "are not an object"),
        ("{}", "needs the parameter `name`"),
        ('{"name": 7}', "is not of type string"),
        ('{"name": "refunds", "other": 1}', "has no parameter `other`"),
    ],
)
async def test_model_sees_bad_argument_errors_and_the_run_continues(arguments: str, told: str) -> None:
    recorded = RecordedTools()
    model = ScriptedModel(("read_skill", arguments), ("read_skill", '{"name": "refunds"}'))
    heard = await run(model, openai_tools(recorded.tools()))
    assert told in heard[0]
    assert recorded.calls == [("read_skill", {"name": "refunds"})]


async def test_deeply_nested_arguments_are_reported_as_invalid_json() -> None:
    written = "[" * 100_000  # the runner itself does not survive these
    context = ToolContext(None, tool_name="read_skill", tool_call_id="1", tool_arguments=written)
    tool = openai_tools(RecordedTools().tools())[0]
    assert "are not JSON" in await tool.on_invoke_tool(context, written)


async def test_model_sees_the_refusal_and_the_run_continues() -> None:
    recorded = RecordedTools()
    model = ScriptedModel(("refuse", '{"name": "refunds"}'), ("read_skill", '{"name": "refunds"}'))
    heard = await run(model, openai_tools(recorded.tools()))
    assert heard[0] == "no skill is served at `skill://refunds/SKILL.md`"
    assert heard[1].startswith("read_skill says")


async def test_agent_loads_a_skill_and_reads_its_file(tmp_path: Path) -> None:
    write_skill(tmp_path, "refunds", {"references/policy.md": "30 days, no questions.\n"})
    async with Host(folders={"mine": tmp_path}) as host:
        await host.discover()
        model = ScriptedModel(
            ("read_skill", json.dumps({"name": "refunds"})),
            ("read_skill_file", json.dumps({"name": "refunds", "path": "references/policy.md"})),
        )
        loaded, read = await run(model, openai_tools(host.session().tools()))
    assert "# " in loaded
    assert "30 days, no questions." in read
