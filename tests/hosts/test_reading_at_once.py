"""Many files of one slow server are read at once, within a limit, and taken in order."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from skillwire.catalog.in_order import READS_AT_ONCE, UNSIZED_AT_ONCE, in_order
from skillwire.host import ConnectedServer, Host
from skillwire.host.reaching.client import SkillsClient
from skillwire.host.refusing import VerificationError
from skillwire.host.verifying import Outcome, verify_server
from skillwire.wire.findings import Fault
from tests.support.bridges import bridging
from tests.support.clients import ERAS
from tests.support.links import Wire
from tests.support.peers import PATIENCE
from tests.support.scripted import ScriptedServer

pytestmark = pytest.mark.anyio
FILES = {f"references/{number:02}.md": b"# %d\n" % number for number in range(20)}


class Crowd:
    """Answers reads only when so many are under way at once, and counts how many there are at most."""

    def __init__(self, wanted: int) -> None:
        self._wanted, self._under_way = wanted, 0
        self._enough = anyio.Event()
        self.most = 0

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        if ctx.method != "resources/read":
            return await call_next(ctx)
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        if self._under_way == self._wanted:
            self._enough.set()
        try:
            with anyio.fail_after(PATIENCE):
                await self._enough.wait()
            await anyio.lowlevel.checkpoint()  # so that one more would be seen
            return await call_next(ctx)
        finally:
            self._under_way -= 1


@asynccontextmanager
async def connected(script: ScriptedServer, crowd: Crowd, mode: Any = "auto") -> AsyncGenerator[Client]:
    server = script.server()
    server.middleware.append(crowd)
    async with Client(server, mode=mode) as client:
        yield client


@pytest.mark.parametrize("mode", ERAS)
async def test_verifying_reads_many_skills_and_files_at_once(mode: str) -> None:
    script, crowd = ScriptedServer(), Crowd(READS_AT_ONCE)
    for number in range(20):
        script.publish(f"skill-{number:02}")
    script.publish("many", FILES)
    async with connected(script, crowd, mode) as client:
        report = await verify_server(SkillsClient(client))
    assert crowd.most == READS_AT_ONCE
    assert report.outcome() is Outcome.VERIFIED
    assert [skill.uri for skill in report.skills] == [entry["uri"] for entry in script.entries]
    assert report.skills[-1].files == len(FILES) + 1


async def test_what_is_found_is_told_in_the_order_of_the_list() -> None:
    script, crowd = ScriptedServer(), Crowd(2)
    for number in range(9):
        script.publish(f"skill-{number}", FILES)
    wrong = [f"skill://skill-{skill}/references/{number:02}.md" for skill in (2, 7) for number in (3, 11)]
    script.files = {**script.files, **dict.fromkeys(wrong, b"other")}
    async with connected(script, crowd) as client:
        report = await verify_server(SkillsClient(client))
    assert [each.uri for each in report.found.kept if each.fault is Fault.DIGEST] == wrong
    assert [skill.good for skill in report.skills] == [number not in {2, 7} for number in range(9)]


async def test_files_of_unknown_size_are_read_a_few_at_once() -> None:
    script, crowd = ScriptedServer(), Crowd(UNSIZED_AT_ONCE)
    for number in range(9):
        script.publish(f"skill-{number}")
    script.entries = [{**entry, "resources": "dynamic"} for entry in script.entries]
    async with connected(script, crowd) as client:
        await verify_server(SkillsClient(client))
    assert crowd.most == UNSIZED_AT_ONCE


@pytest.mark.rule("H25")
async def test_reads_at_once_share_one_budget() -> None:
    script, crowd = ScriptedServer(), Crowd(3)
    script.publish("many", {f"{number}.bin": b"x" * 1000 for number in range(20)})
    async with connected(script, crowd) as client:
        report = await verify_server(SkillsClient(client, budget=3500))
    assert script.count("resources/read") == 4, "what the budget does not hold is not asked for"
    assert sum(each.fault is Fault.READ_BUDGET for each in report.found.kept) == 17
    assert report.skills[0].size <= 3500


async def test_pulling_reads_at_once_and_writes_all(tmp_path: Path) -> None:
    script, crowd = ScriptedServer(), Crowd(READS_AT_ONCE)
    script.publish("many", FILES)
    async with (
        connected(script, crowd) as client,
        Host(providers=[ConnectedServer("acme", client)]) as host,
    ):
        folder = await host.pull(await host.find("acme:many"), tmp_path)
    assert crowd.most == READS_AT_ONCE
    assert {path: (folder / path).read_bytes() for path in FILES} == FILES


@pytest.mark.rule("H15")
async def test_the_first_file_in_order_that_differs_ends_a_pull(tmp_path: Path) -> None:
    script, crowd = ScriptedServer(), Crowd(2)
    script.publish("many", FILES)
    wrong = {f"skill://many/references/{number:02}.md": b"other" for number in (2, 9)}
    script.files = {**script.files, **wrong}
    async with (
        connected(script, crowd) as client,
        Host(providers=[ConnectedServer("acme", client)]) as host,
    ):
        with pytest.raises(VerificationError, match=r"references/02\.md"):
            await host.pull(await host.find("acme:many"), tmp_path)
    assert not await anyio.Path(tmp_path / "acme").exists()


async def test_a_folder_of_a_bridged_skill_is_read_at_once() -> None:
    script, crowd = ScriptedServer(), Crowd(READS_AT_ONCE)
    script.publish("many", FILES)
    server = script.server()
    server.middleware.append(crowd)
    async with bridging({"acme": Wire(server)}, trusted=["acme"]) as bridge, Client(bridge.server) as client:
        arguments = {"skill": "many", "path": "references"}
        result = await client.call_tool("skill-resource", arguments)
    assert crowd.most == READS_AT_ONCE
    assert result.is_error is False
    assert len(result.content) == len(FILES)


async def test_answers_are_taken_in_order_and_no_more_than_asked_for() -> None:
    taken: list[int] = []
    gates = [anyio.Event() for _ in range(6)]
    started: list[int] = []

    async def ask(number: int) -> int:
        started.append(number)
        await gates[number].wait()
        return number

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(in_order, range(6), ask, taken.append, 3)
        for number in (2, 1, 0):  # the last first
            await anyio.wait_all_tasks_blocked()
            assert started == [0, 1, 2]
            assert taken == []
            gates[number].set()
        await anyio.wait_all_tasks_blocked()
        assert (taken, started) == ([0, 1, 2], [0, 1, 2, 3, 4, 5])
        for gate in gates:
            gate.set()
    assert taken == list(range(6))
