"""What a client may send is bounded, on every way in. Errors name the limit and do not echo the value."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from skillwire import Library, LiveSkill, MemorySource, ServeOptions, Skill, SkillRecord, SkillServer, attach
from skillwire.core.names import find_close_matches
from skillwire.core.template import SkillTemplate, TemplateIndex
from skillwire.errors import BadParamsError
from skillwire.features.base import Call
from skillwire.library.catalog import affected_skills
from skillwire.library.names import AmbiguousNameError
from skillwire.protocol.bounds import (
    MAX_MESSAGE_VALUES,
    MAX_NESTING,
    MAX_SUBSCRIPTION_BYTES,
    MAX_SUBSCRIPTIONS,
)
from skillwire.server import skills_server
from skillwire.server.jsonrpc import read_message
from skillwire.sources import Locations, MemorySkill, WatchFilter
from tests.support.clients import library_of, skill
from tests.support.listening import listening
from tests.support.peers import MODERN, HttpPeer, HttpServer, Peer, StdioPeer
from tests.support.peers import skillwire as command

INVALID_REQUEST, INVALID_PARAMS = -32600, -32602
FOUR, EIGHT = "4,096 bytes", "8,192 bytes"
LONG = "x" * 5000
"""Longer than a name may be."""
LONGER = "x" * 9000
"""Longer than a search may be."""
COMPLETION = {"type": "ref/prompt", "name": "skill"}


@pytest.fixture(scope="module", params=["stdio", "stdio 2025-11-25", "http"])
def wire(request: pytest.FixtureRequest, served_tree: Path) -> Iterator[Peer]:
    transport, _, version = request.param.partition(" ")
    if transport == "stdio":
        with StdioPeer(version or MODERN, command("serve", served_tree)) as peer:
            _ = peer.handshake
            yield peer
        return
    with HttpServer(served_tree, "--http", "0") as server, closing(HttpPeer(MODERN, server.url)) as peer:
        yield peer


@pytest.mark.parametrize(
    ("method", "params", "name", "limit"),
    [
        ("skills/get", {"uri": f"skill://{LONG}"}, "uri", FOUR),
        ("skills/get", {"uri": "skill://" + "ä" * 2100}, "uri", FOUR),
        ("skills/get", {"uri": "skill://" + "a/" * 1_900_000 + "SKILL.md"}, "uri", FOUR),
        ("resources/read", {"uri": f"skill://{LONG}"}, "uri", FOUR),
        ("resources/directory/read", {"uri": f"skill://{LONG}"}, "uri", FOUR),
        ("skills/list", {"cursor": LONG}, "cursor", FOUR),
        ("resources/list", {"cursor": LONG}, "cursor", FOUR),
        ("prompts/list", {"cursor": LONG}, "cursor", FOUR),
        ("prompts/get", {"name": LONG}, "name", FOUR),
        ("prompts/get", {"name": "skill", "arguments": {"name": LONG}}, "name", FOUR),
        ("tools/call", {"name": LONG, "arguments": {}}, "name", FOUR),
        ("tools/call", {"name": "load-skill", "arguments": {"name": LONG}}, "name", FOUR),
        ("tools/call", {"name": "load-skill", "arguments": {"skill": LONG}}, "skill", FOUR),
        ("tools/call", {"name": "skill-resource", "arguments": {"skill": "x", "path": LONG}}, "path", FOUR),
        ("tools/call", {"name": "skill-display", "arguments": {"query": LONGER}}, "query", EIGHT),
        (
            "completion/complete",
            {"ref": COMPLETION, "argument": {"name": "name", "value": LONGER}},
            "value",
            EIGHT,
        ),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": LONG}}, "uri", FOUR),
        ("tools/list", {"_meta": {"progressToken": LONG}}, "progressToken", "1,024 bytes"),
        ("tools/list", {"_meta": {"note": ["x" * 1000] * 70}}, "_meta", "65,536 bytes"),
        ("no/such/method", {"anything": {"deep": [LONG]}}, "deep", FOUR),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_parameter_that_is_too_long_is_refused(
    wire: Peer, method: str, params: dict[str, Any], name: str, limit: str
) -> None:
    error = wire.error(method, params)
    assert error["code"] == INVALID_PARAMS
    assert f"`{name}`" in error["message"]
    assert limit in error["message"]
    assert len(json.dumps(error)) < 300
    assert wire.result("skills/get", {"uri": "skill://outer/SKILL.md"})["skill"]


def test_parameters_up_to_the_limit_are_accepted(wire: Peer) -> None:
    uri = f"skill://{'x' * 4088}"
    assert "no skill is served at" in wire.error("skills/get", {"uri": uri})["message"]
    value = {"ref": COMPLETION, "argument": {"name": "name", "value": "x" * 8192}}
    assert wire.result("completion/complete", value)["completion"]["values"] == []


def test_data_for_a_tool_is_bounded_by_the_message_alone(wire: Peer) -> None:
    arguments = {"name": "outer", "body": "," * 2_000_000, "headers": {"x": LONG}}
    assert wire.result("tools/call", {"name": "load-skill", "arguments": arguments})["isError"] is False


@pytest.mark.parametrize(
    ("message", "code", "told"),
    [
        ({"id": LONG, "method": "ping"}, INVALID_REQUEST, "the id of a request may have at most 1,024 bytes"),
        ({"id": 1, "method": LONG}, INVALID_PARAMS, "the name of a method may have at most 1,024 bytes"),
        (
            {"id": 1, "method": "tools/call", "params": {"arguments": {"x": [0] * (MAX_MESSAGE_VALUES + 1)}}},
            INVALID_REQUEST,
            f"a message may have at most {MAX_MESSAGE_VALUES:,} JSON values",
        ),
        (
            {
                "id": 1,
                "method": "tools/call",
                "params": {"arguments": {'"\\': ['\\"'] * (MAX_MESSAGE_VALUES + 1)}},
            },
            INVALID_REQUEST,
            f"a message may have at most {MAX_MESSAGE_VALUES:,} JSON values",
        ),
        (
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "x" * 70_000}}},
            INVALID_PARAMS,
            "`clientInfo`",
        ),
    ],
    ids=["id", "method", "values", "strings", "client"],
)
def test_too_large_message_is_refused_without_an_echo(message: dict[str, Any], code: int, told: str) -> None:
    found: Any = read_message(json.dumps({"jsonrpc": "2.0", **message}).encode())
    assert found.answer.error.code == code
    assert told in found.answer.error.message
    assert len(found.answer.model_dump_json()) < 300


def test_many_commas_inside_a_text_are_not_many_values() -> None:
    text = ',[{"\\' * MAX_MESSAGE_VALUES
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": {"body": text}}}
    found = read_message(json.dumps(message).encode())
    assert isinstance(found, types.JSONRPCRequest)


def test_nesting_is_bounded() -> None:
    def nested(levels: int) -> bytes:
        inner = "[" * levels + "]" * levels
        return f'{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{inner}}}}}'.encode()

    assert isinstance(read_message(nested(MAX_NESTING - 3)), types.JSONRPCRequest)
    refused: Any = read_message(nested(MAX_NESTING))
    assert (
        refused.answer.error.message
        == f"a message may have at most {MAX_NESTING} levels of objects and lists"
    )


def test_parameter_length_is_checked_without_our_transport() -> None:
    with pytest.raises(BadParamsError, match=r"`uri` is too long: the limit is 4,096 bytes"):
        Call({"uri": LONG}).text("uri")


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_attached_server_limits_only_skill_requests(mode: Any) -> None:
    server = MCPServer("theirs")

    @server.tool()
    def echo(name: str) -> str:  # pyright: ignore[reportUnusedFunction] - called by its name
        return str(len(name))

    one = Skill("one", "---\nname: one\ndescription: One.\n---\n# Steps\n")
    attach(server, one, options=ServeOptions())
    async with Client(server, mode=mode) as client:
        assert (await client.call_tool("echo", {"name": LONG})).content == [types.TextContent(text="5000")]
        refused = await client.call_tool("load-skill", {"name": LONG})
        assert refused.is_error
        assert "4,096 bytes" in str(refused.content)
        with pytest.raises(MCPError, match="4,096 bytes"):
            await client.session.send_request(
                types.GetPromptRequest(
                    params=types.GetPromptRequestParams(name="skill", arguments={"name": LONG})
                ),
                types.GetPromptResult,
            )


def test_one_listen_is_bounded_in_number_and_in_bytes(wire: Peer) -> None:
    def refused(uris: list[str]) -> Any:
        params = {"notifications": {"resourceSubscriptions": uris}}
        return wire.error("subscriptions/listen", params)

    many = refused([f"skill://{number}" for number in range(MAX_SUBSCRIPTIONS + 1)])
    assert (many["code"], many["message"]) == (
        INVALID_PARAMS,
        f"a client may subscribe to at most {MAX_SUBSCRIPTIONS:,} resources",
    )
    long = refused([f"skill://{number:03d}/{'x' * 4000}" for number in range(300)])
    assert (long["code"], f"{MAX_SUBSCRIPTION_BYTES:,} bytes" in long["message"]) == (INVALID_PARAMS, True)
    assert "`resourceSubscriptions` is too long" in refused([f"skill://{LONG}"])["message"]


@pytest.mark.anyio
async def test_a_uri_that_is_never_served_is_not_acknowledged() -> None:
    library = await library_of(skill("one"))
    served = ["skill://one/SKILL.md", "skill://later/SKILL.md", "skillwire://problems"]
    asked = [*served, "http://example.com/x", "x"]
    async with (
        Client(skills_server(library), mode="auto") as client,
        client.listen(resource_subscriptions=[*asked, *asked]) as events,
    ):
        assert events.honored.resource_subscriptions == served
        assert set(library.subscribed_uris) == set(served)
    assert not library.subscribed_uris


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_all_clients_together_have_a_limit(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.server.notifications.MAX_ALL_SUBSCRIPTION_BYTES", 1000)
    skills = [skill(f"skill-{number}") for number in range(4)]
    library = await library_of(*skills)
    uris = list(library.catalog.entries)
    server = skills_server(library)
    async with listening(server, mode, uris[:2]) as (client, _):
        with pytest.raises(MCPError, match="clients of this server have reached the limit of 1,000 bytes"):
            await subscribe(client, mode, uris[2:])
        assert set(library.subscribed_uris) >= set(uris[:2])
    assert not library.subscribed_uris
    async with listening(server, mode, uris[2:]):  # what went away made room
        assert set(library.subscribed_uris) == set(uris[2:])


async def subscribe(client: Client, mode: str, uris: list[str]) -> None:
    """Subscribe to further resources, and end that at once where it is a stream."""
    if mode == "legacy":
        for uri in uris:
            request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
            await client.session.send_request(request, types.EmptyResult)
        return
    async with client.listen(resource_subscriptions=uris):
        pass


class Watched(MemorySource):
    """A source that shows what is followed of it."""

    def __init__(self, skills: list[MemorySkill]) -> None:
        super().__init__(skills)
        self.begun = anyio.Event()
        self.watch_filter = WatchFilter()

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        assert watch_filter is not None
        self.watch_filter = watch_filter
        self.begun.set()
        async for where in super().changes(watch_filter):
            yield where

    @property
    def followed(self) -> set[str]:
        return {location.rpartition("/")[2] for location in self.watch_filter.locations}


@pytest.mark.anyio
async def test_skill_is_followed_while_it_has_a_subscription() -> None:
    source = Watched([skill("a/one"), skill("a/two"), skill("b/three")])
    library = Library([source], frozen=True)
    await library.load()
    one, group = "skill://a/one/SKILL.md", "skill://a"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        await source.begun.wait()
        library.subscribe([one])
        library.subscribe([one, group, "skill://nothing/here"])
        assert source.followed == {"one", "two"}
        library.unsubscribe([one])
        assert source.followed == {"one", "two"}
        library.unsubscribe([group])
        assert source.followed == {"one"}
        library.unsubscribe([one, "skill://nothing/here"])
        assert (source.followed, list(library.subscribed_uris)) == (set(), [])
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_subscription_covers_enclosing_and_nested_skills() -> None:
    library = await library_of(*(skill(path) for path in ("a", "b/c", "b/cc/d", "b/cc/e/f", "g/h")))
    catalog = library.catalog

    def naive(uri: str, entry: SkillRecord) -> bool:
        inside = f"{entry.root}/"
        return uri.startswith(inside) or inside.startswith(f"{uri}/")

    uris = {uri for entry in catalog.entries.values() for uri in (entry.root, entry.uri, f"{entry.root}/x/y")}
    for uri in uris | {"skill://b", "skill://b/cc", "skill://", "skill://b/", "x", "", "skill://b/ccc"}:
        found = [entry.uri for entry in affected_skills(catalog.entries, catalog.above, uri)]
        expected = {entry.uri for entry in catalog.entries.values() if naive(uri, entry)}
        if uri not in {"skill:/", "skill://", ""}:
            assert (set(found), len(found)) == (expected, len(expected)), uri


def test_template_lookup_equals_matching_each_template() -> None:
    paths = ["docs/{a}/guide", "docs/{a}/{b}", "{x}/docs/guide", "{x}/{y}/{z}", "d%20/{a}", "{x}"]
    templates = [SkillTemplate(path, path, "code", path) for path in paths]
    index = TemplateIndex(templates)
    uris = [
        "skill://docs/a/guide/SKILL.md",
        "skill://docs/a/b/SKILL.md",
        "skill://docs/docs/guide/SKILL.md",
        "skill://one/SKILL.md",
        "skill://d%2520/a/SKILL.md",
        "skill://%64ocs/a/guide/SKILL.md",
        "skill://a/b/c/SKILL.md",
        "skill://a/b/c/d/SKILL.md",
        "skill://SKILL.md",
        "skill:///SKILL.md",
        "docs/a/guide/SKILL.md",
        "skill://docs/a/guide",
        "skill://" + "a/" * 2000 + "SKILL.md",
    ]
    for uri in uris:
        expected = next((entry for each in templates if (entry := each.entry(uri)) is not None), None)
        found = index.find(uri)
        assert (None if found is None else found[1]) == expected, uri
    found = index.find("skill://docs/a/guide/SKILL.md")
    assert found is not None
    assert found[0].path == "docs/{a}/guide"
    assert found[1].description == "docs/a/guide"


@pytest.mark.anyio
async def test_long_uri_is_fast_to_match_against_many_templates() -> None:
    server = SkillServer("many")
    for number in range(100):
        server.add(LiveSkill(f"docs{number}/{{a}}/guide", lambda: "# Hi", description="Guide."))
    async with Client(server.build(), mode="auto") as client:
        found = await client.read_resource("skill://docs99/anvil/guide/SKILL.md")
        assert "# Hi" in str(found.contents)
        with pytest.raises(MCPError, match="4,096 bytes"):
            await client.read_resource("skill://" + "a/" * 1_000_000 + "SKILL.md")


def test_the_closest_names_are_found_among_very_many() -> None:
    names = [f"skill-number-{number:05d}" for number in range(10_000)]
    assert find_close_matches("skill-numbre-04711", names, 1) == ["skill-number-04711"]
    assert find_close_matches("pfd", ["pdf", "xyz"], 3) == ["pdf"]
    assert find_close_matches("refnd", ["refund", "report"], 3) == ["refund"]
    assert find_close_matches("x" * 65, names, 3) == []


def test_an_error_lists_some_of_very_many_handles() -> None:
    error = AmbiguousNameError("one", [f"group-{number}/one" for number in range(5000)])
    assert "is the name of 5000 skills" in str(error)
    assert "or one of 4,980 more" in str(error)
    assert len(str(error)) < 1000


def test_a_search_may_have_many_words(wire: Peer) -> None:
    def search(query: str) -> Any:
        return wire.result("tools/call", {"name": "skill-display", "arguments": {"query": query}})

    if "skill-display" not in {tool["name"] for tool in wire.result("tools/list")["tools"]}:
        pytest.skip("the pages are served over HTTP only")
    assert search("outer " * 1000)["structuredContent"]["total"] >= 1
    many = search(" ".join(f"w{number}" for number in range(1000)))
    assert (many["isError"], many["structuredContent"]["total"]) == (False, 0)
