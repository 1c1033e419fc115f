"""Clients that show the server's token in their registration: Node keeps no cookies and sends no headers."""

import json
from contextlib import AsyncExitStack
from typing import Any

import anyio
import httpx2
import pytest
from starlette.applications import Starlette
from websockets.asyncio.client import connect

from skillwire.drive import Auth, ClientInfo, DriveLimits, Hooks, LiveSkills
from skillwire.drive import endpoints as loop
from skillwire.drive.http import drive_routes
from skillwire.server.http.connections import HttpLimits
from tests.support.drive import Drive, drive_server, ending, program, registration, skills
from tests.support.peers import PATIENCE

pytestmark = pytest.mark.anyio

TOKEN = "correct-horse-battery-staple"
PROVEN = registration("app", skills("/a/skill.md"), auth={"token": TOKEN, "metadata": {"role": "op"}})
NO_HEADERS: dict[str, str] = {}


def stranger(drive: Drive) -> httpx2.AsyncClient:
    """Return an HTTP client that knows no token."""
    return httpx2.AsyncClient(base_url=drive.base, trust_env=False, timeout=PATIENCE)


async def begin(http: httpx2.AsyncClient) -> dict[str, str]:
    """Begin a session on the HTTP loop; return the header that names it."""
    begun = await http.post("/mdp/http-loop/connect", json={})
    return {"x-mdp-session-id": begun.json()["sessionId"]}


class Remembering(Hooks):
    """Remembers what it was told of who came."""

    def __init__(self) -> None:
        self.came: list[Auth | None] = []

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        self.came += [auth, transport_auth]


async def test_a_registration_with_the_token_proves_a_socket() -> None:
    hooks = Remembering()
    async with (
        drive_server(token=TOKEN, hooks=hooks) as drive,
        program(drive, PROVEN, additional_headers=NO_HEADERS) as client,
    ):
        assert (await drive.get("/skills/app/a")).text == "# /a/skill.md"
        assert drive.hub.clients[0].session.auth_source == "message"
        assert hooks.came == [Auth(metadata={"role": "op"}), None]  # without the token
        await client.say(registration("moved", []))  # proven once is proven
        await drive.until_online("moved")


async def test_a_registration_with_the_token_authenticates_a_loop_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "UNAUTHENTICATED_WAIT_MS", 50)
    async with drive_server(token=TOKEN) as drive, stranger(drive) as http:
        session = await begin(http)
        # The reference client polls before it registers; until then it does not hold a connection for long.
        poll = await http.get("/mdp/http-loop/poll?waitMs=60000", headers=session)
        assert poll.status_code == 204
        sent = await http.post("/mdp/http-loop/send", json={"message": PROVEN}, headers=session)
        assert sent.status_code == 202
        assert drive.hub.clients[0].session.auth_source == "message"
        assert (await http.get("/skills/app/a", headers=session)).status_code == 401


@pytest.mark.parametrize(
    "message",
    [
        registration("app", []),
        registration("app", [], auth={"token": "guess"}),
        registration("app", [], auth={"token": [TOKEN]}),
        registration("app", [], auth={"headers": {"authorization": f"Bearer {TOKEN}"}}),
        registration("app", [], token=TOKEN),
        {"type": "ping", "timestamp": 1, "auth": {"token": TOKEN}},
        {"type": "updateClientCatalog", "clientId": "other", "paths": []},
        {"type": "nonsense"},
        [],
    ],
    ids=str,
)
async def test_client_without_token_may_send_one_message(message: Any) -> None:
    async with drive_server(token=TOKEN) as drive:
        async with connect(drive.socket, proxy=None) as connection:
            await connection.send(json.dumps(message))
            code, reason = await ending(connection)
            assert (code, "this server requires its token" in reason) == (1008, True)
        async with stranger(drive) as http:
            session = await begin(http)
            for expected in (401, 404):
                sent = await http.post("/mdp/http-loop/send", json={"message": message}, headers=session)
                assert sent.status_code == expected
        assert drive.hub.clients == ()


async def test_invalid_registration_with_the_token_ends_the_session() -> None:
    """A token that is right makes a wrong registration no better."""
    async with drive_server(token=TOKEN) as drive, connect(drive.socket, proxy=None) as connection:
        await connection.send(json.dumps(registration("mcp", [], auth={"token": TOKEN})))
        code, reason = await ending(connection)
        assert (code, "another route" in reason) == (1008, True)


async def test_unauthenticated_clients_displace_only_each_other() -> None:
    limits = DriveLimits(sessions=4, unauthenticated=2)
    async with drive_server(token=TOKEN, limits=limits) as drive, AsyncExitStack() as stack:
        for at in range(2):
            await stack.enter_async_context(program(drive, registration(f"own-{at}", [])))
        idle = [await stack.enter_async_context(connect(drive.socket, proxy=None)) for _ in range(3)]
        assert (await ending(idle[0]))[0] == 1013
        await stack.enter_async_context(program(drive, registration("own-2", [])))  # it shows the token
        assert (await ending(idle[1]))[0] == 1013
        await idle[2].send(json.dumps(PROVEN))
        await drive.until_online("own-0", "own-1", "own-2", "app")


async def test_silent_client_is_disconnected() -> None:
    limits = DriveLimits(register_seconds=0.3)
    async with (
        drive_server(token=TOKEN, limits=limits) as drive,
        connect(drive.socket, proxy=None) as connection,
    ):
        assert (await ending(connection))[0] == 1000


async def test_headers_sent_while_registering_become_auth_of_the_connection() -> None:
    async with drive_server(token=TOKEN) as drive:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        headers = {"x-mdp-session-id": session, "x-mdp-auth-tenant": "demo"}
        await drive.http.post("/mdp/http-loop/send", json={"message": PROVEN}, headers=headers)
        (online,) = drive.hub.clients
        assert online.session.auth_source == "transport+message"
        assert online.connection.auth is not None
        assert online.connection.auth.headers == {"x-mdp-auth-tenant": "demo"}


HANDSHAKE = (
    "GET / HTTP/1.1\r\nhost: {}\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def test_unauthenticated_sockets_do_not_block_other_clients() -> None:
    limits, http_limits = DriveLimits(sessions=4, unauthenticated=2), HttpLimits(connections=4)
    async with (
        drive_server(token=TOKEN, limits=limits, http_limits=http_limits) as drive,
        AsyncExitStack() as stack,
    ):
        host, _, port = drive.authority.rpartition(":")
        for _ in range(40):
            stream = await stack.enter_async_context(await anyio.connect_tcp(host, int(port)))
            await stream.send(HANDSHAKE.format(drive.authority).encode())
            with anyio.fail_after(PATIENCE):
                assert b" 101 " in await stream.receive()  # and from now on it reads and says nothing
        assert (await drive.get("/mdp/meta")).status_code == 200
        async with program(drive, registration("own", [])):
            assert [each.info.id for each in drive.hub.clients] == ["own"]


async def test_a_session_without_the_token_holds_one_poll() -> None:
    statuses: list[int] = []
    async with (
        drive_server(token=TOKEN) as drive,
        stranger(drive) as http,
        anyio.create_task_group() as tasks,
    ):
        session = await begin(http)

        async def poll() -> None:
            statuses.append((await http.get("/mdp/http-loop/poll", headers=session)).status_code)

        for _ in range(20):
            tasks.start_soon(poll)
    assert statuses == [204] * 20


async def test_clients_without_a_token_do_not_displace_remembered_endings() -> None:
    """A program of the loop learns why its session ended, however many strangers come and go."""
    limits = DriveLimits(sessions=2, unauthenticated=2)
    async with drive_server(token=TOKEN, limits=limits) as drive, stranger(drive) as http:
        own = await begin(drive.http)
        first = {"message": registration("app", [])}
        assert (await drive.http.post("/mdp/http-loop/send", json=first, headers=own)).status_code == 202
        async with program(drive, registration("app", [])):
            for _ in range(10):
                await begin(http)
            polled = await http.get("/mdp/http-loop/poll", headers=own)
            assert (polled.status_code, polled.json()["code"]) == (404, 4000)


async def test_a_large_body_cannot_begin_a_session() -> None:
    async with drive_server(token=TOKEN) as drive, stranger(drive) as http:
        refused = await http.post("/mdp/http-loop/connect", json={"x": "x" * 5000})
        assert refused.status_code == 413


async def test_the_routes_check_the_token_without_an_outer_guard() -> None:
    """The routes check the token themselves, without an outer guard."""
    live = LiveSkills()
    app = Starlette(routes=list(drive_routes(live.hub, TOKEN).routes))
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        for headers, status in (
            ({}, 401),
            ({"authorization": "Bearer guess"}, 401),
            ({"authorization": f"Basic {TOKEN}"}, 401),
            ({"authorization": f"bearer {TOKEN}"}, 202),
        ):
            begun = await http.post("/mdp/http-loop/connect", headers=headers)
            session = {"x-mdp-session-id": begun.json()["sessionId"]}
            body = {"message": registration("app", [])}
            assert (await http.post("/mdp/http-loop/send", json=body, headers=session)).status_code == status


async def test_a_client_without_cookies_connects_like_the_reference_client() -> None:
    """On a socket it posts to `/mdp/auth` first. Then it registers with the same `auth`."""
    auth = {"token": TOKEN, "metadata": {"role": "op"}}
    async with drive_server(token=TOKEN) as drive, stranger(drive) as http:
        introduced = await http.post("/mdp/auth", json={"auth": auth})
        assert introduced.status_code == 204
        message = registration("node", skills("/a/skill.md"), auth=auth)
        async with program(drive, message, additional_headers=NO_HEADERS):
            assert (await drive.get("/skills/node/a")).status_code == 200
        http.cookies.clear()
        session = await begin(http)
        async with anyio.create_task_group() as tasks:

            async def answer_one_call() -> None:
                polled = await http.get("/mdp/http-loop/poll?waitMs=25000", headers=session)
                while polled.status_code == 204:
                    polled = await http.get("/mdp/http-loop/poll?waitMs=25000", headers=session)
                call = polled.json()["message"]
                result = {
                    "type": "callClientResult",
                    "requestId": call["requestId"],
                    "ok": True,
                    "data": "# A",
                }
                await http.post("/mdp/http-loop/send", json={"message": result}, headers=session)

            tasks.start_soon(answer_one_call)
            sent = await http.post("/mdp/http-loop/send", json={"message": message}, headers=session)
            assert sent.status_code == 202
            assert (await drive.get("/skills/node/a")).text == "# A"
