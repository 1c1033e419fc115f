"""Skills attached to a server of the official SDK: all skills are served, and the server loses nothing."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

from skillwire import LiveSkill, Skill, SkillRequest, Skills, SkillServer, attach
from skillwire.errors import ConflictError, InvalidValueError
from skillwire.host.dialects.client import ask
from skillwire.server import ServeOptions
from tests.support.clients import ERAS, text_of
from tests.support.fastmcp_servers import client_of
from tests.support.listening_client import listening_client
from tests.support.skills import skill_md, write_skill
from tests.unit.authoring.conftest import refunds

pytestmark = pytest.mark.anyio

PATTERN = "skill://docs/{product}/guide/SKILL.md"
MARKED = "<available_skills>"


def sdk_server() -> MCPServer[Any]:
    """Return a third-party server with one of each feature."""
    server = MCPServer[Any]("host", instructions="Be kind.", log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @server.resource("host://readme")
    def readme() -> str:
        return "theirs"

    @server.resource("host://{name}/page")
    def a_page(name: str) -> str:
        return name

    @server.prompt()
    def greet(name: str) -> str:
        return f"Hello, {name}"

    assert all(map(callable, (add, readme, a_page, greet)))
    return server


def lowlevel_server() -> Server[Any]:
    """Return the same on the low-level API, with lists in pages of one."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        schema: dict[str, Any] = {"type": "object", "properties": {"a": {}, "b": {}}}
        return types.ListToolsResult(tools=[types.Tool(name="add", input_schema=schema)])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name != "add":
            raise MCPError(-32602, f"no tool {params.name}")
        total = sum((params.arguments or {}).values())
        return types.CallToolResult(content=[types.TextContent(text=str(total))])

    async def list_resources(
        _context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        uris = ["host://readme", "host://licence"]
        at = int((params and params.cursor) or 0)
        more = str(at + 1) if at + 1 < len(uris) else None
        return types.ListResourcesResult(
            resources=[types.Resource(uri=uris[at], name=uris[at])], next_cursor=more
        )

    async def read_resource(
        _context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if not str(params.uri).startswith("host://"):
            raise MCPError(-32602, "theirs does not know")
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="theirs")])

    async def list_prompts(_context: Any, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name="greet")])

    async def get_prompt(_context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        said = types.TextContent(text=f"Hello, {(params.arguments or {})['name']}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])

    return Server(
        "host",
        instructions="Be kind.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


MAKERS: list[Callable[[], Any]] = [sdk_server, lowlevel_server]
every_server = pytest.mark.parametrize("make", MAKERS)
every_era = pytest.mark.parametrize("mode", ERAS)


async def all_resources(client: Client) -> list[str]:
    uris: list[str] = []
    cursor: str | None = None
    while True:
        page = await client.list_resources(cursor=cursor)
        uris += [resource.uri for resource in page.resources]
        if (cursor := page.next_cursor) is None:
            return uris


@every_server
@every_era
async def test_attached_skills_equal_those_of_standalone_server(make: Any, mode: Any, skills: Skills) -> None:
    server = make()
    attach(server, skills)
    async with (
        Client(server, mode=mode) as client,
        Client(SkillServer("x").add(skills).build(), mode=mode) as own,
    ):
        extensions = client.server_capabilities.extensions or {}
        assert extensions["io.modelcontextprotocol/skills"] == {"directoryRead": True}
        for method, params in [
            ("skills/list", {}),
            ("skills/get", {"uri": "skill://acme/billing/refunds/SKILL.md"}),
            ("skills/get", {"uri": "skill://docs/anvil/guide/SKILL.md"}),
            ("resources/directory/read", {"uri": "skill://acme/billing/refunds"}),
            ("resources/read", {"uri": "skill://acme/billing/refunds/data/limits.json"}),
            ("resources/read", {"uri": "skill://reports/daily/SKILL.md"}),
            ("resources/read", {"uri": "skill://index.json"}),
            ("prompts/get", {"name": "start_refund"}),
        ]:
            ours, theirs = await ask(own, method, **params), await ask(client, method, **params)
            ours.pop("cacheScope", None)
            assert theirs.pop("cacheScope", "private") == "private"  # nobody knows who else may see it
            assert theirs == ours, method


@every_server
@every_era
async def test_existing_features_of_server_still_work(make: Any, mode: Any, skills: Skills) -> None:
    server = make()
    attach(server, skills, every_client=False)
    async with Client(server, mode=mode) as client:
        assert client.instructions == "Be kind."
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
        assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
        (block,) = (await client.read_resource("host://readme")).contents
        assert getattr(block, "text", "") == "theirs"
        got = await client.get_prompt("greet", {"name": "Ann"})
        assert getattr(got.messages[0].content, "text", "") == "Hello, Ann"
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["greet", "start_refund"]
        with pytest.raises(MCPError):
            await client.read_resource("host2://nobody")


@every_server
@every_era
async def test_lists_are_merged_across_all_pages(make: Any, mode: Any) -> None:
    server = make()
    many = (Skill(f"s{number}", f"---\nname: s{number}\ndescription: x\n---\n") for number in range(150))
    attach(server, Skills().add(*many))
    async with Client(server, mode=mode) as client:
        uris = await all_resources(client)
    own = [f"skill://s{number}/SKILL.md" for number in range(150)]
    theirs = [uri for uri in uris if uri.startswith("host://")]
    assert uris == [*theirs, *own, "skill://index.json"]
    assert theirs
    if make is sdk_server:
        async with Client(server, mode=mode) as client:
            templates = (await client.list_resource_templates()).resource_templates
            assert [each.uri_template for each in templates] == [
                "host://{name}/page",
                "skill://{+skill}/{+file}",
            ]


@every_server
@every_era
async def test_every_client_option_serves_clients_without_extension(
    make: Any, mode: Any, skills: Skills
) -> None:
    server = make()
    attach(server, skills, options=ServeOptions())
    async with Client(server, mode=mode) as client:
        assert (client.instructions or "").startswith("Be kind.\n\n")
        assert MARKED in (client.instructions or "")
        assert "for-people" not in (client.instructions or "")
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["add", "load-skill", "skill-resource", "search-skills"]
        assert "# Today" in text_of(await client.call_tool("load-skill", {"name": "daily"}))
        refused = await client.call_tool("load-skill", {"name": "for-people"})
        assert refused.is_error
        assert text_of(await client.call_tool("add", {"a": 2, "b": 2})) == "4"
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == [
            "greet",
            "skill",
            "start_refund",
            "refunds",
            "for-people",
            "daily",
            "docs/{product}/guide",
        ]
        done = await client.complete(types.PromptReference(name="skill"), {"name": "name", "value": "ref"})
        assert done.completion.values == ["refunds"]
        done = await client.complete(
            types.ResourceTemplateReference(uri=PATTERN), {"name": "product", "value": "r"}
        )
        assert done.completion.values == ["rocket"]


@every_era
async def test_names_of_server_take_precedence(mode: Any, skills: Skills) -> None:
    server = sdk_server()

    @server.prompt()
    def start_refund() -> str:
        return "theirs"

    @server.tool(name="load-skill")
    def load_skill(name: str) -> str:
        return f"their {name}"

    assert callable(start_refund)
    assert callable(load_skill)
    attach(server, skills, options=ServeOptions())
    async with Client(server, mode=mode) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names.count("start_refund") == 1
        got = await client.get_prompt("start_refund")
        assert getattr(got.messages[0].content, "text", "") == "theirs"
        assert [tool.name for tool in (await client.list_tools()).tools].count("load-skill") == 1
        assert text_of(await client.call_tool("load-skill", {"name": "x"})) == "their x"


@every_era
async def test_tool_called_skill_belongs_to_the_server(mode: Any, skills: Skills) -> None:
    server = sdk_server()

    @server.tool(name="skill")
    def rate(name: str) -> str:
        return f"{name}: 5 of 5"

    assert callable(rate)
    attach(server, skills)
    async with Client(server, mode=mode) as client:
        assert text_of(await client.call_tool("skill", {"name": "refunds"})) == "refunds: 5 of 5"
        loaded = text_of(await client.call_tool("load-skill", {"skill": "acme/billing/refunds"}))
        assert loaded.startswith("---\nname: refunds\n")


@every_era
async def test_features_registered_after_attach_work(mode: Any, skills: Skills) -> None:
    server = sdk_server()
    attach(server, skills, every_client=False)

    @server.completion()
    async def complete(_ref: Any, _argument: Any, _context: Any) -> types.Completion:
        return types.Completion(values=["theirs"])

    @server.tool()
    def late() -> str:
        return "late"

    assert callable(complete)
    assert callable(late)
    async with Client(server, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "late"]
        done = await client.complete(types.PromptReference(name="greet"), {"name": "name", "value": ""})
        assert done.completion.values == ["theirs"]
        template = types.ResourceTemplateReference(uri=PATTERN)
        done = await client.complete(template, {"name": "product", "value": "a"})
        assert done.completion.values == ["anvil"]


async def test_empty_server_declares_capabilities_of_skills(skills: Skills) -> None:
    server: Server[Any] = Server("bare")
    options = server.create_initialization_options()  # made too early, as people do
    attach(server, skills, every_client=False)
    async with Client(server, mode="legacy") as client:
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.prompts is not None
        assert client.server_capabilities.tools is None
    assert options.capabilities.resources is None


@every_server
@every_era
async def test_folder_changes_notify_clients(make: Any, mode: Any, tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    server = make()
    attach(server, tmp_path)
    async with listening_client(partial(Client, server), mode) as hears:
        (entry,) = (await ask(hears.client, "skills/list"))["skills"]
        assert entry["uri"] == "skill://one/SKILL.md"
        write_skill(tmp_path, "two")
        await hears.wait_for_list_change()
        names = [each["frontmatter"]["name"] for each in (await ask(hears.client, "skills/list"))["skills"]]
        assert names == ["one", "two"]


async def test_subscriptions_go_to_skills_or_to_the_server(skills: Skills) -> None:
    asked: list[str] = []

    async def subscribe(_context: Any, params: Any) -> types.EmptyResult:
        asked.append(str(params.uri))
        return types.EmptyResult()

    server: Server[Any] = Server("x", on_subscribe_resource=subscribe, on_unsubscribe_resource=subscribe)
    attach(server, skills)
    async with Client(server, mode="legacy") as client:
        await ask(client, "resources/subscribe", uri="skill://acme/billing/refunds/SKILL.md")
        await ask(client, "resources/subscribe", uri="host://readme")
        await ask(client, "resources/unsubscribe", uri="skill://acme/billing/refunds/SKILL.md")
        await ask(client, "resources/unsubscribe", uri="host://readme")
    assert asked == ["host://readme", "host://readme"]


async def test_listening_client_gets_changes_of_both() -> None:
    bus = InMemorySubscriptionBus()
    server: Server[Any] = Server("x", on_subscriptions_listen=ListenHandler(bus))
    attach(server, refunds())
    async with Client(server) as client, client.listen(resource_subscriptions=["host://x"]) as events:
        await bus.publish(ResourceUpdated("host://x"))
        with anyio.fail_after(20):
            async for event in events:
                assert getattr(event, "uri", None) == "host://x"
                break


@every_server
async def test_attach_can_register_skill_as_prompt(make: Any) -> None:
    server = make()
    attach(server, refunds(), prompt="start_refund")
    async with Client(server) as client:
        got = await client.get_prompt("start_refund")
        assert getattr(got.messages[0].content, "text", "") == refunds().prompt_text()
    with pytest.raises(InvalidValueError, match="is for one skill"):
        attach(make(), refunds(), "skills", prompt="start_refund")


async def test_attaching_twice_is_refused(skills: Skills) -> None:
    server = sdk_server()
    attach(server, skills)
    with pytest.raises(ConflictError, match=r"attach\(server, these, those\)"):
        attach(server, Skill("more", "x"))


async def test_invalid_attach_arguments_are_refused_with_hint(skills: Skills) -> None:
    with pytest.raises(InvalidValueError, match="is not a server that skills can be attached to"):
        attach("server", skills)  # pyright: ignore[reportArgumentType] - that is the point
    with pytest.raises(InvalidValueError, match="cannot be served"):
        attach(sdk_server(), 7)  # pyright: ignore[reportArgumentType] - that is the point

    async def listen(_context: Any, _params: Any) -> types.SubscriptionsListenResult:
        raise AssertionError("nobody listens here")

    own_way: Server[Any] = Server("x", on_subscriptions_listen=listen)
    with pytest.raises(InvalidValueError, match="in its own way"):
        attach(own_way, skills)
    attach(own_way, skills, bus=InMemorySubscriptionBus())
    taken: Server[Any] = Server("x")
    taken.add_request_handler("skills/list", types.RequestParams, listen)
    with pytest.raises(ConflictError, match="already answers `skills/list`"):
        attach(taken, skills)


async def test_skill_server_can_be_attached(tmp_path: Path) -> None:
    collected = SkillServer("collected").add(refunds(), prompt="start_refund")

    @collected.skill("live")
    def live(_request: SkillRequest) -> str:
        """Live."""
        return "x"

    assert callable(live)
    server = sdk_server()
    attach(server, collected, write_skill(tmp_path, "folder"), Skill("one", skill_md("one")))
    async with Client(server) as client:
        names = [each["frontmatter"]["name"] for each in (await ask(client, "skills/list"))["skills"]]
        assert names == ["refunds", "live", "one", "folder"]
        assert "start_refund" in [prompt.name for prompt in (await client.list_prompts()).prompts]


@every_server
def test_server_can_run_in_successive_event_loops(make: Any, skills: Skills) -> None:
    server = make()
    attach(server, skills)

    async def use() -> int:
        async with Client(server) as client:
            return len((await ask(client, "skills/list"))["skills"])

    assert anyio.run(use) == anyio.run(use) == 4


@every_era
async def test_pattern_does_not_shadow_resources_of_server(mode: Any) -> None:
    server = sdk_server()

    @server.resource("skill://mine/x/SKILL.md")
    def mine() -> str:
        return "theirs"

    assert callable(mine)
    pattern = LiveSkill("{a}/{b}", lambda _request: "ours", description="Everything.")
    attach(server, Skills().add(pattern))
    async with Client(server, mode=mode) as client:
        assert "skill://mine/x/SKILL.md" in await all_resources(client)
        (block,) = (await client.read_resource("skill://mine/x/SKILL.md")).contents
        assert getattr(block, "text", "") == "theirs"
        (block,) = (await client.read_resource("skill://mine/y/SKILL.md")).contents
        assert getattr(block, "text", "").endswith("ours")


def problems_of(contents: Any) -> list[dict[str, Any]]:
    return json.loads(contents.contents[0].text)["problems"]


def with_taken_names(server: Any) -> Any:
    """Give a server a tool and a prompt that the skills would bring, too."""

    @server.tool(name="load-skill")
    def load_skill(name: str) -> str:
        return f"their {name}"

    @server.prompt(name="skill")
    def skill(name: str) -> str:
        return f"their prompt {name}"

    assert callable(load_skill)
    assert callable(skill)
    return server


def connected(server: Any, mode: Any = "auto") -> AbstractAsyncContextManager[Client]:
    return client_of(server, mode) if hasattr(server, "add_provider") else Client(server, mode=mode)


FURNISHED: list[Callable[[], Any]] = [sdk_server, lambda: FastMCP("host", instructions="Be kind.")]


@pytest.mark.parametrize("make", FURNISHED, ids=["sdk", "fastmcp"])
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@every_era
async def test_taken_name_stays_with_server_and_is_reported(
    mode: Any, make: Callable[[], Any], *, late: bool, skills: Skills
) -> None:
    server = make()
    if not late:
        with_taken_names(server)
    attach(server, skills)
    if late:
        with_taken_names(server)
    async with connected(server, mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools.count("load-skill") == 1
        assert "skill-resource" not in tools  # it refers to the one that is not offered
        assert text_of(await client.call_tool("load-skill", {"name": "x"})) == "their x"
        assert [prompt.name for prompt in (await client.list_prompts()).prompts].count("skill") == 1
        got = await client.get_prompt("skill", {"name": "x"})
        assert getattr(got.messages[0].content, "text", "") == "their prompt x"
        assert client.instructions is not None
        assert MARKED in client.instructions
        assert "load-skill" not in client.instructions  # their tool loads no skills
        told = problems_of(await client.read_resource("skillwire://problems"))
        taken = [problem["message"] for problem in told if problem["rule"] == "name-taken"]
        assert len(taken) == 2
        assert "its own tool `load-skill`" in taken[0]
        assert "its own prompt `skill`" in taken[1]
        assert "skillwire://problems" in await all_resources(client)


@pytest.mark.parametrize("make", FURNISHED, ids=["sdk", "fastmcp"])
async def test_host_only_skills_take_no_names(make: Callable[[], Any], skills: Skills) -> None:
    server = with_taken_names(make())
    attach(server, skills, every_client=False)
    async with connected(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools].count("load-skill") == 1
        told = problems_of(await client.read_resource("skillwire://problems"))
        assert [problem for problem in told if problem["rule"] == "name-taken"] == []


@pytest.mark.parametrize("make", [*MAKERS, FURNISHED[1]], ids=["sdk", "lowlevel", "fastmcp"])
@every_era
async def test_clients_without_extension_get_tools_prompts_and_instructions(
    make: Callable[[], Any], mode: Any, skills: Skills
) -> None:
    server, for_hosts = make(), make()
    attach(server, skills)
    attach(for_hosts, skills, every_client=False)
    async with connected(server, mode) as client, connected(for_hosts, mode) as without:
        ours = {"load-skill", "skill-resource", "search-skills"}
        assert ours <= {tool.name for tool in (await client.list_tools()).tools}
        assert "skill" in {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert client.instructions is not None
        assert "load-skill" in client.instructions
        assert "name: refunds" in text_of(await client.call_tool("load-skill", {"name": "refunds"}))
        assert without.instructions == "Be kind."
        with suppress(MCPError):  # a server without tools need not list any
            assert ours.isdisjoint(tool.name for tool in (await without.list_tools()).tools)


@every_era
async def test_taken_name_notifies_subscribers_of_problems(mode: Any, skills: Skills) -> None:
    server = sdk_server()
    attach(server, skills)
    async with listening_client(partial(Client, server), mode) as heard:
        with_taken_names(server)
        await heard.client.list_tools()
        await heard.wait_for_list_change()
