"""What areas add to the features of a server."""

import json
from collections.abc import Mapping

import pytest
from mcp import Client

from skillwire import Catalog, Library, MemorySource, Problem, ServeOptions, SkillRecord
from skillwire.errors import ConflictError
from skillwire.features.addition import AddedFeatures, join_additions
from skillwire.features.base import Call
from skillwire.features.tools import Tool
from skillwire.server import skills_server
from skillwire.sources import MemorySkill, Rule, Severity
from tests.support.skills import skill_md

pytestmark = pytest.mark.anyio

PROBLEM = Problem("hello/SKILL.md", Rule.NAME_FORMAT, Severity.ERROR, "it is rude")


async def greet(_call: Call) -> dict[str, object]:
    return {"content": [{"type": "text", "text": "hello"}], "isError": False}


def tool(name: str) -> Tool:
    return Tool(name, "Greets.", {"type": "object"}, {}, greet)  # type: ignore[arg-type]


def only(_catalog: Catalog) -> tuple[Problem, ...]:
    return (PROBLEM,)


def version(_entry: SkillRecord) -> Mapping[str, str]:
    return {"version": "1.0.0", "by": "first"}


def author(_entry: SkillRecord) -> Mapping[str, str]:
    return {"author": "me", "by": "second"}


async def library() -> Library:
    hello = MemorySkill("hello", {"SKILL.md": skill_md("hello")})
    loaded = Library([MemorySource([hello])])
    await loaded.load()
    return loaded


async def test_tools_of_all_additions_are_offered_in_their_order() -> None:
    options = ServeOptions(
        tools=[tool("own")], additions=[AddedFeatures(tools=[tool("b")]), AddedFeatures(tools=[tool("a")])]
    )
    async with Client(skills_server(await library(), options=options)) as client:
        names = [each.name for each in (await client.list_tools()).tools]
        assert names[-3:] == ["own", "b", "a"]


async def test_an_addition_replaces_the_reported_problems() -> None:
    options = ServeOptions(additions=[AddedFeatures(), AddedFeatures(problems=only)])
    async with Client(skills_server(await library(), options=options)) as client:
        (content,) = (await client.read_resource("skillwire://problems")).contents
        assert json.loads(getattr(content, "text"))["problems"] == [PROBLEM.to_json()]  # noqa: B009


async def test_reads_carry_the_meta_of_all_additions() -> None:
    options = ServeOptions(
        additions=[AddedFeatures(runtime_meta=version), AddedFeatures(runtime_meta=author)]
    )
    async with Client(skills_server(await library(), options=options)) as client:
        meta = (await client.read_resource("skill://hello/SKILL.md")).meta or {}
        assert {key: meta[key] for key in ("version", "author", "by")} == {
            "version": "1.0.0",
            "author": "me",
            "by": "second",
        }


def test_two_additions_cannot_both_report_the_problems() -> None:
    with pytest.raises(ConflictError):
        join_additions([AddedFeatures(problems=only), AddedFeatures(problems=only)])
