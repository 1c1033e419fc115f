"""Everything that was recorded with the reference, replayed against this server: the same meaning.

Where it is different on purpose, `DIFFERENT` says so, and the documentation lists it.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from websockets.asyncio.client import connect

from skillwire.drive import Auth, ClientInfo, DeniedError, DriveLimits, Hooks, Invocation
from tests.support.drive import Drive, Program, drive_server, ending, program, registration
from tests.support.recorded import frames, recorded, recorded_answers, registrations

pytestmark = pytest.mark.anyio

DIFFERENT: dict[str, int] = {
    "GET /skills/client-01/workspace/review/skill.md": 200,  # a path that spells out its leaf works
    "GET /skills/client-01/upper": 200,  # a `SKILL.md` leaf can be read
    "HEAD /skills/client-01/workspace/review": 200,
    "GET /skills/client-02/workspace/slow": 504,
    "GET /skills/client-03/hang": 503,
}


@pytest.fixture
async def drive() -> AsyncGenerator[Drive]:
    async with drive_server(limits=DriveLimits(answer_seconds=1.0)) as server:
        yield server


async def test_recorded_reads_mean_the_same(drive: Drive) -> None:
    first, _, third, second = registrations()
    async with anyio.create_task_group() as tasks, AsyncExitStack() as stack:
        clients = {
            each["client"]["id"]: await stack.enter_async_context(program(drive, each, recorded_answers()))
            for each in (first, second, third)
        }
        for record in recorded("routes"):
            method, path = record["request"].split(" ")
            if path.startswith("/mdp/") or "Access-Control-Request-Headers" in record["requestHeaders"]:
                continue  # the transports and pages of other origins have tests of their own
            headers = {name: value for name, value in record["requestHeaders"].items() if name != "Origin"}
            if path.startswith("/skills/client-03/"):
                tasks.start_soon(_vanish_when_asked, clients["client-03"])
            answer = await drive.http.request(method, path, headers=headers)
            assert answer.status_code == DIFFERENT.get(record["request"], record["status"]), record
            if record["request"] not in DIFFERENT and record["status"] not in {404, 405}:
                assert answer.headers.get("content-type") == record["contentType"], record
                assert answer.text == record["body"], record


async def _vanish_when_asked(client: Program) -> None:
    await client.until_called()
    client.connection.transport.abort()


async def test_a_recorded_http_call_reaches_the_client_without_private_headers(
    drive: Drive,
) -> None:
    recorded_call = next(
        each for each in frames("server->client") if each.get("query") == {"topic": "second", "b": "1"}
    )
    async with program(drive, registrations()[0], recorded_answers()) as client:
        sent = {"X-Review-Scope": "full", "Authorization": "Bearer abc"}
        await drive.get("/client-01/skills/workspace/review/files?topic=mdp&topic=second&b=1", headers=sent)
        (call,) = client.calls
    same = ("type", "clientId", "method", "path", "params", "query")
    assert {name: call[name] for name in same} == {name: recorded_call[name] for name in same}
    assert call["headers"]["x-review-scope"] == "full"
    assert not {"authorization", "host", "connection", "cookie"} & call["headers"].keys()
    assert "auth" not in call


@pytest.mark.parametrize(
    "record",
    [each for each in recorded("websocket") if each["dir"] == "violation"],
    ids=lambda record: record["label"],
)
async def test_recorded_violations_end_as_they_did(drive: Drive, record: dict[str, Any]) -> None:
    expected = record["result"]
    if record["label"] == "duplicate paths accepted?":
        expected = {"code": 1008}  # different on purpose
    async with connect(drive.socket, proxy=None) as connection:
        await connection.send(b"\0" if record["sent"] == "<binary>" else record["sent"])
        if expected == "still open":
            with anyio.fail_after(30):
                assert json.loads(await connection.recv())["type"] == "pong"
            return
        code, reason = await ending(connection)
    assert code == expected["code"]
    assert reason


async def test_the_second_client_with_an_id_replaces_the_first(drive: Drive) -> None:
    first, replacement = registrations()[:2]
    async with program(drive, first) as old, program(drive, replacement):
        assert await ending(old.connection) == (4000, "Replaced by newer client session")
        (online,) = drive.hub.clients
        assert online.info.name == "Replacement"
        assert (await drive.get("/skills/client-01/workspace/review")).status_code == 404
        assert (await drive.get("/skills/client-01/only")).status_code == 200


async def test_the_recorded_update_replaces_all_paths(drive: Drive) -> None:
    update = next(each for each in frames("client->server") if each["type"] == "updateClientCatalog")
    async with program(drive, registrations()[0]) as client:
        await client.say(update)
        await drive.until(lambda: drive.hub.find("client-01", "GET", "/workspace/new/skill.md") is not None)
        assert drive.hub.find("client-01", "GET", "/workspace/slow/skill.md") is None
        await client.say({"type": "unregisterClient", "clientId": "client-01"})
        await drive.until_online()


async def test_the_recorded_http_loop_means_the_same(drive: Drive) -> None:
    """Say what the recorded client said, read what was read, and get what it got."""
    session = ""
    reads = {
        "/workspace/review/files/skill.md": "/skills/client-02/workspace/review/files?topic=loop",
        "/workspace/boom/skill.md": "/skills/client-02/workspace/boom",
    }
    async with anyio.create_task_group() as tasks:
        records = recorded("http-loop")
        for at, record in enumerate(records):
            if record["dir"] != "client->server" or record["url"].startswith("/mdp/http-loop/poll"):
                continue
            expected = next(
                each for each in records[at + 1 :] if each.get("for") == f"{record['method']} {record['url']}"
            )
            body: dict[str, Any] = record.get("body") or {}
            message: dict[str, Any] = body.get("message", {})
            if message.get("type") == "callClientResult":
                path = next(
                    each["path"]
                    for each in frames("server->client")
                    if each["requestId"] == message["requestId"]
                )
                if path not in reads or message["data" if message["ok"] else "error"] == "late":
                    continue
                read_done: list[int] = []
                tasks.start_soon(_read, drive, reads.pop(path), read_done)
                polled = await drive.get(f"/mdp/http-loop/poll?sessionId={session}&waitMs=25000")
                assert polled.status_code == 200
                call = polled.json()["message"]
                assert (call["type"], call["path"], call["clientId"]) == ("callClient", path, "client-02")
                body = {"message": {**message, "requestId": call["requestId"]}}
            headers = {"x-mdp-session-id": session} if record.get("session-header") else {}
            answer = await drive.http.request(record["method"], record["url"], json=body, headers=headers)
            assert answer.status_code == expected["status"], record
            if record["url"].endswith("/connect"):
                session = answer.json()["sessionId"]
            elif expected["body"]:
                assert answer.json() == expected["body"]
    assert reads == {}
    assert drive.hub.clients == ()
    assert (await drive.get(f"/mdp/http-loop/poll?sessionId={session}")).status_code == 404


async def _read(drive: Drive, path: str, done: list[int]) -> None:
    done.append((await drive.get(path)).status_code)


async def test_meta_is_as_recorded_except_for_unsupported_features(drive: Drive) -> None:
    record = json.loads(
        next(each["body"] for each in recorded("routes") if each["request"] == "GET /mdp/meta")
    )
    meta = (await drive.get("/mdp/meta")).json()
    theirs = json.loads(json.dumps(record).replace(record["serverId"], drive.authority))
    del theirs["endpoints"]["cluster"], theirs["cluster"]
    theirs["features"] = {"upstreamProxy": False, "clusterControl": False}
    assert meta == theirs


class Denying(Hooks):
    """The hooks of the recorded server."""

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        if client.id == "denied":
            raise DeniedError("registration denied")

    async def authorize_invocation(self, invocation: Invocation) -> None:
        if invocation.descriptor.path.text == "/secret/skill.md":
            raise DeniedError("invocation denied")


async def test_the_recorded_life_of_sessions_means_the_same() -> None:
    records = recorded("lifecycle")
    lines = {next(iter(each)): each for each in records}
    live = next(each["f"] for each in records if each.get("dir") == "c->s live")
    limits = DriveLimits(ping_seconds=0.3, silence_seconds=1.0)
    async with drive_server(limits=limits, hooks=Denying()) as drive, program(drive, live) as client:
        denied = registration("denied", [])
        async with connect(drive.socket, proxy=None) as connection:
            await connection.send(json.dumps({**denied, "auth": {"token": "msg"}}))
            code, reason = await ending(connection)
            assert {"code": code, "reason": reason} == lines["deniedWs"]["deniedWs"]

        session = await connected(drive)
        answer = await send(drive, session, denied)
        assert (answer.status_code, answer.json()) == (
            400,
            json.loads(lines["deniedLoop"]["deniedLoop"]["body"]),
        )
        assert (await send(drive, session, denied)).status_code == 404

        session = await connected(drive)
        refused = await send(drive, session, {"type": "hello"})
        assert refused.status_code == 400
        assert refused.json()["error"].startswith("Invalid MDP client message")
        assert (await send(drive, session, {"type": "ping", "timestamp": 7})).status_code == 202
        polled = await drive.get(f"/mdp/http-loop/poll?sessionId={session}")
        assert polled.json() == {"message": {"type": "pong", "timestamp": 7}}
        assert (await drive.get(f"/mdp/http-loop/poll?sessionId={session}&waitMs=10")).status_code == 204
        garbage = await drive.http.post(
            "/mdp/http-loop/send", content=b"{nope", headers={"x-mdp-session-id": session}
        )
        assert garbage.status_code == 400

        secret = await drive.get("/skills/live/secret")
        assert secret.status_code == lines["invokeDeniedHttp"]["invokeDeniedHttp"]
        assert secret.json()["error"]["message"] == "invocation denied"

        async with program(drive, registration("mute", []), mute=True) as mute:
            code, _ = await ending(mute.connection)
            assert code == lines["mute"]["code"]
        assert [each.info.id for each in drive.hub.clients] == lines["clientsAfter"]["clientsAfter"]
        assert any(each["type"] == "ping" for each in client.heard)


async def test_only_one_of_two_polls_gets_the_message() -> None:
    async with drive_server() as drive:
        session = await connected(drive)
        statuses: list[int] = []

        async def poll() -> None:
            statuses.append(
                (await drive.get(f"/mdp/http-loop/poll?sessionId={session}&waitMs=300")).status_code
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(poll)
            tasks.start_soon(poll)
            await send(drive, session, {"type": "ping", "timestamp": 1})
        (expected,) = (each["doublePoll"] for each in recorded("lifecycle") if "doublePoll" in each)
        assert statuses == expected


async def connected(drive: Drive) -> str:
    return (await drive.http.post("/mdp/http-loop/connect", json={})).json()["sessionId"]


async def send(drive: Drive, session: str, message: dict[str, Any]) -> Any:
    return await drive.http.post(
        "/mdp/http-loop/send", json={"message": message}, headers={"x-mdp-session-id": session}
    )


@pytest.mark.parametrize(
    "record", [each for each in recorded("lifecycle") if "auth" in each and "status" in each], ids=str
)
async def test_the_recorded_auth_endpoint_means_the_same(drive: Drive, record: dict[str, Any]) -> None:
    content = record.get("body", "").encode()
    headers = {"authorization": "Bearer hdr"} if record["auth"] == "POST" and not content else {}
    answer = await drive.http.request(record["auth"], "/mdp/auth", content=content, headers=headers)
    if record["auth"] == "GET":
        assert answer.status_code == 405  # different on purpose: the route is there, the method is not
        return
    assert answer.status_code == record["status"]
    expected = record["setCookie"]
    if expected is None:
        assert "set-cookie" not in answer.headers
        assert answer.json()["error"].startswith(json.loads(record["text"])["error"])
    else:
        value, _, rest = answer.headers["set-cookie"].partition(";")
        # Different on purpose: it is a random ticket for a minute, and other sites cannot have it sent.
        meant = expected.replace("Max-Age=3600", "Max-Age=60").replace("SameSite=Lax", "SameSite=Strict")
        assert rest == meant.partition(";")[2]
        assert (value == "mdp_auth=") is (record["auth"] == "DELETE")
