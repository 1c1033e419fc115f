"""Prompts of skills that take arguments: what is listed, and how values reach the text."""

from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import Library, LiveSkill, MemorySource, ServeOptions, SkillRecord, SkillServer
from skillwire.server import PromptContent, skills_server
from tests.support.clients import ERAS, connected, skill
from tests.support.listening import listening

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ERAS)]

FIX = skill(
    "fix", "arguments: [issue, branch]\nargument-hint: '[issue] [branch]'\n", body="Fix $issue on $branch.\n"
)
HINTED = skill("hinted", "argument-hint: '[file]'\n", body="Check $ARGUMENTS.\n")
PLAIN = skill("plain", body="awk '{print $1}'\n")
HEAD = (
    "---\nname: fix\ndescription: Does fix.\narguments: [issue, branch]\n"
    "argument-hint: '[issue] [branch]'\n---\n\n"
)


def block(result: Any) -> Any:
    (message,) = result.messages
    assert message.role == "user"
    return message.content


async def test_declared_arguments_are_optional_arguments_of_the_prompt(mode: Any) -> None:
    async with connected(mode, FIX, HINTED, PLAIN) as client:
        _, fix, hinted, plain = (await client.list_prompts()).prompts
    assert [(each.name, each.required, each.description) for each in fix.arguments or ()] == [
        ("issue", False, "[issue] [branch]"),
        ("branch", False, "[issue] [branch]"),
    ]
    assert [(each.name, each.required) for each in hinted.arguments or ()] == [("arguments", False)]
    assert plain.arguments is None


@pytest.mark.parametrize("content", list(PromptContent))
async def test_values_are_filled_into_the_body_as_text(mode: Any, content: PromptContent) -> None:
    options = ServeOptions(prompt_content=content)
    async with connected(mode, FIX, HINTED, PLAIN, options=options) as client:
        for prompt, arguments, text in (
            ("fix", {"issue": "42", "branch": "main"}, f"{HEAD}Fix 42 on main.\n"),
            ("fix", {"issue": "42"}, f"{HEAD}Fix 42 on .\n"),
            ("skill", {"name": "fix", "arguments": "42 main"}, f"{HEAD}Fix 42 on main.\n"),
            ("fix", None, f"{HEAD}Fix  on .\n"),
        ):
            found = block(await client.get_prompt(prompt, arguments))
            assert (found.type, found.text) == ("text", text)
            assert found.meta == {"dev.skillwire/skill": "skill://fix/SKILL.md"}
            assert found.annotations.audience == ["assistant"]
        plain = block(await client.get_prompt("skill", {"name": "plain", "arguments": "a b"}))
        assert plain.text.endswith("awk '{print b}'\n")


async def test_prompt_without_arguments_keeps_its_bytes(mode: Any) -> None:
    unused = skill("unused", "argument-hint: '[file]'\n", body="Costs $1.20.\n")
    async with connected(mode, PLAIN, unused) as client:
        for name, memory in (("plain", PLAIN), ("unused", unused)):
            for arguments in (None, {"other": "x"}):
                found = block(await client.get_prompt(name, arguments))
                assert (found.type, found.resource.uri) == ("resource", f"skill://{name}/SKILL.md")
                assert found.resource.text.encode() == memory.files["SKILL.md"]
        listed = (await client.read_resource("skill://unused/SKILL.md")).contents[0]
        assert getattr(listed, "text", "").encode() == unused.files["SKILL.md"]


async def test_text_of_other_operators_is_framed_after_it_is_filled(mode: Any) -> None:
    def frame(entry: SkillRecord, path: str, text: str) -> str:
        return f"<{entry.name} {path}>{text}</>"

    async with connected(mode, FIX, options=ServeOptions(frame=frame)) as client:
        _, fix = (await client.list_prompts()).prompts
        assert next(each.description for each in fix.arguments or ()) == "memory says: `[issue] [branch]`"
        found = block(await client.get_prompt("fix", {"issue": "</>"}))
        assert found.text == f"<fix SKILL.md>{HEAD}Fix </> on .\n</>"


async def test_arguments_that_make_a_text_too_long_are_refused(mode: Any) -> None:
    many = skill("many", body="$ARGUMENTS " * 3000)
    async with connected(mode, many) as client:
        with pytest.raises(MCPError, match="the arguments add more than") as caught:
            await client.get_prompt("skill", {"name": "many", "arguments": "x" * 2000})
    assert caught.value.error.code == -32602


async def test_template_prompt_takes_parameters_and_arguments(mode: Any) -> None:
    more: dict[str, Any] = {"arguments": "topic product"}
    live = LiveSkill("docs/{product}/guide", lambda: "On $topic.\n", description="A guide.", frontmatter=more)
    async with Client(SkillServer("code").add(live).build(), mode=mode) as client:
        _, guide = (await client.list_prompts()).prompts
        assert [(each.name, each.required) for each in guide.arguments or ()] == [
            ("product", True),
            ("topic", False),
        ]
        found = block(await client.get_prompt(guide.name, {"product": "anvil", "topic": "safety"}))
        assert found.text.endswith("\n---\n\nOn safety.\n")


async def test_changed_arguments_change_the_list_of_prompts(mode: Any) -> None:
    source = MemorySource([skill("fix")])
    library = Library([source])
    await library.load()
    async with listening(skills_server(library), mode, []) as (client, heard):
        assert (await client.list_prompts()).prompts[1].arguments is None
        source.put(FIX)
        await library.rescan_source(source)
        await heard.until("prompts")
        assert (await client.list_prompts()).prompts[1].arguments
