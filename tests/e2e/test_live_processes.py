"""Real processes tell real clients of changes, over stdio and HTTP, on both eras."""

import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import EmptyResult, PingRequest

from tests.support.clients import ERAS
from tests.support.listening import listening
from tests.support.peers import HttpServer, StdioPeer, skillwire
from tests.support.skills import skill_md, write, write_skill

pytestmark = pytest.mark.anyio

ONE = "skill://one/SKILL.md"


def serving(root: Path, *options: str) -> StdioServerParameters:
    command, *arguments = skillwire("serve", root, *options)
    return StdioServerParameters(command=command, args=arguments)


@pytest.mark.parametrize("mode", ERAS)
async def test_an_edit_right_after_the_handshake_is_heard_over_stdio(tmp_path: Path, mode: str) -> None:
    write_skill(tmp_path, "one")
    async with listening(serving(tmp_path), mode, [ONE]) as (client, heard):
        write(tmp_path, {"one/SKILL.md": skill_md("one", "Another.")})
        await heard.until("prompts", "resources", ONE)
        listed = await client.list_prompts()
        assert "Another." in {prompt.description for prompt in listed.prompts}


async def test_http_server_notifies_clients_of_both_versions(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    with HttpServer(tmp_path, "--http", "0") as server:
        async with (
            listening(server.url, "legacy", [ONE]) as (_, old),
            listening(server.url, "auto", [ONE]) as (_, new),
        ):
            # A session of the older kind is told on a stream that its client opens in its own time.
            with anyio.fail_after(60):
                while ONE not in old.all:
                    told = new.all.count(ONE)
                    write(tmp_path, {"one/SKILL.md": skill_md("one", f"Version {told}.")})
                    await new.until_true(lambda: new.all.count(ONE) > told)  # noqa: B023 - waited for here
            await old.until("prompts", "resources", ONE)
            await new.until("prompts", "resources", ONE)


async def test_folder_missing_at_start_is_reported_and_served_later(tmp_path: Path) -> None:
    root = tmp_path / "later"
    async with listening(serving(root), "auto") as (client, heard):
        assert (await client.list_resources()).resources[0].name == "problems"
        write_skill(root, "one")
        await heard.until("prompts", "resources")
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        assert listed == [ONE, "skill://index.json"]
    with StdioPeer("2025-11-25", skillwire("serve", tmp_path / "never")) as peer:
        _ = peer.handshake
        assert f"waiting for `{tmp_path / 'never'}`, which does not exist" in peer.stderr()


async def test_a_server_follows_sources_added_in_another_terminal(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    for name in ("one", "two"):
        write_skill(tmp_path / name, name)
    config.write_text("[[sources]]\nsource = 'one'\n", encoding="utf-8")
    command, *arguments = skillwire("serve", "--config", config)
    async with listening(StdioServerParameters(command=command, args=arguments), "auto") as (client, heard):
        await anyio.run_process(skillwire("sources", "add", tmp_path / "two", "--config", config))
        await heard.until("prompts", "resources")
        assert {"one", "two"} <= {prompt.name for prompt in (await client.list_prompts()).prompts}
    with StdioPeer("2025-11-25", skillwire("serve", tmp_path / "two", "--config", config)) as peer:
        assert "one" not in {each["name"] for each in peer.result("prompts/list")["prompts"]}
        assert "2 sources in the configuration file not served, because you name others" in peer.stderr()


async def test_pings_are_answered_during_a_storm_of_edits(tmp_path: Path) -> None:
    for number in range(300):
        write_skill(tmp_path, f"s{number}")
    stop = threading.Event()

    def storm() -> None:
        version = 0
        while not stop.is_set():
            version += 1
            for number in range(300):
                write(tmp_path, {f"s{number}/SKILL.md": skill_md(f"s{number}", f"Version {version}.")})

    async with Client(serving(tmp_path), mode="legacy") as client, anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, storm)
        try:
            with anyio.fail_after(60):
                for _ in range(100):
                    await client.session.send_request(PingRequest(), EmptyResult)
        finally:
            stop.set()


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
def test_a_server_that_somebody_listens_to_ends_with_its_input(tmp_path: Path, version: str) -> None:
    write_skill(tmp_path, "one")
    with StdioPeer(version, skillwire("serve", tmp_path)) as peer:
        if version == "2026-07-28":
            filter_ = {"resourcesListChanged": True, "resourceSubscriptions": [ONE]}
            acknowledged = peer.request("subscriptions/listen", {"notifications": filter_})
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        else:
            assert peer.result("resources/subscribe", {"uri": ONE}) == {}
        assert peer.close() == 0


def test_more_listeners_than_requests_at_once_leave_room_for_requests(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    with StdioPeer("2026-07-28", skillwire("serve", tmp_path)) as peer:
        for _ in range(40):
            peer.request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
        assert peer.result("skills/list")["skills"]
