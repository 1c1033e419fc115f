"""`--static`: the skills are frozen, their contents are not."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client

from skillwire import FolderSource, Library, ServeOptions
from skillwire.server import Channel, skills_server
from tests.support.clients import ERAS, text_of
from tests.support.listening import NotificationLog, listening
from tests.support.peers import StdioPeer, skillwire
from tests.support.skills import skill_md, write, write_skill

pytestmark = pytest.mark.anyio

ONE, POLICY = "skill://one/SKILL.md", "skill://one/policy.md"


@asynccontextmanager
async def frozen(root: Path, mode: str, *uris: str) -> AsyncGenerator[tuple[Client, NotificationLog]]:
    library = Library([FolderSource(root, keep_good=True)], frozen=True)
    await library.load()
    server = skills_server(library, options=ServeOptions(Channel.TOOL_DESCRIPTION))
    async with listening(server, mode, uris) as connected:
        yield connected


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_skill(tmp_path, "one", {"policy.md": "old"})
    write_skill(tmp_path, "two")
    return tmp_path


@pytest.mark.parametrize("mode", ERAS)
async def test_no_list_is_declared_to_change(root: Path, mode: str) -> None:
    async with frozen(root, mode) as (client, _):
        declared = client.server_capabilities
        lists = (declared.resources, declared.prompts, declared.tools)
        assert [each.list_changed for each in lists if each is not None] == [False, False, False]
        assert declared.resources is not None
        assert declared.resources.subscribe is True


@pytest.mark.parametrize("mode", ERAS)
async def test_contents_change_but_offered_skills_do_not(root: Path, mode: str) -> None:
    async with frozen(root, mode) as (client, heard):
        tools = (await client.list_tools()).tools[0].description
        write(root, {"one/SKILL.md": skill_md("one", "Another.", body="new body\n"), "one/policy.md": "new"})
        write_skill(root, "three")
        loaded = await client.call_tool("load-skill", {"name": "one"})
        assert "new body" in text_of(loaded)
        read = await client.call_tool("skill-resource", {"skill": "one", "path": "policy.md"})
        assert text_of(read) == "new"
        assert (await client.list_tools()).tools[0].description == tools
        prompts = (await client.list_prompts()).prompts
        assert {prompt.name for prompt in prompts} == {"skill", "one", "two"}
        assert not any(prompt.description == "Another." for prompt in prompts)
        assert {str(each.uri) for each in (await client.list_resources()).resources} == {
            "skill://index.json",
            ONE,
            "skill://two/SKILL.md",
        }
        assert heard.all == []


@pytest.mark.parametrize("mode", ERAS)
async def test_only_subscribed_skills_are_watched(root: Path, mode: str) -> None:
    async with frozen(root, mode, POLICY) as (_, heard):
        write(root, {"two/SKILL.md": skill_md("two", body="nobody asked\n"), "one/policy.md": "new"})
        await heard.until(POLICY)
        assert set(heard.all) == {POLICY}


async def test_removed_skill_stays_listed_and_cannot_be_read(root: Path) -> None:
    async with frozen(root, "auto") as (client, _):
        (root / "one/SKILL.md").rename(root / "SKILL.gone")
        result = await client.call_tool("load-skill", {"name": "one"})
        assert result.is_error is True
        assert ONE in {str(each.uri) for each in (await client.list_resources()).resources}
        assert text_of(await client.call_tool("load-skill", {"name": "two"})).encode() == skill_md("two")


def test_missing_folder_is_a_usage_error_with_static(tmp_path: Path) -> None:
    with StdioPeer("2025-11-25", skillwire("serve", tmp_path / "none", "--static")) as peer:
        assert peer.process.wait(timeout=60) == 2
        peer._err_thread.join(timeout=60)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        assert "does not exist" in peer.stderr()


def test_answers_may_be_cached_for_an_hour(root: Path) -> None:
    with StdioPeer("2026-07-28", skillwire("serve", root, "--static")) as peer:
        assert peer.result("skills/list")["ttlMs"] == 3_600_000


async def test_frozen_server_stops_normally(root: Path) -> None:
    with anyio.fail_after(30):
        async with frozen(root, "legacy", ONE):
            pass


@pytest.mark.parametrize("mode", ERAS)
async def test_broken_skill_is_still_watched_for_subscribers(root: Path, mode: str) -> None:
    async with frozen(root, mode, POLICY, ONE) as (_, heard):
        write(root, {"one/SKILL.md": "broken", "one/policy.md": "new"})
        await heard.until(POLICY)
        heard.take()
        write(root, {"one/SKILL.md": skill_md("one", "Mended."), "one/policy.md": "newer"})
        await heard.until(POLICY, ONE)


@pytest.mark.parametrize("mode", ERAS)
async def test_a_subscription_outlives_remove_and_re_add(root: Path, mode: str) -> None:
    async with frozen(root, mode, POLICY) as (_, heard):
        write(root, {"one/policy.md": "new"})
        await heard.until(POLICY)
        heard.take()
        (root / "one").rename(root.parent / f"{root.name}-away")
        write_skill(root, "one", {"policy.md": "added again"})
        await heard.until(POLICY)
        heard.take()
        write(root, {"one/policy.md": "and edited"})
        await heard.until(POLICY)


async def test_the_list_of_resources_is_frozen_too(root: Path) -> None:
    async with frozen(root, "auto") as (client, _):
        before = (await client.list_resources()).resources
        write(root, {"one/SKILL.md": skill_md("one", "Another.")})
        await client.call_tool("load-skill", {"name": "one"})
        assert (await client.list_resources()).resources == before
