"""Completion: what a person has begun to type."""

from typing import Any

import pytest
from mcp import Client
from mcp_types import Completion, PromptReference, ResourceTemplateReference

from tests.support.clients import ERAS, connected, skill

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ERAS)]

BY_NAME = PromptReference(type="ref/prompt", name="skill")
SKILLS = [
    skill("daily-refunds"),
    skill("acme/refunds", files={"references/guide.md": b"g", "references/policy.md": b"p"}),
    skill("refund-desk"),
    skill("other"),
]


async def complete(
    client: Client, typed: str, ref: Any = BY_NAME, argument: str = "name", **context: str
) -> Completion:
    found = await client.complete(ref, {"name": argument, "value": typed}, context or None)
    return found.completion


async def template(client: Client) -> ResourceTemplateReference:
    (found,) = (await client.list_resource_templates()).resource_templates
    assert found.uri_template == "skill://{+skill}/{+file}"
    return ResourceTemplateReference(type="ref/resource", uri=found.uri_template)


@pytest.mark.parametrize("typed", ["refund", "Refund", "REFUND"])
async def test_prefix_matches_come_before_other_matches(mode: Any, typed: str) -> None:
    async with connected(mode, *SKILLS) as client:
        found = await complete(client, typed)
    assert found.values == ["refunds", "refund-desk", "daily-refunds"]
    assert (found.total, found.has_more) == (3, False)


async def test_nothing_typed_yet_is_every_skill_and_nonsense_is_none(mode: Any) -> None:
    async with connected(mode, *SKILLS) as client:
        assert (await complete(client, "")).values == ["daily-refunds", "refunds", "refund-desk", "other"]
        assert (await complete(client, "zzz")).values == []


async def test_skills_that_share_a_name_are_completed_to_their_paths(mode: Any) -> None:
    async with connected(mode, skill("one/twin"), skill("two/twin")) as client:
        values = (await complete(client, "twin")).values
        assert values == ["one/twin", "two/twin"]
        for value in values:
            assert (await client.get_prompt("skill", {"name": value})).messages


async def test_a_hundred_are_sent_and_the_rest_is_counted(mode: Any) -> None:
    async with connected(mode, *(skill(f"s{number:03}") for number in range(130))) as client:
        found = await complete(client, "s")
    assert (len(found.values), found.total, found.has_more) == (100, 130, True)


async def test_the_template_is_completed_to_files_that_can_be_read(mode: Any) -> None:
    async with connected(mode, *SKILLS) as client:
        ref = await template(client)
        skills = (await complete(client, "acme", ref, "skill")).values
        assert skills == ["acme/refunds"]
        files = (await complete(client, "", ref, "file", skill=skills[0])).values
        assert files[0] == "SKILL.md"
        assert set(files) == {"SKILL.md", "references/guide.md", "references/policy.md"}
        assert (await complete(client, "pol", ref, "file", skill=skills[0])).values == [
            "references/policy.md"
        ]
        for file in files:
            assert (await client.read_resource(f"skill://{skills[0]}/{file}")).contents


async def test_files_are_not_completed_before_a_skill_is_chosen(mode: Any) -> None:
    async with connected(mode, *SKILLS) as client:
        ref = await template(client)
        assert (await complete(client, "", ref, "file")).values == []
        assert (await complete(client, "", ref, "file", skill="no-such-skill")).values == []


@pytest.mark.parametrize(
    ("ref", "argument"),
    [
        (PromptReference(type="ref/prompt", name="refunds"), "name"),
        (BY_NAME, "other"),
        (ResourceTemplateReference(type="ref/resource", uri="skill://{other}"), "skill"),
    ],
    ids=["a prompt without arguments", "another argument", "another template"],
)
async def test_what_we_do_not_know_has_no_completions(mode: Any, ref: Any, argument: str) -> None:
    async with connected(mode, *SKILLS) as client:
        assert (await complete(client, "", ref, argument)).values == []
