"""A link to one server: asked by many, lost, found again, listened to, closed."""

import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from skillwire import Library, MemorySource, Target
from skillwire.errors import UnavailableError, VerificationError
from skillwire.host.connections.connect import connected
from skillwire.host.servers.link import ServerLink
from skillwire.server import skills_server
from tests.support.clients import ERAS, skill
from tests.support.links import Wire
from tests.support.peers import PATIENCE, HttpServer
from tests.support.scripted import ScriptedServer, entry_of, files_of
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon: how long a pause is proves nothing."""
    monkeypatch.setattr("skillwire.host.servers.link._MIN_PAUSE", 0.05)


FILES = files_of("x", {"a.md": b"A"})
MAIN = "skill://x/SKILL.md"


def scripted() -> ScriptedServer:
    return ScriptedServer([entry_of("x", FILES)], FILES)


def listings(script: ScriptedServer) -> int:
    return sum(method == "skills/list" for method, _ in script.asked)


@pytest.fixture(params=ERAS)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_link_connects_on_first_request() -> None:
    script = scripted()
    wire = Wire(script.server())
    async with wire.link() as link:
        assert (wire.connections, link.declared, link.label) == (0, None, "upstream")
        assert [each.uri for each in (await link.list()).skills] == [MAIN]
        assert (await link.get(MAIN)).name == "x"
        assert await link.read("skill://x/a.md") == b"A"
        assert link.declared == {"directoryRead": True}
    assert wire.connections == 1


@pytest.mark.rule("H29")
async def test_concurrent_requests_share_one_listing() -> None:
    script = scripted()
    wire = Wire(script.server())
    async with wire.link() as link, anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(link.list)
    assert (wire.connections, listings(script)) == (1, 1)


class Dripping(ScriptedServer):
    """Has one more page, always, and takes its time."""

    def _handler(self, method: str, answer: Any) -> Any:
        handle = super()._handler(method, answer)

        async def slowly(context: Any, params: Any) -> Any:
            await anyio.sleep(0.02)
            return await handle(context, params)

        return slowly

    def _list(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"skills": [], "nextCursor": str(int(params.get("cursor", 0)) + 1)}


@pytest.mark.rule("H2")
async def test_endless_listing_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.host.servers.link._LONGEST_LISTING", 0.1)
    async with Wire(Dripping().server()).link() as link:
        with pytest.raises(UnavailableError, match=r"`upstream` did not list its skills in 0\.1 s"):
            await link.list()


UNREADABLE = """
import json, sys
answer = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "x", "version": "1"}}
answer["capabilities"] = {"extensions": {"io.modelcontextprotocol/skills": {}}, "resources": {}}
for line in sys.stdin:
    message = json.loads(line)
    told = {"error": {"code": -32601, "message": "no"}}
    if message["method"] == "initialize":
        told = {"result": answer}
    if message["method"] == "skills/list":
        print("a line that means nothing, with an \\"id\\": %d" % message["id"])
        print(sys.argv[1] % message["id"], flush=True)
    elif "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
"""


@pytest.mark.parametrize(
    "answer",
    [
        r'{"jsonrpc": "2.0", "id": %d, "result": {"skills": ["\ud800"]}}',
        r'{"result": {"skills": ["\ud800", {"id": 7}]}, "jsonrpc": "2.0", "id": %d}',
        '{"jsonrpc": "2.0", "id": %d, "result": {"skills": ' + "[" * 300 + "]" * 300 + "}}",
        '{"jsonrpc": "2.0", "id": %d, "result": {"skills": [',
    ],
    ids=["half a character", "id at the end", "deep", "cut"],
)
async def test_unreadable_answer_is_reported_immediately(tmp_path: Path, answer: str) -> None:
    (tmp_path / "server.py").write_text(UNREADABLE, "utf-8")
    target = Target("x", command=(sys.executable, str(tmp_path / "server.py"), answer))
    async with ServerLink(target) as link:
        with anyio.fail_after(PATIENCE), pytest.raises(MCPError, match="the answer is not valid JSON"):
            await link.list()


class Failing(ScriptedServer):
    """Has the code of a lost connection for whatever goes wrong."""

    def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        raise MCPError(-32000, "the disk is full")


async def test_server_error_does_not_cause_a_reconnect(mode: str) -> None:
    script = Failing([entry_of("x", FILES)], FILES)
    wire = Wire(script.server(), mode)
    async with wire.link() as link:
        with pytest.raises(MCPError, match="the disk is full"):
            await link.read("skill://x/a.md")
        assert (wire.connections, script.count("resources/read")) == (1, 1)


@pytest.mark.rule("H29")
async def test_later_request_gets_a_fresh_listing() -> None:
    script = scripted()
    async with Wire(script.server()).link() as link:
        await link.list()
        await link.list()
    assert listings(script) == 2


async def test_cancelled_listing_does_not_affect_later_requests() -> None:
    script = scripted()
    async with Wire(script.server()).link() as link:
        with anyio.CancelScope() as impatient:
            impatient.cancel()
            await link.list()
        assert impatient.cancelled_caught
        assert len((await link.list()).skills) == 1


@pytest.mark.rule("H1")
async def test_server_without_the_extension_gets_no_skill_requests(mode: str) -> None:
    script = ScriptedServer([entry_of("x", FILES)], FILES, declared=None)
    async with Wire(script.server(), mode).link() as link:
        assert (await link.list()).skills == []
        assert link.declared is None
        with pytest.raises(VerificationError, match="does not declare"):
            await link.get(MAIN)
    assert script.asked == []


@pytest.mark.rule("H1")
async def test_directory_read_is_sent_only_if_declared() -> None:
    script = ScriptedServer([entry_of("x", FILES)], FILES, declared={"directoryRead": "yes"})
    async with Wire(script.server()).link() as link:
        with pytest.raises(VerificationError, match="lists no folders"):
            await link.list_folder("skill://x")
    assert [method for method, _ in script.asked] == ["resources/list"]
    child = {"uri": "skill://x/a.md", "name": "a.md"}
    honest = ScriptedServer(folders={"skill://x": {"resources": [child]}})
    async with Wire(honest.server()).link() as link:
        assert await link.list_folder("skill://x") == ["skill://x/a.md"]


async def test_refusal_carries_the_message_of_the_server(mode: str) -> None:
    wire = Wire(scripted().server(), mode)
    async with wire.link() as link:
        with pytest.raises(MCPError, match="unknown file"):
            await link.read("skill://x/none.md")
        await link.list()
    assert wire.connections == 1


async def test_lost_connection_is_reopened_on_the_next_request(mode: str) -> None:
    wire = Wire(scripted().server(), mode)
    async with wire.link() as link:
        for connections in (1, 2, 3):
            assert len((await link.list()).skills) == 1
            assert wire.connections == connections
            wire.cut()


async def test_unreachable_server_is_an_error_until_it_returns() -> None:
    wire = Wire(scripted().server())
    wire.up = False
    async with wire.link() as link:
        for ask in (link.list, lambda: link.get(MAIN), lambda: link.read(MAIN)):
            with pytest.raises(UnavailableError, match="the wire is cut"):
                await ask()
        wire.up = True
        assert len((await link.list()).skills) == 1


async def test_closed_link_sends_no_requests() -> None:
    wire = Wire(scripted().server())
    async with wire.link() as link:
        await link.list()
    with pytest.raises(UnavailableError, match="the link to `upstream` is closed"):
        await link.list()
    assert [None async for _ in link.wait_for_changes()] == []
    assert wire.connections == 1


async def test_closing_a_link_ends_waiting_listeners() -> None:
    wire = Wire(scripted().server())
    link = wire.link()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:

            async def hear() -> None:
                async for _ in link.wait_for_changes():
                    pass

            tasks.start_soon(hear)
            await link.list()
            await link.close()


@asynccontextmanager
async def followed(mode: str) -> AsyncGenerator[tuple[MemorySource, ServerLink, "Ear"]]:
    source = MemorySource([skill("one", files={"refs/a.md": b"a"})])
    wire = Wire(skills_server(Library([source])), mode)
    async with wire.link() as link, anyio.create_task_group() as tasks:
        ear = Ear(link, wire)
        tasks.start_soon(ear.listen)
        yield source, link, ear
        tasks.cancel_scope.cancel()


class Ear:
    """Lists whenever something is heard, as whoever follows a server does."""

    def __init__(self, link: ServerLink, wire: Wire) -> None:
        self.link, self.wire = link, wire
        self.known: dict[str, str] = {}
        self._more = anyio.Event()

    async def listen(self) -> None:
        async for _ in self.link.wait_for_changes():
            try:
                listing = await self.link.list()
            except UnavailableError:
                self.known = {}
            else:
                self.known = {each.name: str(each.files) for each in listing.skills}
            self._more.set()
            self._more = anyio.Event()

    async def until(self, *names: str, other_than: dict[str, str] | None = None) -> None:
        with anyio.fail_after(PATIENCE):
            while set(self.known) != set(names) or self.known == other_than:
                await self._more.wait()


async def test_added_and_removed_skills_are_noticed(mode: str) -> None:
    async with followed(mode) as (source, _, ear):
        await ear.until("one")
        source.put(skill("two"))
        await ear.until("one", "two")
        source.remove("one")
        await ear.until("two")


async def test_changed_skill_contents_are_noticed(mode: str) -> None:
    async with followed(mode) as (source, _, ear):
        source.put(skill("two"))
        await ear.until("one", "two")
        for content in (b"b", b"c"):
            before = ear.known
            source.put(skill("one", files={"refs/a.md": content}))
            await ear.until("one", "two", other_than=before)


async def test_changes_are_noticed_again_after_a_reconnect(mode: str) -> None:
    async with followed(mode) as (source, _, ear):
        await ear.until("one")
        ear.wire.up = False
        ear.wire.cut()
        await ear.until()
        source.put(skill("two"))
        ear.wire.up = True
        await ear.until("one", "two")
        source.remove("one")
        await ear.until("two")


async def test_server_without_notifications_is_not_polled_repeatedly(mode: str) -> None:
    script = scripted()
    wire = Wire(script.server(), mode)
    async with wire.link() as link, anyio.create_task_group() as tasks:
        tasks.start_soon(Ear(link, wire).listen)
        await link.list()
        await anyio.wait_all_tasks_blocked()
        assert listings(script) <= 2
        tasks.cancel_scope.cancel()


SERVER = """
import pathlib, os, sys
from skillwire import Skill
from skillwire import SkillServer
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
server = SkillServer("s").add(Skill("x", "---\\nname: x\\ndescription: X.\\n---\\n"))
server.run()
"""


async def test_killed_program_is_restarted_and_no_process_remains(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER, "utf-8")
    pid = tmp_path / "pid"
    target = Target("program", command=(sys.executable, str(tmp_path / "server.py"), str(pid)))
    pids: list[int] = []
    async with ServerLink(target) as link:
        for _ in range(2):
            assert [each.name for each in (await link.list()).skills] == ["x"]
            pids.append(int(pid.read_text()))
            os.kill(pids[-1], signal.SIGKILL)
        await link.list()
        pids.append(int(pid.read_text()))
    assert len(set(pids)) == 3
    for each in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(each, 0)


@pytest.mark.parametrize(("version", "asked_meanwhile"), [("legacy", 0), ("auto", 1)])
async def test_restarted_web_server_is_reconnected(
    tmp_path: Path, version: str, asked_meanwhile: int
) -> None:
    write_skill(tmp_path, "x")
    server = HttpServer(tmp_path, "--no-config", "--http", "127.0.0.1:0")
    port = server.base.rpartition(":")[2]
    target = Target("web", url=server.url)
    async with ServerLink(target, connect=partial(connected, target, version)) as link:
        assert [each.name for each in (await link.list()).skills] == ["x"]
        await anyio.to_thread.run_sync(server.stop)
        for _ in range(asked_meanwhile):
            with pytest.raises(UnavailableError):
                await link.list()
        write_skill(tmp_path, "y")
        server = await anyio.to_thread.run_sync(
            lambda: HttpServer(tmp_path, "--no-config", "--http", f"127.0.0.1:{port}")
        )
        try:
            assert len((await link.list()).skills) == 2
            assert await link.read("skill://y/SKILL.md") == (tmp_path / "y/SKILL.md").read_bytes()
        finally:
            await anyio.to_thread.run_sync(server.stop)
