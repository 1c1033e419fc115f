"""Templates: one name with parameters for many skills, on every surface of a server."""

from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import EmbeddedResource, PromptReference, TextResourceContents

from skillwire import Library, LiveSkill, ServeOptions
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.server import Channel, skills_server
from tests.support.clients import ERAS, ask, refusal, text_of
from tests.support.templates import (
    GUIDE,
    GUIDE_URI,
    NOTES,
    USERS,
    catalog_library,
    code_source,
    template_server,
)

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ERAS)]

ANVIL = "skill://docs/anvil/guide/SKILL.md"
TEXT = "---\nname: guide\ndescription: How to use anvil.\n---\n\n# anvil\n"
SPELLINGS = [
    "docs/anvil/guide",
    "/docs/anvil/guide/skill.md",
    "docs/anvil/guide/SKILL.md",
    "code:docs/anvil/guide",
    "code/docs/anvil/guide",
    "skill://docs/anvil/guide",
    ANVIL,
]
WRONG = "write one of `anvil`, `rocket` in place of `{product}` in `docs/{product}/guide`"


def prompt_text(result: Any) -> str:
    (message,) = result.messages
    assert isinstance(message.content, EmbeddedResource)
    assert isinstance(message.content.resource, TextResourceContents)
    return message.content.resource.text


async def test_list_for_models_shows_templates_with_their_parameters(mode: Any) -> None:
    shown = (
        f"<skill>\n<name>{GUIDE}</name>\n<description>How to use {{product}}.</description>\n"
        f"<parameters>product: one of anvil, rocket</parameters>\n<location>{GUIDE_URI}</location>\n</skill>"
    )
    for channel in Channel:
        server = template_server(options=ServeOptions(channel)).build()
        async with Client(server, mode=mode) as client:
            told = client.instructions or (await client.list_tools()).tools[0].description or ""
            asked = text_of(await client.call_tool("load-skill", {"name": ""}))
        for text in (told, asked):
            assert shown in text
            assert "<parameters>user_id: lowercase letters, digits and single hyphens" in text
            assert "<parameters>year: 2025; topic: lowercase letters" in text
            assert text.count("Put a value in place of each parameter") == 1


async def test_budget_counts_templates_that_are_not_shown(mode: Any) -> None:
    for tokens, shown, told in ((0, 0, "3 more names with parameters are"), (130, 2, "1 more name with")):
        server = template_server(options=ServeOptions(catalog_tokens=tokens)).build()
        async with Client(server, mode=mode) as client:
            text = client.instructions or ""
        assert text.count("<skill>") == shown
        assert told in text
        assert "`resources/templates/list`" in text


@pytest.mark.parametrize("name", SPELLINGS)
async def test_instance_is_loaded_by_every_spelling_on_every_surface(mode: Any, name: str) -> None:
    async with Client(template_server().build(), mode=mode) as client:
        assert text_of(await client.call_tool("load-skill", {"name": name})) == TEXT
        read = await client.call_tool("skill-resource", {"skill": name, "path": "SKILL.md"})
        assert text_of(read) == TEXT
        assert text_of(await client.call_tool("skill-resource", {"skill": name, "path": ""})) == "SKILL.md"
        folder = await ask(client, "resources/directory/read", uri=ANVIL.removesuffix("/SKILL.md"))
        assert [each["uri"] for each in folder["resources"]] == [ANVIL]
        assert prompt_text(await client.get_prompt("skill", {"name": name})) == TEXT


async def test_each_template_is_a_prompt_with_its_parameters(mode: Any) -> None:
    async with Client(template_server().build(), mode=mode) as client:
        by_name, *prompts = (await client.list_prompts()).prompts
        assert by_name.description == f"Start a skill by its name. Skills: {GUIDE}, {USERS}, {NOTES}."
        assert [
            (prompt.name, [(each.name, each.required) for each in prompt.arguments or ()])
            for prompt in prompts
        ] == [
            (GUIDE, [("product", True)]),
            (USERS, [("user_id", True)]),
            (NOTES, [("year", True), ("topic", True)]),
        ]
        assert prompts[0].arguments is not None
        assert prompts[0].arguments[0].description == "one of anvil, rocket"
        got = await client.get_prompt(GUIDE, {"product": "anvil"})
        assert (prompt_text(got), got.description) == (TEXT, "How to use anvil.")
        assert prompt_text(await client.get_prompt(NOTES, {"year": "2025", "topic": "tea"})).endswith(
            "# tea\n"
        )


async def test_arguments_of_template_prompts_are_completed(mode: Any) -> None:
    async with Client(template_server().build(), mode=mode) as client:
        for prompt, argument, typed, expected in [
            (GUIDE, "product", "ro", ["rocket"]),
            (GUIDE, "product", "", ["anvil", "rocket"]),
            (GUIDE, "other", "", []),
            (USERS, "user_id", "a", ["a0", "a1", "a2"]),
            (NOTES, "topic", "", []),
            ("skill", "name", "docs/r", ["docs/rocket/guide"]),
            ("skill", "name", "app/users/x", ["app/users/x0", "app/users/x1", "app/users/x2"]),
            ("skill", "name", "notes/", ["notes/2025/"]),
            ("skill", "name", "/docs/r", ["/docs/rocket/guide"]),
            ("skill", "name", "code:docs/r", ["code:docs/rocket/guide"]),
            ("skill", "name", "other:docs/r", []),
            ("skill", "name", "skill://docs/r", ["skill://docs/rocket/guide"]),
            ("skill", "name", "skill://notes/", ["skill://notes/2025/"]),
        ]:
            reference = PromptReference(type="ref/prompt", name=prompt)
            done = await client.complete(reference, {"name": argument, "value": typed})
            assert done.completion.values == expected, (prompt, argument, typed)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("docs/bomb/guide", f"there is no skill `docs/bomb/guide`; {WRONG}"),
        (GUIDE, f"`{GUIDE}` stands for many skills; {WRONG}"),
        (f"code:{GUIDE}", f"`code:{GUIDE}` stands for many skills; {WRONG}"),
        (GUIDE_URI, f"`{GUIDE_URI}` stands for many skills; {WRONG}"),
        ("skill://docs/bomb/guide/SKILL.md", WRONG),
        ("code:docs/bomb/guide", WRONG),
        ("code/docs/bomb/guide", WRONG),
        ("guide", f"write `{GUIDE}` with a value for `{{product}}`"),
        ("app/users/Not A Name", "write lowercase letters, digits and single hyphens"),
        (
            "notes/1999/Tea Time",
            "(1-64 characters) in place of `{topic}` in `notes/{year}/{topic}`",
        ),
        (
            "app/users/nobody",
            "no skill is served at `skill://app/users/nobody/SKILL.md`; there is none with ",
        ),
    ],
)
async def test_wrong_value_names_the_parameter_and_what_fits(mode: Any, name: str, told: str) -> None:
    async with Client(template_server().build(), mode=mode) as client:
        assert told in await refusal(client, "load-skill", {"name": name})
        assert told in await refusal(client, "skill-resource", {"skill": name, "path": "SKILL.md"})
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("skill", {"name": name})
        assert told in caught.value.error.message


@pytest.mark.parametrize("method", ["skills/get", "resources/read"])
async def test_wrong_value_in_a_uri_is_explained(mode: Any, method: str) -> None:
    async with Client(template_server().build(), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await ask(client, method, uri="skill://docs/bomb/guide/SKILL.md")
    assert caught.value.error.code == -32602
    assert caught.value.error.message.endswith(WRONG)


@pytest.mark.parametrize(
    ("prompt", "arguments", "told"),
    [
        (GUIDE, None, f"the prompt `{GUIDE}` needs other arguments; {WRONG}"),
        (GUIDE, {"product": "bomb"}, WRONG),
        (GUIDE, {"product": ""}, WRONG),
        (NOTES, {"topic": "tea"}, "write `2025` in place of `{year}` in `notes/{year}/{topic}`"),
        (NOTES, {"year": "2025", "topic": "a/b"}, "in place of `{topic}`"),
        (USERS, {"user_id": "../x"}, "in place of `{user_id}`"),
        (USERS, {"user_id": "nobody"}, "there is none with `{user_id}` = `nobody`"),
    ],
)
async def test_prompt_with_a_wrong_value_says_what_fits(
    mode: Any, prompt: str, arguments: dict[str, str] | None, told: str
) -> None:
    async with Client(template_server().build(), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(prompt, arguments)
    assert caught.value.error.code == -32602
    assert told in caught.value.error.message


@pytest.mark.parametrize(
    ("fields", "for_models", "for_people"),
    [
        ({}, True, True),
        ({"disable-model-invocation": True}, False, True),
        ({"user-invocable": False}, True, False),
    ],
    ids=str,
)
async def test_template_is_offered_only_to_whom_it_is_for(
    mode: Any, fields: dict[str, Any], *, for_models: bool, for_people: bool
) -> None:
    more = LiveSkill("kb/{area}/faq", lambda: "# FAQ\n", description="A FAQ.", frontmatter=fields)
    async with Client(template_server(more).build(), mode=mode) as client:
        listed = text_of(await client.call_tool("load-skill", {"name": ""}))
        assert ("<name>kb/{area}/faq</name>" in listed) is for_models
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert ("kb/{area}/faq" in prompts) is for_people
        loaded = await client.call_tool("load-skill", {"name": "kb/x/faq"})
        assert loaded.is_error is not for_models
        if not for_people:
            with pytest.raises(MCPError, match="is not for people to start"):
                await client.get_prompt("skill", {"name": "kb/x/faq"})


async def test_operator_decides_for_all_skills_of_a_template(mode: Any) -> None:
    library = await catalog_library(code_source("code", [], {GUIDE: {"product": ["anvil"]}}))
    overrides = {GUIDE_URI: Override(assistant=False, user=False)}
    async with Client(skills_server(library), mode=mode) as client:
        assert text_of(await client.call_tool("load-skill", {"name": "docs/anvil/guide"})).startswith("---\n")
        await library.set_visibility(VisibilityPolicy(overrides))
        assert GUIDE not in text_of(await client.call_tool("load-skill", {"name": ""}))
        assert "is not for models" in await refusal(client, "load-skill", {"name": "docs/anvil/guide"})
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["skill"]


async def test_templates_of_two_sources_with_one_path_have_two_names(mode: Any) -> None:
    library = await catalog_library(
        code_source("first", [], {GUIDE: {"product": ["anvil"]}}),
        code_source("second", [], {GUIDE: {"product": ["rocket"]}}),
    )
    async with Client(skills_server(library), mode=mode) as client:
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["skill", GUIDE, f"second:{GUIDE}"]
        for name in ("docs/anvil/guide", "docs/rocket/guide", "second:docs/rocket/guide"):
            assert not (await client.call_tool("load-skill", {"name": name})).is_error
        got = await client.get_prompt(f"second:{GUIDE}", {"product": "rocket"})
        assert prompt_text(got).endswith("rocket/guide/SKILL.md\n")


async def test_listed_skill_wins_over_a_template(mode: Any) -> None:
    library: Library = await catalog_library(
        code_source("code", ["docs/anvil/guide"], {GUIDE: {"product": ["anvil", "rocket"]}})
    )
    async with Client(skills_server(library), mode=mode) as client:
        got = await client.get_prompt(GUIDE, {"product": "anvil"})
        assert prompt_text(got).endswith("# code: docs/anvil/guide\n")
        assert prompt_text(await client.get_prompt(GUIDE, {"product": "rocket"})).endswith(
            "rocket/guide/SKILL.md\n"
        )
