"""Prompts: how a person starts a skill by name."""

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import EmbeddedResource, GetPromptResult, TextResourceContents

from skillwire.server import PromptContent, ServeOptions
from tests.support.clients import ERAS, connected, skill

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ERAS)]

INVALID_PARAMS = -32602
REFUNDS = skill("acme/refunds", "description: Decides and prepares refunds.\n")
RETURNS = skill("returns")
TWINS = (skill("one/twin"), skill("two/twin"))


def document(result: GetPromptResult) -> tuple[str, str]:
    """Return the URI and the text of the one message."""
    (message,) = result.messages
    assert message.role == "user"
    assert isinstance(message.content, EmbeddedResource)
    assert isinstance(message.content.resource, TextResourceContents)
    assert message.content.resource.mime_type == "text/markdown"
    annotations = message.content.annotations
    assert annotations is not None
    assert (annotations.audience, annotations.priority) == (["assistant"], 1.0)
    return message.content.resource.uri, message.content.resource.text


async def test_every_skill_has_prompt_and_one_takes_a_name(mode: Any) -> None:
    async with connected(mode, REFUNDS, RETURNS) as client:
        by_name, *prompts = (await client.list_prompts()).prompts
    assert by_name.name == "skill"
    assert by_name.arguments is not None
    assert [(each.name, each.required) for each in by_name.arguments] == [
        ("name", True),
        ("arguments", False),
    ]
    assert by_name.description == "Start a skill by its name. Skills: refunds, returns."
    assert [(prompt.name, prompt.description, prompt.arguments) for prompt in prompts] == [
        ("refunds", "Decides and prepares refunds.", None),
        ("returns", "Does returns.", None),
    ]


@pytest.mark.parametrize(
    ("prompt", "arguments"),
    [
        ("refunds", None),
        ("refunds", {"name": "returns"}),
        ("skill", {"name": "refunds"}),
        ("skill", {"name": "acme/refunds"}),
        ("skill", {"name": "skill://acme/refunds/SKILL.md"}),
    ],
    ids=str,
)
async def test_a_prompt_is_one_message_that_holds_the_skill(
    mode: Any, prompt: str, arguments: dict[str, str] | None
) -> None:
    async with connected(mode, REFUNDS, RETURNS) as client:
        result = await client.get_prompt(prompt, arguments)
    uri, text = document(result)
    assert uri == "skill://acme/refunds/SKILL.md"
    assert text.encode() == REFUNDS.files["SKILL.md"]
    assert result.description == "Decides and prepares refunds."


@pytest.mark.parametrize(("prompt", "arguments"), [("refunds", None), ("skill", {"name": "refunds"})])
async def test_a_prompt_can_be_plain_text(mode: Any, prompt: str, arguments: dict[str, str] | None) -> None:
    options = ServeOptions(prompt_content=PromptContent.TEXT)
    async with connected(mode, REFUNDS, RETURNS, options=options) as client:
        result = await client.get_prompt(prompt, arguments)
    (message,) = result.messages
    assert message.role == "user"
    assert message.content.type == "text"
    assert message.content.text.encode() == REFUNDS.files["SKILL.md"]
    assert message.content.meta == {"dev.skillwire/uri": "skill://acme/refunds/SKILL.md"}
    annotations = message.content.annotations
    assert annotations is not None
    assert (annotations.audience, annotations.priority) == (["assistant"], 1.0)
    assert result.description == "Decides and prepares refunds."


async def test_skills_that_share_a_name_have_prompts_by_their_paths(mode: Any) -> None:
    async with connected(mode, RETURNS, *TWINS) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["skill", "returns", "one/twin", "two/twin"]
        assert document(await client.get_prompt("two/twin"))[0] == "skill://two/twin/SKILL.md"
        with pytest.raises(MCPError, match="there is no prompt `twin`"):
            await client.get_prompt("twin")
        with pytest.raises(
            MCPError, match="`twin` is the name of 2 skills; use one of: `one/twin`, `two/twin`"
        ):
            await client.get_prompt("skill", {"name": "twin"})


async def test_no_prompt_is_called_by_a_uri(mode: Any) -> None:
    async with connected(mode, skill("twin"), skill("one/twin")) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["skill", "twin", "one/twin"]
        assert document(await client.get_prompt("twin"))[0] == "skill://twin/SKILL.md"


@pytest.mark.parametrize("name", ["skill", "skills", "load-skill", "name"])
async def test_a_skill_may_be_named_like_our_own_prompt(mode: Any, name: str) -> None:
    async with connected(mode, REFUNDS, skill(name)) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert len(names) == len(set(names)) == 3
        assert names[0] == "skill"
        assert names[-1] == ("memory/skill" if name == "skill" else name)
        for prompt, arguments in ((names[-1], None), ("skill", {"name": name})):
            assert document(await client.get_prompt(prompt, arguments))[0] == f"skill://{name}/SKILL.md"


@pytest.mark.parametrize(
    ("prompt", "arguments", "told"),
    [
        ("refnuds", None, "there is no prompt `refnuds`; did you mean `refunds`"),
        ("zzzz", None, "there is no prompt `zzzz`"),
        ("skill", {"name": "refnuds"}, "there is no skill `refnuds`; did you mean `refunds`"),
        ("skill", {"name": ""}, "there is no skill ``"),
        ("skill", None, "the parameter `name` must be a string"),
    ],
)
async def test_what_cannot_be_started_is_refused_with_what_was_meant(
    mode: Any, prompt: str, arguments: dict[str, str] | None, told: str
) -> None:
    async with connected(mode, REFUNDS, RETURNS) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(prompt, arguments)
    assert caught.value.error.code == INVALID_PARAMS
    assert caught.value.error.message.startswith(told)
    assert caught.value.error.data is None


async def test_multiline_description_becomes_one_line(mode: Any) -> None:
    folded = skill("folded", "description: >\n  Does this,\n  and that.\n")
    hostile = skill("hostile", 'description: "a\\n\\tb\\u202e c\\u001b[31m"\n')
    async with connected(mode, folded, hostile) as client:
        _, *prompts = (await client.list_prompts()).prompts
        got = await client.get_prompt("folded")
    assert [prompt.description for prompt in prompts] == ["Does this, and that.", r"a b\u202e c\x1b[31m"]
    assert got.description == "Does this, and that."


async def test_a_hundred_prompts_are_a_page(mode: Any) -> None:
    skills = [skill(f"s{number:03}") for number in range(205)]
    async with connected(mode, *skills) as client:
        pages = [await client.list_prompts()]
        while pages[-1].next_cursor is not None:
            pages.append(await client.list_prompts(cursor=pages[-1].next_cursor))
        with pytest.raises(MCPError, match="does not continue this list"):
            await client.list_prompts(cursor="made up")
    assert [len(page.prompts) for page in pages] == [100, 100, 6]
    names = [prompt.name for page in pages for prompt in page.prompts]
    assert names == ["skill", *(f"s{number:03}" for number in range(205))]


async def test_list_of_names_stays_within_budget_and_counts_rest(mode: Any) -> None:
    skills = [skill(f"skill-{number:03}") for number in range(50)]
    async with connected(mode, *skills, options=ServeOptions(catalog_tokens=10)) as client:
        described = (await client.list_prompts()).prompts[0].description
    assert described == ("Start a skill by its name. Skills: skill-000, skill-001, skill-002 and 47 more.")


async def test_without_skills_named_prompt_still_exists(mode: Any) -> None:
    async with connected(mode) as client:
        (prompt,) = (await client.list_prompts()).prompts
    assert (prompt.name, prompt.description) == ("skill", "Start a skill by its name.")
