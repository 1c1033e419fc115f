"""Values that no program should send and no caller should ask with: they fail alone."""

import base64
import json
import logging
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import ByteSendStream
from mcp import Client
from starlette.datastructures import Headers
from websockets.asyncio.client import connect

from skillwire.drive import DriveLimits, Hooks, Invocation
from skillwire.drive import tools as bridge
from skillwire.drive.errors import UnsendableError
from skillwire.drive.fields import JsonFields, ShapeError
from skillwire.drive.identity import NAME, Tickets
from skillwire.drive.live import restart_on_crash
from skillwire.drive.policy import PathRequest
from skillwire.drive.registration import MAX_ABOUT, MAX_DESCRIPTOR
from skillwire.server.http import websocket_protocol as socket_protocol
from tests.support.drive import Drive, drive_server, ending, program, registration, skills
from tests.support.peers import PATIENCE, HttpServer

pytestmark = pytest.mark.anyio

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def deep(_call: dict[str, Any]) -> dict[str, Any]:
    """Answer with what can be read but not be written."""
    return {"ok": True, "data": nested(300)}


UNDESCRIBED: list[dict[str, Any]] = [{"type": "skill", "path": "/y/skill.md"}]


async def test_answer_nested_too_deep_fails_only_its_call() -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("app", UNDESCRIBED), deep) as client,
        Client(drive.mcp) as host,
    ):
        await client.until_called()
        await drive.until_library(lambda: bool(drive.library.catalog.problems))
        read = await drive.get("/skills/app/y")
        assert (read.status_code, read.json()["error"]["code"]) == (502, "handler_error")
        called: Any = await host.call_tool(
            "callPath", {"clientId": "app", "method": "GET", "path": "/y/skill.md"}
        )
        assert called.is_error
        assert "nested more than 100 deep" in called.structured_content["error"]["message"]
        async with program(drive, registration("other", skills("/a/skill.md"))):
            assert (await drive.get("/skills/other/a")).status_code == 200


async def test_another_message_that_is_nested_too_deep_ends_its_session() -> None:
    async with drive_server() as drive, program(drive, registration("app", [])) as client:
        await client.say({"type": "ping", "timestamp": 1, "more": nested(300)})
        assert await ending(client.connection) == (1008, "the message: nested more than 100 deep")


class Broken(Hooks):
    """Has a bug."""

    async def authorize_invocation(self, invocation: Invocation) -> None:
        raise KeyError(invocation.descriptor.path.text)


async def test_crashing_hook_does_not_end_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with drive_server(hooks=Broken()) as drive, program(drive, registration("app", UNDESCRIBED)):
        await drive.until_library(lambda: bool(drive.library.catalog.problems))
        assert "fetching the description of `/y/skill.md` from `app` failed" in caplog.text
        async with program(drive, registration("other", skills("/a/skill.md"))):
            await drive.until_library(lambda: "skill://other/a/SKILL.md" in drive.library.catalog.entries)


async def test_crashed_work_is_logged_and_restarted(caplog: pytest.LogCaptureFixture) -> None:
    begun = 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun < 3:
            raise RuntimeError("a bug")

    with caplog.at_level(logging.ERROR), anyio.fail_after(PATIENCE):
        await restart_on_crash(work, "the work", pause=0)
    assert begun == 3
    assert caplog.text.count("the work failed and is restarted") == 2


ENDPOINT: list[dict[str, Any]] = [{"type": "endpoint", "method": "POST", "path": "/act"}]


async def test_unsendable_number_is_an_error_for_the_caller() -> None:
    asked = {"clientId": "app", "method": "POST", "path": "/act"}
    async with (
        drive_server() as drive,
        program(drive, registration("app", ENDPOINT)) as client,
        Client(drive.mcp) as host,
    ):
        refused: Any = await host.call_tool("callPath", {**asked, "body": 10**30})
        assert refused.structured_content["error"]["code"] == "bad_request"
        assert client.calls == []
        assert not (await host.call_tool("callPath", asked)).is_error


@pytest.mark.parametrize("body", [nested(300), "x" * 1024 * 1024, "\ud800"], ids=["deep", "large", "half"])
async def test_a_body_that_cannot_be_sent_reaches_no_program(body: Any) -> None:
    async with drive_server() as drive, program(drive, registration("app", ENDPOINT)) as client:
        with pytest.raises(UnsendableError) as caught:
            await drive.hub.call("app", PathRequest("POST", "/act", body=body))
        assert caught.value.code == "bad_request"
        assert await drive.hub.call("app", PathRequest("POST", "/act")) == "# /act"
        assert len(client.calls) == 1


async def test_finished_call_leaves_the_queue() -> None:
    """A program on the loop that fetches nothing keeps no message in memory for it."""
    async with drive_server(limits=DriveLimits(answer_seconds=0.05)) as drive:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        headers = {"x-mdp-session-id": session}
        message = registration("app", skills("/a/skill.md"))
        await drive.http.post("/mdp/http-loop/send", json={"message": message}, headers=headers)
        assert (await drive.get("/skills/app/a")).status_code == 504
        (online,) = drive.hub.clients
        assert online.session.outbox.held == 0
        assert (await drive.get("/mdp/http-loop/poll?waitMs=0", headers=headers)).status_code == 204


async def test_messages_that_wait_are_bounded_in_bytes() -> None:
    limits = DriveLimits(waiting_bytes=1000)
    async with drive_server(limits=limits) as drive:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        headers = {"x-mdp-session-id": session}
        message = registration("app", skills("/a/skill.md"))
        await drive.http.post("/mdp/http-loop/send", json={"message": message}, headers=headers)
        answer = await drive.get(f"/skills/app/a?q={'x' * 1000}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_ready")


async def _registered_on_the_loop(drive: Drive, *names: str) -> None:
    """Register programs that never fetch anything."""
    for name in names:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        message = registration(name, [{"type": "endpoint", "path": "/a", "method": "POST"}])
        headers = {"x-mdp-session-id": session}
        sent = await drive.http.post("/mdp/http-loop/send", json={"message": message}, headers=headers)
        assert sent.status_code == 202


async def test_messages_that_wait_for_all_programs_are_bounded_together() -> None:
    limits = DriveLimits(total_waiting_bytes=5000, answer_seconds=0.1)
    asked = {"method": "POST", "path": "/a", "body": "x" * 2000}
    async with drive_server(limits=limits) as drive, Client(drive.mcp) as host:
        await _registered_on_the_loop(drive, "one", "two", "three")
        for _ in range(2):  # what nobody waits for any more takes no room
            result: Any = (await host.call_tool("callPaths", asked)).structured_content
            codes = [each["error"]["code"] for each in result["results"]]
            assert sorted(codes) == ["not_ready", "timeout", "timeout"]


async def test_one_call_cannot_send_a_large_body_to_many_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "MAX_SENT", 5000)
    asked = {"method": "POST", "path": "/a", "body": "x" * 2000}
    async with drive_server(limits=DriveLimits(answer_seconds=0.1)) as drive, Client(drive.mcp) as host:
        await _registered_on_the_loop(drive, "one", "two", "three")
        result = await host.call_tool("callPaths", asked)
        assert result.is_error
        assert "call fewer with `clientIds`" in str(result.structured_content)
        some = await host.call_tool("callPaths", {**asked, "clientIds": ["one", "two"]})
        assert not some.is_error


async def test_a_wait_of_thousands_of_digits_is_no_error() -> None:
    async with drive_server() as drive:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        headers = {"x-mdp-session-id": session}
        ping = {"message": {"type": "ping", "timestamp": 1}}
        await drive.http.post("/mdp/http-loop/send", json=ping, headers=headers)
        answer = await drive.get(f"/mdp/http-loop/poll?waitMs={'9' * 5000}", headers=headers)
        assert answer.json() == {"message": {"type": "pong", "timestamp": 1}}


@pytest.mark.parametrize("name", ["name", "description", "version", "platform", "metadata"])
async def test_client_fields_are_limited(name: str) -> None:
    async with drive_server() as drive:
        large: Any = {"x": "x" * MAX_ABOUT} if name == "metadata" else "x" * MAX_ABOUT
        message = registration("app", [])
        message["client"][name] = large
        async with connect(drive.socket, proxy=None) as connection:
            await connection.send(json.dumps(message))
            code, reason = await ending(connection)
        assert (code, reason.startswith(f"client.{name}: has 4,")) == (1008, True)


async def test_path_descriptors_are_limited() -> None:
    async with drive_server() as drive, program(drive, registration("app", [])) as client:
        paths = skills("/a/skill.md", inputSchema={"x": "x" * MAX_DESCRIPTOR})
        await client.say({"type": "updateClientCatalog", "clientId": "app", "paths": paths})
        code, reason = await ending(client.connection)
        assert (code, reason.startswith("paths[0].path: `/a/skill.md` has 8,")) == (1008, True)


async def test_all_registrations_together_are_limited() -> None:
    about = {"type": "skill", "path": "/a/skill.md", "description": "x" * 500}
    async with drive_server(limits=DriveLimits(total_bytes=18_000)) as drive:
        for _ in range(3):  # what is gone counts no more, and what comes again counts once
            async with program(drive, registration("one", [about])) as one:
                await one.say(registration("one", [about]))
                async with connect(drive.socket, proxy=None) as connection:
                    await connection.send(json.dumps(registration("two", [about])))
                    code, reason = await ending(connection)
                assert (code, reason) == (
                    1008,
                    "all registrations together may have at most 18,000 bytes",
                )
            await drive.until_online()


async def test_lists_of_programs_and_paths_show_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "MAX_ANSWERS", 600)
    paths = skills(*(f"/s{at}/skill.md" for at in range(20)))
    async with (
        drive_server() as drive,
        program(drive, registration("app", paths)),
        program(drive, registration("small", [])),
        Client(drive.mcp) as host,
    ):
        found: Any = (await host.call_tool("listPaths", {})).structured_content
        assert 0 < len(found["paths"]) < 20
        assert found["leftOut"].startswith(f"{20 - len(found['paths'])} more; use `clientId`")
        found = (await host.call_tool("listClients", {})).structured_content
        assert (found["clients"], found["leftOut"]) == ([], "2 more; narrow the list with `search`")


async def test_session_without_registration_ends() -> None:
    limits = DriveLimits(sessions=2, register_seconds=0.1)
    async with (
        drive_server(limits=limits) as drive,
        program(drive, registration("app", skills("/a/skill.md"))) as client,
        connect(drive.socket, proxy=None) as idle,
    ):
        assert await ending(idle) == (1000, "no program has registered on this session")
        async with program(drive, registration("other", [])):
            assert (await drive.get("/skills/app/a")).status_code == 200
            assert client.connection.close_code is None


async def test_auth_nested_too_deep_is_a_bad_request() -> None:
    async with drive_server() as drive:
        body = json.dumps({"auth": {"metadata": {"x": nested(500)}}})
        answer = await drive.http.post("/mdp/auth", content=body)
        assert (answer.status_code, answer.json()) == (
            400,
            {"error": "the body is nested more than 100 deep"},
        )


@pytest.mark.parametrize("neighbour", ["odd name=1", "a[]=1", "=", "a", '{"b":1}=c', "é=é"])
def test_invalid_cookie_does_not_hide_the_ticket(neighbour: str) -> None:
    tickets = Tickets()
    for shape in ("{neighbour}; {ours}", "{ours}; {neighbour}", "mdp_auth=forged; {ours};"):
        ours = f"{NAME}={tickets.issue(b'{}', Headers(), has_token=False)}"
        line = shape.format(neighbour=neighbour, ours=ours)
        assert tickets.take(Headers(raw=[(b"cookie", line.encode("latin-1"))])) is not None


def test_a_field_without_a_name_is_checked_like_any_other() -> None:
    with pytest.raises(ShapeError, match="must be text"):
        JsonFields.of({"headers": {"": 1}}).texts_or_none("headers")
    with pytest.raises(ShapeError, match="unknown field"):
        JsonFields.of({"": 1}).reject_unknown(["path"])


async def flood(stream: ByteSendStream, content: bytes) -> None:
    """Send it again and again."""
    while True:
        await stream.send(content)


async def test_program_that_pings_and_never_reads_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_protocol, "MAX_UNREAD", 64 * 1024)
    ping = b"\x89\xfd" + bytes(4) + bytes(125)
    async with drive_server() as drive:
        host, _, port = drive.authority.partition(":")
        async with await anyio.connect_tcp(host, int(port)) as stream:
            asked = (f"{name}: {value}\r\n" for name, value in HANDSHAKE.items())
            await stream.send(f"GET / HTTP/1.1\r\nHost: {drive.authority}\r\n{''.join(asked)}\r\n".encode())
            assert b" 101 " in await stream.receive()
            with anyio.fail_after(PATIENCE), pytest.raises(anyio.BrokenResourceError):
                await flood(stream, ping * 1000)
        async with program(drive, registration("app", [])):
            assert len(drive.hub.clients) == 1


async def test_message_in_too_many_frames_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_protocol, "MAX_FRAMES", 10)
    begin, further = b"\x01\x80" + bytes(4), b"\x00\x81" + bytes(4) + b" "
    async with drive_server() as drive:
        host, _, port = drive.authority.partition(":")
        async with await anyio.connect_tcp(host, int(port)) as stream:
            asked = (f"{name}: {value}\r\n" for name, value in HANDSHAKE.items())
            await stream.send(f"GET / HTTP/1.1\r\nHost: {drive.authority}\r\n{''.join(asked)}\r\n".encode())
            assert b" 101 " in await stream.receive()
            await stream.send(begin + further * 20)
            with anyio.fail_after(PATIENCE), pytest.raises((anyio.BrokenResourceError, anyio.EndOfStream)):
                await flood(stream, further)
        async with program(drive, registration("app", [])):
            assert len(drive.hub.clients) == 1


async def test_pings_use_up_no_memory_budget() -> None:
    environment = {**os.environ, "SKILLWIRE_HTTP_BUFFERED_MB": "1"}
    with HttpServer("--http", "0", "--drive", "--no-config", env=environment) as server:
        socket = server.base.replace("http", "ws")
        async with connect(socket, proxy=None) as connection:
            await connection.send(json.dumps(registration("app", [])))
            for _ in range(20_000):  # 2.6 MB
                await connection.ping(os.urandom(125))
            with anyio.fail_after(PATIENCE):
                await (await connection.ping())


EMPTY: list[Any] = [{}] * 350_000
"""About a mebibyte as JSON, and 25 times as much in memory."""


async def test_a_message_with_too_many_values_is_refused() -> None:
    async with drive_server() as drive:
        message = registration("app", [])
        message["client"]["metadata"] = {"x": EMPTY}
        sent = json.dumps(message, separators=(",", ":"))
        assert len(sent) < drive.hub.limits.body + 200_000
        sent = sent.replace("{},", "", 2_000)[: drive.hub.limits.body]
        async with connect(drive.socket, proxy=None) as connection:
            await connection.send(sent)
            code, reason = await ending(connection)
        assert (code, "more than 100,000 values" in reason) == (1008, True)
        body = json.dumps({"auth": {"metadata": {"x": EMPTY[:300_000]}}}, separators=(",", ":"))
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        for path in ("/mdp/auth", "/mdp/http-loop/send"):
            answer = await drive.http.post(path, content=body, headers={"x-mdp-session-id": session})
            assert (answer.status_code, "values" in answer.json()["error"]) == (413, True), path
        answer = await drive.http.post("/mdp/http-loop/connect", content=body)
        assert (answer.status_code, answer.json()["error"]) == (413, "a body may have at most 4,096 bytes")


def resident(process: int) -> int:
    """Return the bytes of memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf(
        "SC_PAGE_SIZE"
    )


async def test_registration_size_estimate_matches_memory() -> None:
    empty: Any = {"x": EMPTY[:1_200]}
    paths = [
        {"type": "endpoint", "method": "GET", "path": f"/s{at}", "inputSchema": empty} for at in range(39)
    ]
    with HttpServer("--http", "0", "--drive", "--no-config") as server:
        before = resident(server.process.pid)
        async with AsyncExitStack() as stack:
            for at in range(80):
                socket = server.base.replace("http", "ws")
                connection = await stack.enter_async_context(connect(socket, proxy=None))
                await connection.send(json.dumps(registration(f"app-{at}", paths), separators=(",", ":")))
                await connection.send(json.dumps({"type": "ping", "timestamp": at}))
                with anyio.fail_after(PATIENCE):
                    assert json.loads(await connection.recv())["type"] == "pong"  # it is registered
            # 12 MB of JSON; parsed, it would be 270 MB.
            assert resident(server.process.pid) - before < 100 * 1024 * 1024
