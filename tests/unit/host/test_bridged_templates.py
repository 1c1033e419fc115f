"""Templates of servers through a bridge: what passes, what is held back, and what servers never learn."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import State
from skillwire.host import SkillsClient
from skillwire.host.dialects.client import ask
from skillwire.protocol.claims import SkillClaim
from skillwire.sources import Rule
from tests.support.bridges import Bridge, open_bridge
from tests.support.clients import ERAS, text_of
from tests.support.links import Wire
from tests.support.scripted import ScriptedServer

pytestmark = pytest.mark.anyio

DOCS = {"uriTemplate": "skill://docs/{productName}/guide/SKILL.md", "name": "d", "description": "Guide."}
THEIRS, OURS = "skill://docs/acme/guide/SKILL.md", "skill://up/docs/acme/guide/SKILL.md"
TEMPLATE = "skill://up/docs/{productName}/guide/SKILL.md"


@pytest.fixture(params=ERAS)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again soon: how long a pause is proves nothing."""
    monkeypatch.setattr("skillwire.host.bridge._LOOK_SECONDS", 0.05)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State.open(tmp_path / "state") as state:
        yield state


def upstream(**more: Any) -> ScriptedServer:
    """Return a server of one listed skill, and of one that only a template describes."""
    script = ScriptedServer(templates=[DOCS], **more)
    script.publish("docs/acme/guide", {"refs/a.md": b"alpha"}, fields={"license": "MIT"})
    (entry,) = script.entries
    script.publish("one")
    script.entries, script.got = script.entries[1:], {THEIRS: entry}
    return script


def wires(script: ScriptedServer) -> dict[str, Wire]:
    return {"up": Wire(script.server())}


async def claim(script: ScriptedServer) -> SkillClaim:
    async with Wire(script.server()).link() as link:
        return await link.get(THEIRS)


async def load(client: Client, name: str) -> tuple[str, bool]:
    result: Any = await client.call_tool("load-skill", {"name": name})
    return text_of(result), bool(result.is_error)


async def test_host_gets_template_and_skill_below_the_label(mode: str, state: State) -> None:
    script = upstream()
    async with open_bridge(wires(script), state) as bridge, Client(bridge.server, mode=mode) as client:
        host = SkillsClient(client)
        listing = await host.list()
        assert [each.uri for each in listing.skills] == ["skill://up/one/SKILL.md"]
        assert list(listing.templates.claims) == [TEMPLATE]
        theirs, ours = await claim(script), await host.get(OURS)
        assert ours.frontmatter == theirs.frontmatter == {**ours.frontmatter, "license": "MIT"}
        assert [each.digest for each in ours.files or ()] == [each.digest for each in theirs.files or ()]
        assert await host.read("skill://up/docs/acme/guide/refs/a.md") == b"alpha"
        assert await host.read(OURS) == script.files[THEIRS]
        for missing in ("skill://up/docs/acme/guide/refs/b.md", "skill://up/docs/other/guide/SKILL.md"):
            with pytest.raises(MCPError):
                await host.read(missing)
        with pytest.raises(MCPError, match="unknown skill"):
            await host.get("skill://up/docs/other/guide/SKILL.md")


@pytest.mark.rule("H15")
async def test_bytes_that_were_not_listed_are_not_passed_on(mode: str, state: State) -> None:
    script = upstream()
    lie = {"contents": [{"uri": "skill://docs/acme/guide/refs/a.md", "text": "evil"}]}
    script.read = {"skill://docs/acme/guide/refs/a.md": lie}
    async with (
        open_bridge(wires(script), state, {"up"}) as bridge,
        Client(bridge.server, mode=mode) as client,
    ):
        with pytest.raises(MCPError, match="something other than what it listed"):
            await SkillsClient(client).read("skill://up/docs/acme/guide/refs/a.md")


async def test_trusted_server_offers_its_template_to_models_and_people(mode: str, state: State) -> None:
    script = upstream(completions={"productName": ["acme", "a\u202eb"]})
    async with (
        open_bridge(wires(script), state, {"up"}) as bridge,
        Client(bridge.server, mode=mode) as client,
    ):
        for name in ("up/docs/acme/guide", "up:up/docs/acme/guide", OURS):
            text, failed = await load(client, name)
            assert not failed, text
            assert "from the server `up`" in text
            assert "# Steps" in text
        result: Any = await client.call_tool(
            "skill-resource", {"skill": "up/docs/acme/guide", "path": "refs/a.md"}
        )
        assert "alpha" in text_of(result)
        prompt = await client.get_prompt("skill", {"name": "up/docs/acme/guide"})
        assert "# Steps" in str(prompt.messages[0].content)
        text, failed = await load(client, "up/docs/{productName}/guide")
        assert failed
        assert "in place of `{productName}`" in text
        text, failed = await load(client, "up/docs/other/guide")
        assert failed
        assert "unknown skill" in text
        reference = {"type": "ref/resource", "uri": TEMPLATE}
        argument = {"name": "productName", "value": "a"}
        found = await ask(client, "completion/complete", ref=reference, argument=argument)
        assert found["completion"]["values"] == ["acme"]


@pytest.mark.rule("H22")
async def test_server_that_is_not_trusted_learns_no_values(mode: str, state: State) -> None:
    script = upstream(completions={"productName": ["acme"]})
    async with open_bridge(wires(script), state) as bridge, Client(bridge.server, mode=mode) as client:
        for name in ("up/docs/secret/guide", "docs/secret/guide", "skill://up/docs/secret/guide/SKILL.md"):
            _, failed = await load(client, name)
            assert failed
            result: Any = await client.call_tool("skill-resource", {"skill": name, "path": "SKILL.md"})
            assert result.is_error
            with pytest.raises(MCPError):
                await client.get_prompt("skill", {"name": name})
        reference = {"type": "ref/resource", "uri": TEMPLATE}
        argument = {"name": "productName", "value": "secret"}
        found = await ask(client, "completion/complete", ref=reference, argument=argument)
        assert found["completion"]["values"] == []
        assert "docs" not in (client.instructions or "")
    assert "secret" not in str(script.asked)


@pytest.mark.rule("H17")
async def test_approved_skill_of_a_template_is_offered_until_it_changes(mode: str, state: State) -> None:
    script = upstream()
    state.bind("up", "http://127.0.0.1:1/mcp")
    state.approvals.approve("up", await claim(script))
    async with open_bridge(wires(script), state) as bridge, Client(bridge.server, mode=mode) as client:
        assert bridge.offered == {OURS}
        text, failed = await load(client, "up/docs/acme/guide")
        assert not failed, text
        assert "up/docs/acme/guide" in await _instructions(bridge, mode)
        result: Any = await client.call_tool("skill-resource", {"skill": "guide", "path": "refs/a.md"})
        assert "alpha" in text_of(result)
        before = script.entries
        script.publish("docs/acme/guide", {"refs/a.md": b"beta"})
        script.got, script.entries = {THEIRS: script.entries[-1]}, before
        await bridge.library.rescan_source(bridge.library.sources[0])
        assert bridge.offered == set()
        assert [each["message"] for each in bridge.withheld if "guide" in str(each["path"])] == [
            "hidden from models and people: it has changed since it was approved"
        ]
        _, failed = await load(client, "up/docs/acme/guide")
        assert failed


async def _instructions(bridge: Bridge, mode: Any) -> str:
    async with Client(bridge.another_server(), mode=mode) as client:
        return client.instructions or ""


async def test_approval_while_the_bridge_runs_is_noticed(state: State) -> None:
    script = upstream()
    async with open_bridge(wires(script), state) as bridge:
        source = bridge.library.sources[0]
        assert bridge.offered == set()
        bridge.approve("up", await claim(script))
        await bridge.library.rescan_source(source)
        assert bridge.offered == {OURS}
        bridge.revoke("up", THEIRS)
        await bridge.library.rescan_source(source)
        assert bridge.offered == set()


async def test_changed_skill_of_a_template_is_asked_for_again(state: State) -> None:
    script = upstream()
    async with open_bridge(wires(script), state, {"up"}) as bridge:
        assert (await bridge.library.read(OURS)).content == script.files[THEIRS]
        for _ in range(3):
            await bridge.library.read(OURS)
        assert script.count("skills/get") == 1
        before = script.entries
        script.publish("docs/acme/guide", {"refs/a.md": b"beta"})
        script.got, script.entries = {THEIRS: script.entries[-1]}, before
        assert (await bridge.library.read("skill://up/docs/acme/guide/refs/a.md")).content == b"beta"
        assert script.count("skills/get") == 2


async def test_skill_that_hangs_does_not_hang_the_bridge(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.host.servers.source._INSTANCE_SECONDS", 0.05)
    script = upstream(hanging=frozenset({"skills/get"}))
    async with open_bridge(wires(script), state, {"up"}) as bridge, Client(bridge.server) as client:
        text, failed = await load(client, "up/docs/acme/guide")
        assert failed
        assert "did not describe the skill" in text
        text, failed = await load(client, "up/one")
        assert not failed


async def test_many_skills_of_a_template_take_bounded_memory(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.host.servers.source._MAX_INSTANCES", 3)
    script = upstream()
    entry = script.got[THEIRS]
    uris = [f"skill://docs/p{number}/guide/SKILL.md" for number in range(6)]
    script.got = {uri: {**entry, "uri": uri, "resources": "dynamic"} for uri in uris}
    script.files = {**script.files, **dict.fromkeys(uris, script.files[THEIRS])}
    async with open_bridge(wires(script), state, {"up"}) as bridge:
        for _ in range(2):
            for number in range(6):
                await bridge.library.read(f"skill://up/docs/p{number}/guide/SKILL.md")
        assert script.count("skills/get") == 12  # the oldest are forgotten


async def test_bad_template_is_reported_and_hides_no_skill(state: State) -> None:
    script = upstream()
    script.templates = [DOCS, {"uriTemplate": "skill://{+all}/SKILL.md", "name": "all"}]
    async with open_bridge(wires(script), state) as bridge:
        assert list(bridge.library.catalog.entries) == ["skill://up/one/SKILL.md"]
        assert [each.uri for each in bridge.library.catalog.templates] == [TEMPLATE]
        (problem,) = bridge.problems(Rule.SERVER_LIST)
        assert "skill://{+all}/SKILL.md: it cannot be used" in problem.message


@pytest.mark.rule("H22")
async def test_text_of_one_server_reads_nothing_from_another(mode: str, state: State) -> None:
    evil, other = ScriptedServer(), upstream()
    evil.publish("helper", {"a.md": b"own file"})
    servers = {"evil": Wire(evil.server()), "up": Wire(other.server())}
    async with (
        open_bridge(servers, state, {"evil", "up"}) as bridge,
        Client(bridge.server, mode=mode) as client,
    ):
        other.asked.clear()
        for path in ("up/one/SKILL.md", "one/SKILL.md", "up/docs/SECRET/guide"):
            result: Any = await client.call_tool("skill-resource", {"skill": "evil/helper", "path": path})
            assert result.is_error
            assert "the skill has no file" in text_of(result)
        assert other.asked == []
        own: Any = await client.call_tool("skill-resource", {"skill": "evil/helper", "path": "helper/a.md"})
        assert "own file" in text_of(own)


@pytest.mark.rule("H9", "H22")
async def test_uri_in_a_text_means_a_skill_of_its_server(mode: str, state: State) -> None:
    """A bridge publishes the skills below labels, but their texts name them as on their servers."""
    evil, other = ScriptedServer(), upstream()
    evil.publish("helper", {"a.md": b"own file"})
    evil.publish("one", {"a.md": b"evil one"})
    servers = {"evil": Wire(evil.server()), "up": Wire(other.server())}
    async with (
        open_bridge(servers, state, {"evil", "up"}) as bridge,
        Client(bridge.server, mode=mode) as client,
    ):

        async def called(tool: str, **arguments: str) -> str:
            return text_of(await client.call_tool(tool, arguments))

        for uri in ("skill://helper/SKILL.md", "skill://helper", "skill://helper/skill.md"):
            assert "The skill `evil/helper`, from the server `evil`." in await called("load-skill", name=uri)
        assert "own file" in await called("load-skill", name="skill://helper/a.md")
        assert "use one of: `evil/one`, `up/one`" in await called("load-skill", name="skill://one/SKILL.md")
        assert "evil one" in await called("skill-resource", skill="evil/helper", path="skill://one/a.md")
        assert "The skill `up/docs/acme/guide`" in await called("load-skill", name=THEIRS)
        other.asked.clear()
        for path in ("skill://up/one/SKILL.md", THEIRS):
            told = await called("skill-resource", skill="evil/helper", path=path)
            assert "the skill has no file" in told
        assert not [uri for method, uri in other.asked if method == "resources/read"]


@pytest.mark.rule("H10")
async def test_skill_of_a_template_replaces_no_listed_skill(mode: str, state: State) -> None:
    script = ScriptedServer(templates=[{**DOCS, "uriTemplate": "bb://docs/{q}/guide/SKILL.md"}])
    script.publish("docs/acme/guide", {"x.md": b"listed"})
    (listed,) = script.entries
    alias = json.loads(json.dumps(listed).replace("skill://", "bb://"))
    script.got = {alias["uri"]: alias}
    aliases = {uri.replace("skill://", "bb://"): content for uri, content in script.files.items()}
    script.files = {**script.files, **aliases}
    async with Wire(script.server()).link() as link:
        first, second = (await link.list()).skills[0], await link.get(alias["uri"])
    async with open_bridge(wires(script), state) as bridge, Client(bridge.server, mode=mode) as client:
        bridge.approve("up", second)
        bridge.approve("up", first)
        await bridge.until_offered(OURS)
        assert bridge.library.catalog.entries[OURS].origin.location == THEIRS
        assert not (await load(client, "up/docs/acme/guide"))[1]
        bridge.revoke("up", first.uri)
        await bridge.until_offered()
        assert (await load(client, "up/docs/acme/guide"))[1]
