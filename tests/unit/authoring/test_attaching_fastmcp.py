"""Skills inside FastMCP: as native components, hidden and mounted as FastMCP does with everything else."""

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension
from mcp import Client
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError

from skillwire import LiveSkill, Skill, Skills, SkillServer, attach
from skillwire.contract import ContractOptions
from skillwire.errors import ConflictError
from skillwire.host.dialects.client import ask
from skillwire.server import PromptContent, ServeOptions, SkillTools
from skillwire.server.attaching.fastmcp.view import view_of
from skillwire.server.build import join_instructions
from tests.support.clients import ERAS, text_of
from tests.support.fastmcp_servers import all_resources, client_of, fastmcp_server, names_of
from tests.support.skills import write, write_skill
from tests.unit.authoring.conftest import REFUNDS as REFUNDS_TEXT
from tests.unit.authoring.conftest import refunds

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)

REFUNDS = "skill://acme/billing/refunds/SKILL.md"


@every_era
async def test_attached_skills_equal_those_of_standalone_server(mode: Any, skills: Skills) -> None:
    server = fastmcp_server()
    attach(server, skills)
    async with (
        client_of(server, mode) as client,
        Client(SkillServer("x").add(skills).build(), mode=mode) as own,
    ):
        extensions = client.server_capabilities.extensions or {}
        assert extensions["io.modelcontextprotocol/skills"] == {"directoryRead": True}
        for method, params in [
            ("skills/list", {}),
            ("skills/get", {"uri": REFUNDS}),
            ("skills/get", {"uri": "skill://docs/anvil/guide/SKILL.md"}),
            ("resources/directory/read", {"uri": "skill://acme/billing/refunds"}),
            ("resources/directory/read", {"uri": "skill://acme"}),
        ]:
            ours, theirs = await ask(own, method, **params), await ask(client, method, **params)
            ours.pop("cacheScope", None)
            assert theirs.pop("cacheScope", "private") == "private"  # nobody knows who else may see it
            assert theirs == ours, method
        for uri in (
            REFUNDS,
            "skill://acme/billing/refunds/data/limits.json",
            "skill://reports/daily/SKILL.md",
        ):
            assert (await client.read_resource(uri)).contents == (await own.read_resource(uri)).contents
        listed = {resource.uri: resource for resource in await all_resources(client)}
        expected = {resource.uri: resource for resource in (await own.list_resources()).resources}
        assert listed[REFUNDS] == expected[REFUNDS]
        got = await client.get_prompt("start_refund")
        assert getattr(got.messages[0].content, "text", "") == refunds().prompt_text()
        (prompt,) = [each for each in (await client.list_prompts()).prompts if each.name == "start_refund"]
        assert (prompt.meta or {})["dev.skillwire/resources"] == list(refunds().uris())


@every_era
async def test_existing_features_of_server_still_work(mode: Any, skills: Skills) -> None:
    server = fastmcp_server()
    attach(server, skills, every_client=False)

    @server.completion
    async def complete(_ref: Any, _argument: Any, _context: Any = None) -> list[str]:
        return ["theirs"]

    assert complete
    async with client_of(server, mode) as client:
        assert client.instructions == "Be kind."
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
        assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
        (block,) = (await client.read_resource("host://readme")).contents
        assert getattr(block, "text", "") == "theirs"
        got = await client.get_prompt("greet", {"name": "Ann"})
        assert getattr(got.messages[0].content, "text", "") == "Hello, Ann"
        done = await client.complete(types.PromptReference(name="greet"), {"name": "name", "value": ""})
        assert done.completion.values == ["theirs"]
        template = types.ResourceTemplateReference(uri="skill://docs/{product}/guide/SKILL.md")
        done = await client.complete(template, {"name": "product", "value": "a"})
        assert done.completion.values == ["anvil"]
        uris = [resource.uri for resource in await all_resources(client)]
        assert uris[0] == "host://readme"
        assert uris[-1] == "skill://index.json"
        assert "skill://acme/billing/refunds/references/policy.md" not in uris


@every_era
async def test_every_client_option_serves_clients_without_extension(mode: Any, skills: Skills) -> None:
    server = fastmcp_server()
    attach(server, skills, options=ServeOptions())
    async with client_of(server, mode) as client:
        assert (client.instructions or "").startswith("Be kind.\n\n")
        assert "for-models" in (client.instructions or "")
        assert "for-people" not in (client.instructions or "")
        first = await client.list_tools()
        rest = await client.list_tools(cursor=first.next_cursor)
        tools = [tool.name for tool in (*first.tools, *rest.tools)]
        assert tools == ["add", "load-skill", "skill-resource", "search-skills"]
        assert "Read the policy." in text_of(await client.call_tool("load-skill", {"name": "refunds"}))
        refused = await client.call_tool("load-skill", {"name": "for-people"})
        assert refused.is_error
        got = await client.get_prompt("skill", {"name": "for-people"})
        assert got.messages[0].content.type == "resource"
        with pytest.raises(MCPError):
            await client.get_prompt("skill", {"name": "for-models"})


@every_era
async def test_prompts_of_mounted_server_can_be_text(mode: Any, skills: Skills) -> None:
    child, parent = fastmcp_server(), FastMCP("parent")
    attach(child, skills, options=ServeOptions(prompt_content=PromptContent.TEXT))
    attach(parent, OWN, options=ServeOptions())
    parent.mount(child, namespace="team")
    for server, name in ((child, "skill"), (parent, "team_skill")):
        async with client_of(server, mode) as client:
            (message,) = (await client.get_prompt(name, {"name": "for-people"})).messages
        assert message.content.type == "text"
        assert message.content.text.startswith("---\nname: for-people\n")


KNOWS_SKILLS = [advertise("io.modelcontextprotocol/skills", {})]
OWN = Skill("own", "---\nname: own\ndescription: Own.\n---\n# Own\n")


@every_era
@pytest.mark.parametrize("extensions", [[], KNOWS_SKILLS], ids=["plain", "knowing"])
@pytest.mark.parametrize("mounted", [False, True])
async def test_skill_tools_depend_on_client_capabilities(
    mode: Any, extensions: list[Any], *, mounted: bool, skills: Skills
) -> None:
    server, prefix = fastmcp_server(), ""
    attach(server, skills, options=ServeOptions(skill_tools=SkillTools.AUTO))
    if mounted:
        parent, prefix = FastMCP("parent"), "team_"
        parent.mount(server, namespace="team")
        server = parent
    async with client_of(server, mode, extensions=extensions) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert (f"{prefix}load-skill" in names) is not bool(extensions)
        assert f"{prefix}add" in names
        answer = await client.call_tool(f"{prefix}load-skill", {"name": "refunds"})
        assert ("Unknown tool" if extensions else "Read the policy.") in text_of(answer)


async def test_cached_tool_checks_the_calling_client(skills: Skills) -> None:
    server = fastmcp_server()
    attach(server, skills, options=ServeOptions(skill_tools=SkillTools.AUTO))
    tool = next(each for each in await server.list_tools() if each.name == "load-skill")

    @server.tool
    async def kept() -> Any:
        return await tool.run({"name": "refunds"})

    assert kept
    async with client_of(server, extensions=KNOWS_SKILLS) as client:
        assert (await client.call_tool("kept")).is_error
    async with client_of(server) as client:
        assert not (await client.call_tool("kept")).is_error


@pytest.mark.parametrize("first", list(SkillTools))
@pytest.mark.parametrize("second", list(SkillTools))
async def test_instructions_name_no_tool_a_server_lacks(
    first: SkillTools, second: SkillTools, skills: Skills
) -> None:
    child, parent = fastmcp_server(), FastMCP("parent")
    attach(child, skills, options=ServeOptions(skill_tools=second))
    attach(parent, OWN, options=ServeOptions(skill_tools=first, catalog_tokens=1))
    parent.mount(child, namespace="team")
    view = await view_of(parent, None)
    await view.refresh()
    instructions = join_instructions(None, view.features) or ""
    has_tools = SkillTools.NEVER not in (first, second)
    assert ("load-skill" in instructions) is has_tools
    assert ("search-skills" in instructions) is has_tools
    assert ("resources/list" in instructions) is not has_tools


@every_era
@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("skill://nobody/SKILL.md", -32602),
        ("skill://acme/billing/refunds", -32602),
        ("skill://docs/bomb/guide/SKILL.md", -32602),
        ("skill://docs/gone/x/SKILL.md", -32602),
        ("skill://fails/SKILL.md", -32603),
    ],
)
async def test_unreadable_uri_is_a_clean_error(mode: Any, uri: str, code: int, skills: Skills) -> None:
    def fails(_request: object) -> str:
        raise ValueError("secret")

    server = fastmcp_server()
    attach(
        server,
        skills,
        LiveSkill("fails", fails, description="Fails."),
        LiveSkill("docs/gone/{name}", lambda _request: None, description="Gone."),
    )
    async with client_of(server, mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
        assert refused.value.code == code
        assert "secret" not in str(refused.value.error)


HIDDEN = "skill://hidden/SKILL.md"


def with_hidden() -> Skills:
    document = "---\nname: {name}\ndescription: Does {name}.\n---\nThe {name} text.\n"
    hidden = Skill("hidden", document.format(name="hidden")).with_reference("ref.md", "text/plain", "secret")
    shown = Skill("shown", document.format(name="shown")).with_reference("ref.md", "text/plain", "public")
    return Skills().add(hidden, prompt="start_hidden").add(shown, prompt="start_shown")


class Hides(Middleware):
    """A third-party middleware that hides a resource from clients."""

    async def on_list_resources(self, context: Any, call_next: Any) -> Any:
        return [each for each in await call_next(context) if str(each.uri) != HIDDEN]


def switched_off(server: FastMCP[Any]) -> None:
    server.disable(names={HIDDEN})


def the_other_switched_on(server: FastMCP[Any]) -> None:
    server.enable(names={"skill://shown/SKILL.md"}, only=True)
    server.enable(names={"load-skill", "skill-resource", "start_hidden", "start_shown", "skill"})
    server.enable(names={"skill://index.json"})


def hidden_by_middleware(server: FastMCP[Any]) -> None:
    server.add_middleware(Hides())


def said(result: Any) -> str:
    return str(result.model_dump(mode="json"))


@every_era
@pytest.mark.parametrize("hide", [switched_off, the_other_switched_on, hidden_by_middleware])
async def test_skill_hidden_by_fastmcp_appears_nowhere(mode: Any, hide: Any) -> None:
    server = fastmcp_server()
    attach(server, with_hidden(), options=ServeOptions(archives=True))
    hide(server)
    async with client_of(server, mode) as client:
        assert await names_of(client) == ["skill://shown/SKILL.md"]
        for method, uri in [
            ("skills/get", HIDDEN),
            ("resources/read", "skill://hidden/ref.md"),
            ("resources/read", "skill://hidden.zip"),
            ("resources/directory/read", "skill://hidden"),
        ]:
            with pytest.raises(MCPError) as refused:
                await ask(client, method, uri=uri)
            assert refused.value.code == -32602
        with pytest.raises(MCPError):
            await client.get_prompt("start_hidden")
        refusal = await client.call_tool("load-skill", {"name": "hidden"})
        assert refusal.is_error
        assert "there is no skill" in text_of(refusal)
        told = [
            client.instructions or "",
            said(await client.read_resource("skill://index.json")),
            said(await client.list_prompts()),
            said(await client.list_tools()),
            said(await client.complete(types.PromptReference(name="skill"), {"name": "name", "value": ""})),
        ]
        assert [text for text in told if "hidden" in text] == []
        # And the one that is shown is shown with all that it has.
        entry = (await ask(client, "skills/get", uri="skill://shown/SKILL.md"))["skill"]
        for file in entry["resources"]:
            assert (await client.read_resource(file["uri"])).contents
        assert "The shown text." in text_of(await client.call_tool("load-skill", {"name": "shown"}))
        assert "public" in said(await client.get_prompt("start_shown"))


async def test_skills_are_native_components(skills: Skills) -> None:
    server = fastmcp_server()
    attach(server, skills)
    found = await server.get_resource(REFUNDS)
    assert found is not None
    assert (found.name, found.description, found.mime_type) == (
        "refunds",
        "Decides refunds.",
        "text/markdown",
    )
    assert found.meta == {"io.modelcontextprotocol.skills/team": "billing"}
    assert (await server.read_resource(REFUNDS)).contents[0].content == REFUNDS_TEXT  # and without a client


async def test_attaching_beside_another_skills_provider_is_refused(skills: Skills, tmp_path: Path) -> None:
    server = fastmcp_server()
    attach(server, skills)
    with pytest.raises(ConflictError, match="already has skills"):
        attach(server, Skill("more", "x"))
    write_skill(tmp_path, "one")
    other = fastmcp_server()
    provider = SkillsDirectoryProvider(tmp_path, experimental_skills=True)
    other.add_provider(provider)
    other.add_extension(SkillsExtension(providers=[provider]))
    with pytest.raises(ConflictError, match="has another extension"):
        attach(other, skills)


CONTRACTED = """---
name: refunds
description: Decides refunds.
x-skillwire:
  id: refunds
  version: 1.2.0
  tags: [billing, money]
  capabilities:
    - resource://skills/refunds/document
    - resource://skills/refunds/references/policy
  references:
    policy: {path: references/policy.md, title: The policy}
---
# Refunds
"""


@every_era
@pytest.mark.parametrize("namespace", [None, "team"])
async def test_contract_uses_native_fields(mode: Any, namespace: str | None, tmp_path: Path) -> None:
    write(tmp_path, {"refunds/SKILL.md": CONTRACTED, "refunds/references/policy.md": "# Policy\n"})
    child, parent = fastmcp_server("child"), fastmcp_server("parent")
    attach(child, tmp_path, options=ServeOptions(every_client=False, additions=[ContractOptions()]))
    if namespace is not None:
        parent.mount(child, namespace=namespace)
    served = child if namespace is None else parent
    uri = f"resource://{'' if namespace is None else 'team/'}skills/refunds/references/policy"
    async with client_of(served, mode) as client:
        found = await served.get_resource(uri)
        assert found is not None
        assert (found.title, found.version, found.tags) == ("The policy", "1.2.0", {"billing", "money"})
        assert (found.meta or {})["readOnlyHint"] is True
        listed = {resource.uri: resource for resource in await all_resources(client)}
        assert (listed[uri].meta or {})["fastmcp"].items() >= {
            "tags": ["billing", "money"],
            "version": "1.2.0",
        }.items()
        (block,) = (await client.read_resource(uri)).contents
        assert getattr(block, "text", "") == "# Policy\n"
        served.disable(tags={"money"})
        assert uri not in {resource.uri for resource in await all_resources(client)}
