"""The record of a tool: its schema is closed, and nothing else than it says reaches the call."""

from collections.abc import Mapping
from typing import Any

import pytest

from skillwire import AgentTool
from skillwire.core.record import Json
from skillwire.errors import BadParamsError, InvalidValueError

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "lines": {"type": "integer"}, "raw": {"type": "boolean"}},
    "required": ["name", "lines", "raw"],
    "additionalProperties": False,
}
GOOD: dict[str, Json] = {"name": "refunds", "lines": 3, "raw": True}


async def echo(arguments: Mapping[str, Json]) -> str:
    return " ".join(f"{name}={value}" for name, value in arguments.items())


def tool(**schema: Json) -> AgentTool:
    return AgentTool("read", "Reads.", SCHEMA | schema, echo)


async def test_arguments_that_fit_the_schema_reach_the_call() -> None:
    assert await tool().invoke(GOOD) == "name=refunds lines=3 raw=True"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["refunds"], "not an object"),
        (None, "not an object"),
        ({}, "needs the parameter `name`; write `name`, `lines`, `raw`"),
        (GOOD | {"mode": "x"}, "has no parameter `mode`"),
        (GOOD | {"name": 7}, "the parameter `name` of `read` is not of type string"),
        (GOOD | {"lines": True}, "is not of type integer"),
        (GOOD | {"raw": 1}, "is not of type boolean"),
        (GOOD | {"name": None}, "is not of type string"),
        (GOOD | {"na\x1bme": "x"}, r"no parameter `na\x1bme`"),
    ],
)
async def test_bad_arguments_are_refused_with_an_explanation(arguments: Any, told: str) -> None:
    with pytest.raises(BadParamsError) as caught:
        await tool().invoke(arguments)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"required": ["name", "lines"]},
        {"additionalProperties": True},
        {"properties": {"name": {"type": "object"}}, "required": ["name"]},
        {"properties": {"name": "text"}, "required": ["name"]},
    ],
)
def test_open_or_optional_schema_is_rejected(schema: Any) -> None:
    with pytest.raises(InvalidValueError):
        tool(**schema)
