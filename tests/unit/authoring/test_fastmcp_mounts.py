"""Skills of mounted FastMCP servers: nested, mounted later, mounted twice, and in conflict."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from skillwire import Skill, Skills, attach
from skillwire.host.dialects.client import ask
from tests.support.clients import ERAS
from tests.support.fastmcp_servers import all_resources, client_of, fastmcp_server, names_of
from tests.support.listening_client import listening_client
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)


@every_era
async def test_mounted_server_publishes_skills_below_its_prefix(mode: Any, skills: Skills) -> None:
    child, grandchild, parent = (
        fastmcp_server("child"),
        fastmcp_server("grandchild"),
        fastmcp_server("parent"),
    )
    attach(child, skills, every_client=False)
    attach(
        grandchild,
        Skill("deep", "---\nname: deep\ndescription: D.\n---\n").with_reference("a.md", "text/plain", "a"),
        every_client=False,
    )
    attach(parent, Skill("own", "---\nname: own\ndescription: O.\n---\n"), every_client=False)
    child.mount(grandchild, namespace="inner")
    parent.mount(child, namespace="team")
    async with client_of(parent, mode) as client:
        uris = await names_of(client)
        assert uris == [
            "skill://own/SKILL.md",
            "skill://team/acme/billing/refunds/SKILL.md",
            "skill://team/for-models/SKILL.md",
            "skill://team/for-people/SKILL.md",
            "skill://team/reports/daily/SKILL.md",
            "skill://team/inner/deep/SKILL.md",
        ]
        for uri in uris:
            entry = (await ask(client, "skills/get", uri=uri))["skill"]
            files = [uri] if entry["resources"] == "dynamic" else [each["uri"] for each in entry["resources"]]
            for file in files:
                (block,) = (await client.read_resource(file)).contents
                assert block.uri == file
        children = (await ask(client, "resources/directory/read", uri="skill://team"))["resources"]
        assert {child["uri"] for child in children} >= {"skill://team/acme", "skill://team/inner"}
        listed = [resource.uri for resource in await all_resources(client)]
        assert [uri for uri in listed if uri.startswith("skill://")] == [*uris, "skill://index.json"]
        (index,) = (await client.read_resource("skill://index.json")).contents
        assert '"skill://team/inner/deep/SKILL.md"' in getattr(index, "text", "")
        (prompt,) = [
            each for each in (await client.list_prompts()).prompts if each.name == "team_start_refund"
        ]
        resources = (prompt.meta or {})["dev.skillwire/resources"]
        assert resources[0] == "skill://team/acme/billing/refunds/SKILL.md"
        filled = "skill://team/docs/anvil/guide/SKILL.md"
        assert (await ask(client, "skills/get", uri=filled))["skill"]["frontmatter"]["name"] == "guide"
        (block,) = (await client.read_resource(filled)).contents
        assert getattr(block, "text", "").endswith("# anvil\n")


@every_era
@pytest.mark.parametrize("namespace", [None, "team"])
async def test_folder_changes_notify_clients(mode: Any, namespace: str | None, tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    child, parent = fastmcp_server("child"), fastmcp_server("parent")
    attach(child, tmp_path)
    if namespace is not None:
        parent.mount(child, namespace=namespace)
    prefix = "" if namespace is None else f"{namespace}/"
    served = child if namespace is None else parent
    async with listening_client(partial(client_of, served), mode) as hears:
        assert await names_of(hears.client) == [f"skill://{prefix}one/SKILL.md"]
        write_skill(tmp_path, "two")
        await hears.wait_for_list_change()
        names = await names_of(hears.client)
        assert names == [f"skill://{prefix}one/SKILL.md", f"skill://{prefix}two/SKILL.md"]


async def test_reads_match_listing_while_mounted_folder_changes(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", {"a.md": "first"})
    child, parent = fastmcp_server("child"), fastmcp_server("parent")
    attach(child, tmp_path)
    parent.mount(child, namespace="team")
    async with client_of(parent) as client:
        for text in ("second", "third and longer"):
            (folder / "a.md").write_text(text, "utf-8")
            (block,) = (await client.read_resource("skill://team/one/a.md")).contents
            assert getattr(block, "text", "") == text
            entry = (await ask(client, "skills/get", uri="skill://team/one/SKILL.md"))["skill"]
            sizes = {each["uri"]: each["size"] for each in entry["resources"]}
            assert sizes["skill://team/one/a.md"] == len(text)


@every_era
async def test_server_mounted_later_is_watched(mode: Any, tmp_path: Path) -> None:
    parent, child = fastmcp_server("parent"), fastmcp_server("child")
    attach(parent, Skill("own", "---\nname: own\ndescription: O.\n---\n"))
    write_skill(tmp_path, "one")
    attach(child, tmp_path)
    async with listening_client(partial(client_of, parent), mode) as hears:
        assert await names_of(hears.client) == ["skill://own/SKILL.md"]
        parent.mount(child, namespace="late")
        assert await names_of(hears.client) == ["skill://own/SKILL.md", "skill://late/one/SKILL.md"]
        async with listening_client(partial(client_of, parent), mode) as also_hears:
            write_skill(tmp_path, "two")
            await also_hears.wait_for_list_change()
            if (
                mode == "legacy"
            ):  # in the other era a stream ends with what it was about, and is asked for anew
                await hears.wait_for_list_change()
            assert len(await names_of(hears.client)) == 3
            assert (await hears.client.read_resource("skill://late/two/SKILL.md")).contents


@every_era
async def test_first_of_two_skills_at_one_path_is_served(mode: Any) -> None:
    parent = fastmcp_server("parent")
    document = "---\nname: one\ndescription: D.\n---\n"
    for text in ("x", "y"):
        child = fastmcp_server(f"child-{text}")
        attach(child, Skill("one", document + text).with_reference(f"{text}.md", "text/plain", text))
        parent.mount(child)
    async with client_of(parent, mode) as client:
        assert await names_of(client) == ["skill://one/SKILL.md"]
        (entry,) = (await ask(client, "skills/list"))["skills"]
        assert [file["uri"] for file in entry["resources"]] == ["skill://one/SKILL.md", "skill://one/x.md"]
        (block,) = (await client.read_resource("skill://one/SKILL.md")).contents
        assert getattr(block, "text", "").endswith("x")
        with pytest.raises(MCPError):
            await client.read_resource("skill://one/y.md")
        (problems,) = (await client.read_resource("skillwire://problems")).contents
        assert "uri-taken" in getattr(problems, "text", "")
        (index,) = (await client.read_resource("skill://index.json")).contents
        assert getattr(index, "text", "").count('"url"') == 1


async def test_one_server_can_be_mounted_twice(skills: Skills) -> None:
    parent, child = fastmcp_server("parent"), fastmcp_server("child")
    attach(child, skills)
    parent.mount(child, namespace="a")
    parent.mount(child, namespace="b")
    async with client_of(parent) as client:
        names = await names_of(client)
        assert len(names) == 8
        for prefix in "ab":
            uri = f"skill://{prefix}/acme/billing/refunds/SKILL.md"
            assert uri in names
            assert (await client.read_resource(uri)).contents


@pytest.mark.parametrize("mounted", [False, True])
def test_server_can_run_in_successive_event_loops(*, mounted: bool, skills: Skills) -> None:
    child, parent = fastmcp_server("child"), fastmcp_server("parent")
    attach(child, skills)
    parent.mount(child, namespace="team")

    async def use() -> list[str]:
        async with client_of(parent if mounted else child) as client:
            return await names_of(client)

    assert anyio.run(use) == anyio.run(use)
