"""Files of one slow server are read concurrently, within limits, and taken in order."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from skillwire import Problem, ServerSource
from skillwire.core.concurrency import MAX_CONCURRENT_READS, MAX_CONCURRENT_UNSIZED_READS, process_in_order
from skillwire.errors import VerificationError
from skillwire.host import (
    ConnectedServer,
    DraftsClient,
    Host,
    Outcome,
    Report,
    SkillsClient,
    Target,
    verify_server,
)
from skillwire.host.connections.connect import connected as connected_to
from skillwire.host.verify import SkillReport
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.sources import Rule
from tests.support.bridges import open_bridge
from tests.support.clients import ERAS
from tests.support.draft_servers import FILES as DRAFT_FILES
from tests.support.draft_servers import MAIN, archive_a, indexed
from tests.support.links import Wire
from tests.support.peers import PATIENCE
from tests.support.scripted import ScriptedServer
from tests.support.scripted_site import ScriptedSite

pytestmark = pytest.mark.anyio
FILES = {f"references/{number:02}.md": b"# %d\n" % number for number in range(20)}


class Crowd:
    """Answers requests of a method once enough of them are in progress, and counts the most at a time."""

    def __init__(self, wanted: int, method: str = "resources/read") -> None:
        self._wanted, self._method, self._under_way = wanted, method, 0
        self._enough = anyio.Event()
        self.most = 0

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        if ctx.method != self._method:
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
async def test_verify_reads_skills_and_files_concurrently(mode: str) -> None:
    script, crowd = ScriptedServer(), Crowd(MAX_CONCURRENT_READS)
    for number in range(20):
        script.publish(f"skill-{number:02}")
    script.publish("many", FILES)
    async with connected(script, crowd, mode) as client:
        report = await verify_server(SkillsClient(client))
    assert crowd.most == MAX_CONCURRENT_READS
    assert report.outcome() is Outcome.VERIFIED
    assert [skill.uri for skill in report.skills] == [entry["uri"] for entry in script.entries]
    assert report.skills[-1].files == len(FILES) + 1


async def test_findings_are_in_the_order_of_the_list() -> None:
    script, crowd = ScriptedServer(), Crowd(2)
    for number in range(9):
        script.publish(f"skill-{number}", FILES)
    wrong = [f"skill://skill-{skill}/references/{number:02}.md" for skill in (2, 7) for number in (3, 11)]
    script.files = {**script.files, **dict.fromkeys(wrong, b"other")}
    async with connected(script, crowd) as client:
        report = await verify_server(SkillsClient(client))
    assert [each.path for each in report.found.kept if each.rule is Rule.DIGEST] == wrong
    assert [skill.good for skill in report.skills] == [number not in {2, 7} for number in range(9)]


async def test_concurrent_reads_of_unknown_size_are_limited() -> None:
    script, crowd = ScriptedServer(), Crowd(MAX_CONCURRENT_UNSIZED_READS)
    for number in range(9):
        script.publish(f"skill-{number}")
    script.entries = [{**entry, "resources": "dynamic"} for entry in script.entries]
    async with connected(script, crowd) as client:
        await verify_server(SkillsClient(client))
    assert crowd.most == MAX_CONCURRENT_UNSIZED_READS


@pytest.mark.rule("H25")
async def test_concurrent_reads_share_one_budget() -> None:
    script, crowd = ScriptedServer(), Crowd(3)
    script.publish("many", {f"{number}.bin": b"x" * 1000 for number in range(20)})
    async with connected(script, crowd) as client:
        report = await verify_server(SkillsClient(client, budget=3500))
    assert script.count("resources/read") == 4, "what the budget does not hold is not asked for"
    assert sum(each.rule is Rule.READ_BUDGET for each in report.found.kept) == 17
    assert report.skills[0].size <= 3500


@pytest.mark.rule("H25")
async def test_budget_holds_for_concurrent_reads_of_unknown_size() -> None:
    script, crowd = ScriptedServer(), Crowd(MAX_CONCURRENT_UNSIZED_READS)
    for number in range(9):
        script.publish(f"skill-{number}", {}, body="x" * 1000)
    script.entries = [{**entry, "resources": "dynamic"} for entry in script.entries]
    async with connected(script, crowd) as client:
        report = await verify_server(SkillsClient(client, budget=3500))
    accepted = sum(skill.size for skill in report.skills)
    assert 2000 < accepted <= 3500
    assert sum(each.rule is Rule.READ_BUDGET for each in report.found.kept) == 9 - accepted // 1000
    assert script.count("resources/read") <= 3 + MAX_CONCURRENT_UNSIZED_READS


async def test_oversized_answer_for_a_small_file_is_refused() -> None:
    """A file that is listed with one byte is not a file of unknown size."""
    script = ScriptedServer()
    script.publish("many", {f"{number}.bin": b"x" for number in range(3)})
    uri = "skill://many/1.bin"
    script.files = {**script.files, uri: b"x" * 500_000}
    with ScriptedSite(script) as site:
        async with connected_to(Target("acme", url=site.url)) as client:
            report = await verify_server(SkillsClient(client))
    (found,) = report.found.kept
    assert (found.path, found.rule) == (uri, Rule.READ_BUDGET)


async def test_unlisted_skills_are_fetched_concurrently() -> None:
    script, crowd = ScriptedServer(), Crowd(MAX_CONCURRENT_READS, "skills/get")
    for number in range(MAX_CONCURRENT_READS):
        script.publish(f"skill-{number}")
    script.got = {entry["uri"]: entry for entry in script.entries}
    script.resources = [{"uri": uri, "name": "SKILL.md"} for uri in script.got]
    script.entries = []
    async with connected(script, crowd) as client:
        report = await verify_server(SkillsClient(client))
    assert crowd.most == MAX_CONCURRENT_READS
    assert [skill.uri for skill in report.skills] == list(script.got)


async def test_concurrent_reads_wait_for_the_first_listing() -> None:
    """The files are in an archive, which only the index names."""
    script, release = indexed(archive_a(ArchiveFormat.TAR_GZ), files={}), anyio.Event()

    async def hold(ctx: Any, call_next: Any) -> Any:
        if "index.json" in str(ctx.params):
            await release.wait()
        return await call_next(ctx)

    server = script.server()
    server.middleware.append(hold)
    got: list[bytes] = []
    async with Client(server) as client, anyio.create_task_group() as tasks:
        drafts = DraftsClient(SkillsClient(client))
        tasks.start_soon(process_in_order, [MAIN] * 3, drafts.read, got.append)
        await anyio.wait_all_tasks_blocked()
        release.set()
    assert got == [DRAFT_FILES[MAIN]] * 3


async def test_pull_reads_concurrently_and_writes_all_files(tmp_path: Path) -> None:
    script, crowd = ScriptedServer(), Crowd(MAX_CONCURRENT_READS)
    script.publish("many", FILES)
    async with (
        connected(script, crowd) as client,
        Host(sources=[ServerSource(ConnectedServer("acme", client))]) as host,
    ):
        folder = await host.pull(await host.find("acme:many"), tmp_path)
    assert crowd.most == MAX_CONCURRENT_READS
    assert {path: (folder / path).read_bytes() for path in FILES} == FILES


@pytest.mark.rule("H15")
async def test_first_file_that_differs_ends_a_pull(tmp_path: Path) -> None:
    script, crowd = ScriptedServer(), Crowd(2)
    script.publish("many", FILES)
    wrong = {f"skill://many/references/{number:02}.md": b"other" for number in (2, 9)}
    script.files = {**script.files, **wrong}
    async with (
        connected(script, crowd) as client,
        Host(sources=[ServerSource(ConnectedServer("acme", client))]) as host,
    ):
        with pytest.raises(VerificationError, match=r"references/02\.md"):
            await host.pull(await host.find("acme:many"), tmp_path)
    assert not await anyio.Path(tmp_path / "acme").exists()


async def test_folder_of_a_bridged_skill_is_read_concurrently() -> None:
    script, crowd = ScriptedServer(), Crowd(MAX_CONCURRENT_READS)
    script.publish("many", FILES)
    server = script.server()
    server.middleware.append(crowd)
    async with (
        open_bridge({"acme": Wire(server)}, trusted=["acme"]) as bridge,
        Client(bridge.server) as client,
    ):
        arguments = {"skill": "many", "path": "references"}
        result = await client.call_tool("skill-resource", arguments)
    assert crowd.most == MAX_CONCURRENT_READS
    assert result.is_error is False
    assert len(result.content) == len(FILES)


async def test_answers_are_taken_in_order_within_the_limit() -> None:
    taken: list[int] = []
    gates = [anyio.Event() for _ in range(6)]
    started: list[int] = []

    async def ask(number: int) -> int:
        started.append(number)
        await gates[number].wait()
        return number

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process_in_order, range(6), ask, taken.append, 3)
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


async def test_first_error_in_order_is_raised_and_cancels_the_rest() -> None:
    taken: list[int] = []
    cancelled: list[int] = []
    gates = [anyio.Event() for _ in range(6)]

    async def ask(number: int) -> int:
        try:
            await gates[number].wait()
        except anyio.get_cancelled_exc_class():
            cancelled.append(number)
            raise
        if number in {1, 2}:
            raise ValueError(number)
        return number

    async def read() -> None:
        with pytest.raises(ValueError, match="1"):
            await process_in_order(range(6), ask, taken.append, 4)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        for number in (2, 1, 0):  # the later error comes first
            await anyio.wait_all_tasks_blocked()
            gates[number].set()
    assert taken == [0]
    assert 3 in cancelled


async def test_consumer_error_is_raised_unchanged() -> None:
    async def ask(number: int) -> int:
        return number

    def take(number: int) -> None:
        if number == 2:
            raise KeyError(number)

    with pytest.raises(KeyError):
        await process_in_order(iter(range(6)), ask, take, 3)


async def test_cancelled_verification_keeps_what_it_found() -> None:
    script, answered = ScriptedServer(), anyio.Event()
    for number in range(2):
        script.publish(f"skill-{number}", FILES)
    wrong = "skill://skill-0/references/03.md"
    script.files = {**script.files, wrong: b"other"}

    async def hold(ctx: Any, call_next: Any) -> Any:
        if ctx.method == "resources/read" and "skill-1/references/05" in str(ctx.params):
            await anyio.sleep_forever()
        return await call_next(ctx)

    class Noticing(Report):
        """Says when the first finding is in the report."""

        def note(self, *found: Problem, skill: SkillReport | None = None) -> None:
            super().note(*found, skill=skill)
            if found:
                answered.set()

    server = script.server()
    server.middleware.append(hold)
    report = Noticing()
    async with Client(server) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(verify_server, SkillsClient(client), report)
        with anyio.fail_after(PATIENCE):
            await answered.wait()
        tasks.cancel_scope.cancel()
    assert [skill.uri for skill in report.skills] == ["skill://skill-0/SKILL.md"]
    assert {each.path for each in report.found.kept} == {wrong}
