"""Tools in Pydantic AI, called by its own agents, with the stand-ins for models that come with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from skillwire import Host
from skillwire.adapters.pydantic_ai import pydantic_ai_tools
from tests.support.agent_tools import RecordedTools
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio
Answer = Callable[[list[ModelMessage], AgentInfo], ModelResponse]


def scripted(*calls: tuple[str, str | dict[str, Any]]) -> Answer:
    """Return a model that calls these tools, one in each turn, then is done."""
    left = list(calls)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not left:
            return ModelResponse([TextPart("done")])
        name, arguments = left.pop(0)
        return ModelResponse([ToolCallPart(name, arguments)])

    return answer


async def run(answer: Answer, tools: list[Any]) -> list[str]:
    """Return what the model heard from its tools."""
    agent = Agent(FunctionModel(answer), tools=tools)
    result = await agent.run("Handle the refund.")
    assert result.output == "done"
    parts = [part for each in result.all_messages() if isinstance(each, ModelRequest) for part in each.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


async def test_a_tool_keeps_its_name_description_and_closed_schema() -> None:
    ours = RecordedTools().tools()
    model = TestModel(call_tools=[])
    await Agent(model, tools=pydantic_ai_tools(ours)).run("Hello.")
    assert model.last_model_request_parameters is not None
    theirs = model.last_model_request_parameters.function_tools
    assert [(tool.name, tool.description, tool.parameters_json_schema) for tool in theirs] == [
        (tool.name, tool.description, tool.parameters) for tool in ours
    ]


async def test_generated_arguments_fit_the_schema_of_every_tool() -> None:
    recorded = RecordedTools()
    working = [tool for tool in recorded.tools() if tool.name != "refuse"]
    await Agent(TestModel(), tools=pydantic_ai_tools(working)).run("Hello.")
    assert {name for name, _ in recorded.calls} == {"read_skill", "read_file", "list_skills"}


async def test_agent_passes_the_arguments_of_the_model_to_tools() -> None:
    recorded = RecordedTools()
    answer = scripted(
        ("read_skill", {"name": "refunds"}),
        ("read_file", '{"name": "refunds", "path": "references/policy.md"}'),
        ("list_skills", {}),
    )
    heard = await run(answer, pydantic_ai_tools(recorded.tools()))
    assert recorded.calls == [
        ("read_skill", {"name": "refunds"}),
        ("read_file", {"name": "refunds", "path": "references/policy.md"}),
        ("list_skills", {}),
    ]
    assert heard[0] == "read_skill says [('name', 'refunds')]"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "needs the parameter `name`"),
        ({"name": 7}, "is not of type string"),
        ({"name": "refunds", "other": 1}, "has no parameter `other`"),
    ],
)
async def test_model_sees_bad_argument_errors_and_the_run_continues(
    arguments: dict[str, Any], told: str
) -> None:
    recorded = RecordedTools()
    answer = scripted(("read_skill", arguments), ("read_skill", {"name": "refunds"}))
    heard = await run(answer, pydantic_ai_tools(recorded.tools()))
    assert told in heard[0]
    assert recorded.calls == [("read_skill", {"name": "refunds"})]


async def test_model_sees_repeated_refusals_and_the_run_continues() -> None:
    recorded = RecordedTools()
    answer = scripted(*[("refuse", {"name": "refunds"})] * 4, ("read_skill", {"name": "refunds"}))
    heard = await run(answer, pydantic_ai_tools(recorded.tools()))
    assert heard[:4] == ["no skill is served at `skill://refunds/SKILL.md`"] * 4
    assert heard[4].startswith("read_skill says")


async def test_agent_loads_a_skill_and_reads_its_file(tmp_path: Path) -> None:
    write_skill(tmp_path, "refunds", {"references/policy.md": "30 days, no questions.\n"})
    async with Host(folders={"mine": tmp_path}) as host:
        await host.discover()
        answer = scripted(
            ("read_skill", {"name": "refunds"}),
            ("read_skill_file", {"name": "refunds", "path": "references/policy.md"}),
        )
        loaded, read = await run(answer, pydantic_ai_tools(host.session().tools()))
    assert "# " in loaded
    assert "30 days, no questions." in read
