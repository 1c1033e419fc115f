"""What a reader, a web page or a program that misbehaves can do to a server with live skills: nothing."""

import base64
import http.client
import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import httpx2
import pytest
from starlette.datastructures import Headers
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from skillwire.drive import Auth, ClientInfo, DriveLimits, Hooks, Invocation
from skillwire.drive.headers import HeaderRule
from skillwire.drive.identity import MAX_CLAIM, MAX_CLAIM_VALUES, TICKET_SECONDS, Tickets
from skillwire.drive.registration import MAX_PATHS, RESERVED_IDS
from skillwire.errors import InvalidValueError
from tests.support.drive import Drive, drive_server, echo, ending, program, registration, silent, skills
from tests.support.peers import PATIENCE

pytestmark = pytest.mark.anyio

TOKEN = "correct-horse-battery-staple"
APP = "https://app.example"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
}


async def raw(
    drive: Drive, path: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """Send exactly this address, which a client library would mend."""

    def ask() -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(drive.authority, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in {"Host": drive.authority, **(headers or {})}.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, b"" if answer.status == 101 else answer.read()
        finally:
            connection.close()

    return await anyio.to_thread.run_sync(ask)


async def refused(drive: Drive, message: Any, **more: Any) -> tuple[int, str]:
    """Return how the connection of a client ends that says this."""
    async with connect(drive.socket, proxy=None, **more) as connection:
        await connection.send(message if isinstance(message, (str, bytes)) else json.dumps(message))
        return await ending(connection)


# Addresses


@pytest.mark.parametrize(
    "path",
    [
        "/skills/app/%",
        "/skills/app/%zz",
        "/skills/app/a%2",
        "/skills/%/a",
        "/skills/app/%ff",
        "/skills/app/a?q=%zz",
        "/skills/app/a?%=1",
        "/app/skills/%c3%28",
    ],
)
async def test_malformed_percent_escape_is_a_bad_request(path: str) -> None:
    async with drive_server() as drive, program(drive, registration("app", skills("/a/skill.md"))) as client:
        status, body = await raw(drive, path)
        assert status == 400
        assert "%" in json.loads(body)["error"] or "UTF-8" in json.loads(body)["error"]
        assert client.calls == []
        assert (await drive.get("/skills/app/a")).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/skills/app/a%2Fb", "/skills/app/..%2f..%2fetc", "/skills/app/../a", "/skills/app//a", "/skills/app/A"],
)
async def test_address_is_split_into_literal_segments(path: str) -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills("/a/b/skill.md"))) as client,
    ):
        assert (await raw(drive, path))[0] == 404
        assert client.calls == []


@pytest.mark.parametrize("path", ["/upper", "/upper/", "/upper/SKILL.md", "/upper/skill.md"])
async def test_skill_is_read_with_either_spelling_of_its_leaf(path: str) -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills("/upper/SKILL.md"))) as client,
    ):
        assert (await drive.get(f"/skills/app{path}")).text == "# /upper/SKILL.md"
        assert [call["path"] for call in client.calls] == ["/upper/SKILL.md"]


@pytest.mark.parametrize("path", ["/skills/app", "/skills/app/", "/skills/app/skill.md", "/app/skills"])
async def test_the_root_of_a_client_can_be_read(path: str) -> None:
    async with drive_server() as drive, program(drive, registration("app", skills("/skill.md"))):
        assert (await drive.get(path)).text == "# /skill.md"


async def test_matching_etag_returns_304() -> None:
    async with drive_server() as drive, program(drive, registration("app", skills("/a/skill.md"))):
        first = await drive.get("/skills/app/a")
        again = await drive.get("/skills/app/a", headers={"if-none-match": f'"x", W/{first.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")
        head = await drive.http.head("/skills/app/a")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["etag"] == first.headers["etag"]
        assert head.headers["content-length"] == first.headers["content-length"]
        options = await drive.http.options("/skills/app/a")
        assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")


async def test_program_text_is_served_in_a_sandbox() -> None:
    page = skills("/a/skill.md", contentType="text/html")
    async with drive_server() as drive, program(drive, registration("app", page)):
        answer = await drive.get("/skills/app/a")
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith("sandbox")
        assert answer.headers["x-content-type-options"] == "nosniff"


# What a client is told of a reader


async def test_program_gets_only_the_allowed_headers() -> None:
    sent = {
        "Accept": "text/markdown",
        "Accept-Language": "de",
        "Content-Type": "text/plain",
        "User-Agent": "reader",
        "X-Review-Scope": "full",
        "Cookie": "session=secret",
        "Authorization": "Bearer secret",
        "Proxy-Authorization": "secret",
        "X-Forwarded-For": "10.0.0.1",
        "X-MDP-Session-Id": "secret",
        "Referer": "http://secret",
    }
    async with drive_server() as drive, program(drive, registration("app", skills("/a/skill.md"))) as client:
        assert (await drive.get("/skills/app/a", headers=sent)).status_code == 200
        (call,) = client.calls
    assert (
        call["headers"].items()
        >= {
            "accept": "text/markdown",
            "accept-language": "de",
            "content-type": "text/plain",
            "user-agent": "reader",
            "x-review-scope": "full",
        }.items()
    )
    assert not {
        name
        for name in call["headers"]
        if not name.startswith(("accept", "content-type", "user-agent", "x-r"))
    }
    assert "secret" not in json.dumps(call)


SECRETS = [
    "X-Auth-Request-Access-Token",
    "X-Auth-Request-User",
    "X-Amzn-Oidc-Data",
    "X-Amzn-Trace-Id",
    "X-API-Key",
    "X-Goog-IAP-JWT-Assertion",
    "X-Goog-Authenticated-User-Email",
    "X-CSRF-Token",
    "X-Client-Secret",
    "X-Session-Id",
    "X-User-Credential",
    "X-Original-Cookie",
    "X-Forwarded-User",
    "X-Forwarded-Access-Token",
    "X-Skillwire-Page",
    "X-Skillwire-Session",
    "X-MDP-Auth-Tenant",
    "Accept-Token",
]


async def test_identity_and_secret_headers_are_not_forwarded() -> None:
    sent = {**dict.fromkeys(SECRETS, "hidden"), "X-Review-Scope": "full", "X-Request-Id": "7"}
    async with drive_server() as drive, program(drive, registration("app", skills("/a/skill.md"))) as client:
        assert (await drive.get("/skills/app/a", headers=sent)).status_code == 200
        (call,) = client.calls
    assert "hidden" not in json.dumps(call)
    assert (call["headers"]["x-review-scope"], call["headers"]["x-request-id"]) == ("full", "7")


async def test_an_operator_may_name_the_headers_that_clients_get() -> None:
    sent = {"X-API-Key": "shared", "X-Review-Scope": "full", "Authorization": "hidden", "Cookie": "hidden"}
    async with (
        drive_server(headers=["X-API-Key", "user-agent"]) as drive,
        program(drive, registration("app", skills("/a/skill.md"))) as client,
    ):
        assert (await drive.get("/skills/app/a", headers=sent)).status_code == 200
        assert client.calls[0]["headers"].keys() == {"x-api-key", "user-agent"}
        assert client.calls[0]["headers"]["x-api-key"] == "shared"


@pytest.mark.parametrize(
    "name",
    ["Cookie", "authorization", "Proxy-Authorization", "x-mdp-session-id", "x-skillwire-page", "a b", ""],
)
def test_credential_headers_cannot_be_allowed(name: str) -> None:
    with pytest.raises(InvalidValueError, match="header"):
        HeaderRule([name])


class Telling(Hooks):
    """Tells clients who reads, because whoever runs the server wants it so."""

    def request_auth(self, headers: Any) -> Auth | None:
        return Auth("Bearer", headers.get("authorization", "").removeprefix("Bearer "))


async def test_a_hook_can_tell_a_client_who_reads() -> None:
    async with (
        drive_server(hooks=Telling()) as drive,
        program(drive, registration("app", skills("/a/skill.md"))) as client,
    ):
        await drive.get("/skills/app/a", headers={"authorization": "Bearer reader"})
        assert client.calls[0]["auth"] == {"scheme": "Bearer", "token": "reader"}
        assert "authorization" not in client.calls[0]["headers"]


# Who may connect


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
async def test_foreign_page_is_refused_on_every_route(headers: dict[str, str], status: int) -> None:
    async with drive_server() as drive, program(drive, registration("app", skills("/a/skill.md"))) as client:
        paths = {
            "/skills/app/a": "GET",
            "/mdp/meta": "GET",
            "/mdp/auth": "POST",
            "/mdp/http-loop/connect": "POST",
        }
        for path, method in paths.items():
            assert (await drive.http.request(method, path, headers=headers)).status_code == status, path
        assert (await raw(drive, "/", headers={**HANDSHAKE, **headers}))[0] == status
        assert (await raw(drive, "/", headers=HANDSHAKE))[0] == 101
        assert client.calls == []
        assert len(drive.hub.clients) == 1


async def test_a_page_on_the_list_may_read_and_connect() -> None:
    async with (
        drive_server(origins=frozenset({APP})) as drive,
        program(drive, registration("app", skills("/a/skill.md")), origin=APP),
    ):
        answer = await drive.get("/skills/app/a", headers={"origin": APP})
        assert answer.headers["access-control-allow-origin"] == APP
        assert answer.headers["access-control-allow-credentials"] == "true"
        asked = {
            "origin": APP,
            "access-control-request-method": "GET",
            "access-control-request-headers": "x-scope",
        }
        preflight = await drive.http.options("/skills/app/a", headers=asked)
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-headers"] == "x-scope"


async def test_every_route_requires_the_token() -> None:
    async with drive_server(token=TOKEN) as drive, program(drive, registration("app", skills("/a/skill.md"))):
        async with httpx2.AsyncClient(base_url=drive.base, trust_env=False) as stranger:
            for path in ("/skills/app/a", "/app/skills/a", "/mdp/meta", "/mdp/http-loop/poll", "/mcp"):
                assert (await stranger.get(path)).status_code == 401, path
            guess = await stranger.post("/mdp/auth", json={"auth": {"token": "guess"}})
            assert (guess.status_code, "set-cookie" in guess.headers) == (401, False)
            wrong = {"authorization": "Bearer guess"}
            begun = await stranger.post("/mdp/http-loop/connect", headers=wrong)
            assert begun.status_code == 401
        with pytest.raises(InvalidStatus) as caught:
            await connect(drive.socket, proxy=None, additional_headers=wrong)
        assert caught.value.response.status_code == 401
        assert not await gets_in(drive)
        assert (await drive.get("/skills/app/a")).status_code == 200


async def ticket(drive: Drive, auth: dict[str, Any] | None = None, origin: str | None = None) -> str:
    """Return the cookie that a page of `origin` gets."""
    headers = {} if origin is None else {"origin": origin}
    async with httpx2.AsyncClient(base_url=drive.base, trust_env=False, timeout=PATIENCE) as browser:
        answer = await browser.post("/mdp/auth", json={"auth": auth or {"token": TOKEN}}, headers=headers)
        assert answer.status_code == 204
        return answer.headers["set-cookie"].partition(";")[0]


async def gets_in(drive: Drive, **headers: str) -> bool:
    """Return whether a client that never says the token may register on a socket."""
    async with connect(drive.socket, proxy=None, additional_headers=headers) as connection:
        await connection.send(json.dumps(registration("stranger", [])))
        await connection.send(json.dumps({"type": "ping", "timestamp": 1}))
        try:
            answer = json.loads(await connection.recv())
        except ConnectionClosed:
            assert connection.close_code == 1008
            assert "this server requires its token" in (connection.close_reason or "")
            return False
        assert answer["type"] == "pong"
        return True


async def test_browser_connects_with_the_ticket_cookie() -> None:
    async with drive_server(token=TOKEN) as drive:
        cookie = await ticket(drive)
        headers = {"authorization": "", "cookie": cookie}
        async with program(drive, registration("app", []), additional_headers=headers):
            (online,) = drive.hub.clients
            assert online.session.auth_source == "transport"


async def test_ticket_cookie_is_opaque_and_only_opens_connections() -> None:
    async with drive_server(token=TOKEN) as drive, program(drive, registration("app", skills("/a/skill.md"))):
        cookie = await ticket(drive)
        value = cookie.partition("=")[2]
        assert TOKEN not in value
        assert TOKEN.encode() not in base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
        ways = {
            "cookie": cookie,
            "authorization": f"Bearer {value}",
            "x-skillwire-session": value,
            "x-mdp-session-id": value,
        }
        paths = {
            "/mcp": "POST",
            "/skills/app/a": "GET",
            "/app/skills/a": "GET",
            "/mdp/meta": "GET",
            "/mdp/http-loop/poll": "GET",
            "/mdp/http-loop/send": "POST",
        }
        async with httpx2.AsyncClient(base_url=drive.base, trust_env=False) as thief:
            for path, method in paths.items():
                for name, each in ways.items():
                    answer = await thief.request(method, path, headers={name: each})
                    assert answer.status_code == 401, (path, name)
        assert await gets_in(drive, cookie=cookie)  # none of this used it up


async def test_ticket_cookie_is_valid_for_one_connection() -> None:
    async with drive_server(token=TOKEN) as drive:
        cookie = await ticket(drive)
        assert await gets_in(drive, cookie=cookie)
        assert not await gets_in(drive, cookie=cookie)
        async with httpx2.AsyncClient(base_url=drive.base, trust_env=False) as thief:
            again = await thief.post("/mdp/http-loop/connect", headers={"cookie": cookie})
            session = {"x-mdp-session-id": again.json()["sessionId"]}
            body = {"message": registration("thief", [])}
            sent = await thief.post("/mdp/http-loop/send", json=body, headers=session)
            assert sent.status_code == 401


async def test_loop_session_id_authorizes_only_its_session() -> None:
    async with drive_server(token=TOKEN) as drive:
        headers = {"cookie": await ticket(drive)}
        async with httpx2.AsyncClient(base_url=drive.base, trust_env=False, timeout=PATIENCE) as http:
            begun = await http.post("/mdp/http-loop/connect", headers=headers)
            session = {"x-mdp-session-id": begun.json()["sessionId"]}
            body = {"message": registration("app", skills("/a/skill.md"))}
            sent = await http.post("/mdp/http-loop/send", json=body, headers=session)
            assert sent.status_code == 202
            await http.post(
                "/mdp/http-loop/send", json={"message": {"type": "ping", "timestamp": 1}}, headers=session
            )
            poll = await http.get(f"/mdp/http-loop/poll?sessionId={session['x-mdp-session-id']}")
            assert poll.status_code == 200
            assert (await http.get("/skills/app/a", headers=session)).status_code == 401
            assert (await http.post("/mdp/http-loop/disconnect", headers=session)).status_code == 204
            assert (await http.get("/mdp/http-loop/poll", headers=session)).status_code == 404
            unknown = {"x-mdp-session-id": "guess"}
            assert (await http.get("/mdp/http-loop/poll", headers=unknown)).status_code == 401


async def test_revoked_ticket_cookie_is_refused() -> None:
    async with drive_server(token=TOKEN) as drive:
        cookie = await ticket(drive)
        async with httpx2.AsyncClient(base_url=drive.base, trust_env=False) as browser:
            gone = await browser.delete("/mdp/auth", headers={"cookie": cookie})
            assert (gone.status_code, gone.headers["set-cookie"].partition(";")[0]) == (204, "mdp_auth=")
        assert not await gets_in(drive, cookie=cookie)


@pytest.mark.parametrize(("got", "used"), [(APP, None), (APP, "http://127.0.0.1:1"), (None, APP)])
async def test_a_cookie_is_for_the_origin_that_got_it(got: str | None, used: str | None) -> None:
    async with drive_server(token=TOKEN, origins=frozenset({APP})) as drive:
        cookie = await ticket(drive, origin=got)
        assert not await gets_in(drive, cookie=cookie, **({} if used is None else {"origin": used}))
        assert await gets_in(drive, cookie=cookie, **({} if got is None else {"origin": got}))


@pytest.mark.parametrize("way", ["cookie", "header"])
async def test_hooks_never_get_the_token_of_the_server(way: str) -> None:
    hooks = Remembering()
    async with drive_server(hooks=hooks, token=TOKEN) as drive:
        claim = {
            "scheme": "Bearer",
            "token": TOKEN,
            "headers": {"authorization": f"Bearer {TOKEN}", "x-tenant": "demo"},
            "metadata": {"nested": [{"token": TOKEN}]},
        }
        headers = {"authorization": f"Bearer {TOKEN}", "x-mdp-auth-note": f"it is {TOKEN}"}
        if way == "cookie":
            headers = {"authorization": "", "cookie": await ticket(drive, claim)}
        async with program(drive, registration("app", []), additional_headers=headers):
            ((_, transport),) = hooks.came
            assert TOKEN not in json.dumps(transport.to_json() if transport else None)


async def test_request_with_the_server_token_is_not_forwarded() -> None:
    async with (
        drive_server(hooks=Telling(), token=TOKEN) as drive,
        program(drive, registration("app", skills("/a/skill.md"))) as client,
    ):
        assert (await drive.get("/skills/app/a")).status_code == 200  # the reader sends it in its header
        assert (await drive.get(f"/skills/app/a?t={TOKEN}")).status_code == 400
        assert (await drive.get("/skills/app/a", headers={"x-note": f"a {TOKEN}"})).status_code == 400
        assert TOKEN not in json.dumps(client.calls)


class Watching(Hooks):
    """Remembers what was called."""

    def __init__(self) -> None:
        self.invocations: list[Invocation] = []

    async def authorize_invocation(self, invocation: Invocation) -> None:
        self.invocations.append(invocation)


async def test_hook_does_not_see_call_with_server_token() -> None:
    hooks = Watching()
    async with (
        drive_server(hooks=hooks, token=TOKEN) as drive,
        program(drive, registration("app", skills("/a/skill.md"))),
    ):
        assert (await drive.get("/skills/app/a?t=other")).status_code == 200
        assert (await drive.get(f"/skills/app/a?t={TOKEN}")).status_code == 400
    assert {"t": "other"} in [each.request.query for each in hooks.invocations]
    assert TOKEN not in str([each.request for each in hooks.invocations])


class Remembering(Hooks):
    """Remembers who came."""

    def __init__(self) -> None:
        self.came: list[tuple[Auth | None, Auth | None]] = []

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        self.came.append((auth, transport_auth))


async def test_a_hook_sees_the_auth_of_message_and_connection() -> None:
    hooks = Remembering()
    async with drive_server(hooks=hooks) as drive:
        sealed = await drive.http.post("/mdp/auth", json={"auth": {"metadata": {"role": "op"}}})
        headers = {
            "cookie": sealed.headers["set-cookie"].partition(";")[0],
            "authorization": "Bearer tk",
            "x-mdp-auth-tenant": "demo",
        }
        message = registration("app", [], auth={"token": "msg"})
        async with program(drive, message, additional_headers=headers):
            assert drive.hub.clients[0].session.auth_source == "transport+message"
    own = {"authorization": "Bearer tk", "x-mdp-auth-tenant": "demo"}
    assert hooks.came == [(Auth(token="msg"), Auth("Bearer", "tk", own, {"role": "op"}))]


async def test_unknown_ticket_cookie_is_ignored() -> None:
    hooks = Remembering()
    claim = base64.urlsafe_b64encode(json.dumps({"metadata": {"role": "op"}}).encode()).rstrip(b"=").decode()
    forged = [claim, f"{claim}.", Tickets().issue(b'{"token":"op"}', Headers(), has_token=True), "", "."]
    async with drive_server(hooks=hooks) as drive:
        for at, value in enumerate(forged):
            headers = {"cookie": f"mdp_auth={value}"}
            async with program(drive, registration(f"app-{at}", []), additional_headers=headers):
                pass
    assert hooks.came == [(None, None)] * len(forged)


def test_ticket_cookies_expire_and_are_limited() -> None:
    now = 1_000_000.0
    tickets = Tickets(clock=lambda: now, max_tickets=2)

    def issued() -> Headers:
        return Headers({"cookie": f"mdp_auth={tickets.issue(b'{}', Headers(), has_token=True)}"})

    oldest, late, good = issued(), issued(), issued()
    now += TICKET_SECONDS - 1
    assert tickets.take(oldest) is None
    assert tickets.take(good) is not None
    now += 1
    assert tickets.take(late) is None


@pytest.mark.parametrize(
    "claim",
    [
        {"token": "x" * MAX_CLAIM},
        {"metadata": {"x": "x" * MAX_CLAIM}},
        {"metadata": {"x": [0] * MAX_CLAIM_VALUES}},
    ],
)
async def test_claim_of_a_ticket_is_limited(claim: dict[str, Any]) -> None:
    async with drive_server() as drive:
        answer = await drive.http.post("/mdp/auth", content=json.dumps({"auth": claim}))
        assert (answer.status_code, "set-cookie" in answer.headers) == (400, False)
        large = {"x-mdp-auth-note": "x" * MAX_CLAIM}
        assert (await drive.http.post("/mdp/http-loop/connect", headers=large)).status_code == 431
        assert (await raw(drive, "/", headers={**HANDSHAKE, **large}))[0] == 431


@pytest.mark.parametrize("name", sorted(RESERVED_IDS))
async def test_no_client_takes_the_name_of_a_route(name: str) -> None:
    async with drive_server() as drive:
        code, reason = await refused(drive, registration(name, skills("/a/skill.md")))
        assert (code, "another route" in reason) == (1008, True)
        assert drive.hub.clients == ()


@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/skills/app/a", "/mdp/http-loop/poll", "/ui/"])
async def test_a_socket_on_another_path_is_not_found(path: str) -> None:
    async with drive_server() as drive:
        with pytest.raises(InvalidStatus) as caught:
            await connect(f"{drive.socket}{path}", proxy=None)
        assert caught.value.response.status_code == 404


async def test_a_client_may_connect_on_any_other_path() -> None:
    async with drive_server() as drive, connect(f"{drive.socket}/some/where", proxy=None) as connection:
        await connection.send(json.dumps(registration("app", [])))
        await drive.until_online("app")


# Limits


def test_the_limits_are_those_that_are_documented() -> None:
    limits = DriveLimits()
    assert (limits.body, limits.sessions, MAX_PATHS) == (1024 * 1024, 1000, 1000)
    assert (limits.ping_seconds, limits.silence_seconds, limits.answer_seconds) == (30, 90, 15)


async def test_message_above_the_limit_affects_only_its_sender() -> None:
    async with drive_server() as drive, program(drive, registration("app", skills("/a/skill.md"))):
        size = drive.hub.limits.body
        large = json.dumps({"message": {"type": "ping", "timestamp": 1, "padding": "x" * size}}).encode()
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        for path in ("/mdp/http-loop/send", "/mdp/http-loop/connect", "/mdp/auth"):
            answer = await drive.http.post(path, content=large, headers={"x-mdp-session-id": session})
            assert answer.status_code == 413, path
        assert (await drive.http.post("/mdp/http-loop/send", content=_chunks(large))).status_code == 413
        assert (await refused(drive, large.decode()))[0] == 1009
        assert (await drive.get("/skills/app/a")).status_code == 200


async def _chunks(content: bytes) -> AsyncGenerator[bytes]:
    for at in range(0, len(content), 65536):
        yield content[at : at + 65536]


async def test_a_catalog_over_the_limit_is_refused() -> None:
    async with drive_server() as drive:
        paths = [{"type": "skill", "path": f"/s{at}/skill.md"} for at in range(MAX_PATHS + 1)]
        code, reason = await refused(drive, registration("app", paths))
        assert (code, reason) == (1008, "client.paths: has 1,001 items; the limit is 1,000")
        async with program(drive, registration("app", paths[:-1])):
            assert len(drive.hub.clients[0].info.paths) == MAX_PATHS


async def test_duplicate_paths_are_refused_also_in_an_update() -> None:
    twice = skills("/a/skill.md", "/a/skill.md")
    async with drive_server() as drive:
        code, reason = await refused(drive, registration("app", twice))
        assert (code, reason) == (
            1008,
            "client.paths[1]: `/a/skill.md` is a duplicate; send each path once",
        )
        async with program(drive, registration("app", skills("/a/skill.md"))) as client:
            await client.say({"type": "updateClientCatalog", "clientId": "app", "paths": twice})
            assert (await ending(client.connection))[0] == 1008


async def test_flood_of_clients_does_not_displace_registered_ones() -> None:
    async with (
        drive_server(limits=DriveLimits(sessions=3)) as drive,
        program(drive, registration("app", skills("/a/skill.md"))),
    ):
        sessions = [await drive.http.post("/mdp/http-loop/connect") for _ in range(10)]
        assert [each.status_code for each in sessions] == [200, 200] + [503] * 8
        with pytest.raises(InvalidStatus) as caught:
            await connect(drive.socket, proxy=None)
        assert caught.value.response.status_code == 503
        assert (await drive.get("/skills/app/a")).status_code == 200
        session = sessions[0].json()["sessionId"]
        await drive.http.post("/mdp/http-loop/disconnect", headers={"x-mdp-session-id": session})
        assert (await drive.http.post("/mdp/http-loop/connect")).status_code == 200


async def test_all_paths_together_are_bounded() -> None:
    async with (
        drive_server(limits=DriveLimits(total_paths=3)) as drive,
        program(drive, registration("one", skills("/a/skill.md", "/b/skill.md"))) as one,
    ):
        assert (await refused(drive, registration("two", skills("/a/skill.md", "/b/skill.md"))))[0] == 1008
        async with program(drive, registration("two", skills("/a/skill.md"))):
            four = skills("/a/skill.md", "/b/skill.md", "/c/skill.md")
            await one.say({"type": "updateClientCatalog", "clientId": "one", "paths": four})
            assert (await ending(one.connection))[0] == 1008


async def test_silent_client_does_not_block_others() -> None:
    limits = DriveLimits(calls=2, answer_seconds=PATIENCE)
    mute = registration("mute", skills("/a/skill.md"))
    async with (
        drive_server(limits=limits) as drive,
        program(drive, mute, silent) as client,
        program(drive, registration("app", skills("/a/skill.md")), echo),
        anyio.create_task_group() as tasks,
    ):
        for _ in range(2):
            tasks.start_soon(drive.get, "/skills/mute/a")
        await client.until_called(2)
        third = await drive.get("/skills/mute/a")
        assert (third.status_code, third.json()["error"]["code"]) == (503, "not_ready")
        reads = [await drive.get("/skills/app/a") for _ in range(5)]
        assert [each.status_code for each in reads] == [200] * 5
        assert len(client.calls) == 2
        client.connection.transport.abort()  # and the two that wait end with it


async def test_unfetched_messages_of_the_loop_are_limited() -> None:
    async with drive_server(limits=DriveLimits(waiting=5)) as drive:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        headers = {"x-mdp-session-id": session}
        for at in range(20):
            ping = {"message": {"type": "ping", "timestamp": at}}
            assert (
                await drive.http.post("/mdp/http-loop/send", json=ping, headers=headers)
            ).status_code == 202
        polls = [await drive.get("/mdp/http-loop/poll?waitMs=1", headers=headers) for _ in range(6)]
        assert [each.status_code for each in polls] == [200] * 5 + [204]


async def test_disconnected_poll_consumes_no_message() -> None:
    async with drive_server() as drive:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        headers = {"x-mdp-session-id": session}
        with anyio.move_on_after(0.3):
            await drive.get("/mdp/http-loop/poll", headers=headers)
        ping = {"message": {"type": "ping", "timestamp": 1}}
        await drive.http.post("/mdp/http-loop/send", json=ping, headers=headers)
        assert (await drive.get("/mdp/http-loop/poll?waitMs=5000", headers=headers)).status_code == 200


@pytest.mark.parametrize("wait", ["-1", "0", "soon", "nan", "inf", "1_0", ""])
async def test_invalid_wait_uses_the_default(wait: str) -> None:
    async with drive_server() as drive:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        async with anyio.create_task_group() as tasks:

            async def poll() -> None:
                polled = await drive.get(f"/mdp/http-loop/poll?sessionId={session}&waitMs={wait}")
                assert polled.json() == {"message": {"type": "pong", "timestamp": 1}}

            tasks.start_soon(poll)
            ping = {"message": {"type": "ping", "timestamp": 1}}
            await drive.http.post(f"/mdp/http-loop/send?sessionId={session}", json=ping)


@pytest.mark.parametrize("content_type", ["text/html\r\nset-cookie: a=b", "nonsense", "é/é"])
async def test_a_content_type_that_no_header_can_carry_is_refused(content_type: str) -> None:
    async with drive_server() as drive:
        message = registration("app", skills("/a/skill.md", contentType=content_type))
        assert (await refused(drive, message))[0] == 1008


async def test_a_session_that_registers_another_id_moves_there() -> None:
    one, two = registration("one", skills("/a/skill.md")), registration("two", skills("/b/skill.md"))
    async with drive_server(limits=DriveLimits(total_paths=1)) as drive, program(drive, one) as client:
        await client.say(two)  # there is room for it, because it leaves the other place
        await drive.until_online("two")
        assert (await drive.get("/skills/one/a")).status_code == 404
        assert (await drive.get("/skills/two/b")).text == "# /b/skill.md"
        await client.say({"type": "unregisterClient", "clientId": "one"})  # whose it no longer is: nothing
        await client.say(registration("two", skills("/c/skill.md")))
        await drive.until(lambda: drive.hub.find("two", "GET", "/c/skill.md") is not None)
        assert (await drive.get("/skills/two/b")).status_code == 404


async def test_a_session_that_moves_takes_the_place_of_another() -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("one", skills("/a/skill.md"))) as one,
        program(drive, registration("two", [])) as two,
    ):
        await one.say(registration("two", skills("/b/skill.md")))
        assert (await ending(two.connection))[0] == 4000
        await drive.until_online("two")
        assert (await drive.get("/skills/two/b")).status_code == 200


@pytest.mark.parametrize(
    "leaving", [registration("two", []), {"type": "unregisterClient", "clientId": "one"}], ids=["move", "go"]
)
async def test_pending_calls_fail_when_the_client_changes_its_id(leaving: dict[str, Any]) -> None:
    one = registration("one", skills("/a/skill.md"))
    async with (
        drive_server() as drive,
        program(drive, one, silent) as client,
        anyio.create_task_group() as tasks,
    ):

        async def leave() -> None:
            await client.until_called()
            await client.say(leaving)

        tasks.start_soon(leave)
        assert (await drive.get("/skills/one/a")).status_code == 503


async def test_deep_json_and_half_characters_are_refused() -> None:
    async with drive_server() as drive:
        for text in (
            '{"type": "ping", "timestamp": ' + "[" * 100_000,
            '{"type": "\\ud800"}',
            "null",
            "[]",
            '"x"',
        ):
            assert (await refused(drive, text))[0] == 1008


async def test_a_later_poll_ends_an_earlier_one() -> None:
    answers: list[int] = []
    async with drive_server() as drive, anyio.create_task_group() as tasks:
        session = (await drive.http.post("/mdp/http-loop/connect")).json()["sessionId"]
        headers = {"x-mdp-session-id": session}
        earlier, polls = anyio.Event(), "/mdp/http-loop/poll?waitMs=60000"

        async def poll() -> None:
            answers.append((await drive.get(polls, headers=headers)).status_code)
            earlier.set()

        for _ in range(2):
            tasks.start_soon(poll)
        with anyio.fail_after(PATIENCE):
            await earlier.wait()
        assert answers == [204]
        ping = {"message": {"type": "ping", "timestamp": 1}}
        await drive.http.post("/mdp/http-loop/send", json=ping, headers=headers)
    assert answers == [204, 200]


@pytest.mark.parametrize(
    ("at_connect", "at_send", "auth", "source"),
    [
        ({}, {}, None, "none"),
        ({}, {}, {}, "message"),
        ({}, {}, {"token": "t"}, "message"),
        ({"authorization": "Bearer q"}, {"authorization": "Bearer q"}, None, "transport"),
        ({"authorization": "Bearer q"}, {"authorization": "Bearer q"}, {"token": "t"}, "transport+message"),
        ({"x-mdp-auth-tenant": "a"}, {"x-mdp-auth-tenant": "a"}, None, "transport"),
        ({}, {"authorization": "Bearer q"}, None, "transport"),
        ({"authorization": "Bearer q"}, {}, None, "none"),
    ],
)
async def test_on_the_loop_the_last_request_decides_the_auth_source(
    at_connect: dict[str, str], at_send: dict[str, str], auth: dict[str, Any] | None, source: str
) -> None:
    async with drive_server() as drive:
        begun = await drive.http.post("/mdp/http-loop/connect", headers=at_connect)
        headers = {"x-mdp-session-id": begun.json()["sessionId"], **at_send}
        message = registration("app", [], **({} if auth is None else {"auth": auth}))
        await drive.http.post("/mdp/http-loop/send", json={"message": message}, headers=headers)
        assert drive.hub.clients[0].session.auth_source == source


async def test_ticket_claim_lasts_for_the_session() -> None:
    async with drive_server() as drive:
        cookie = await ticket(drive, {"token": "t", "metadata": {"role": "op"}})
        begun = await drive.http.post("/mdp/http-loop/connect", headers={"cookie": cookie})
        headers = {"x-mdp-session-id": begun.json()["sessionId"]}
        await drive.http.post(
            "/mdp/http-loop/send", json={"message": registration("app", [])}, headers=headers
        )
        (online,) = drive.hub.clients
        assert online.session.auth_source == "transport"
        assert online.connection.auth == Auth(token="t", metadata={"role": "op"})


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b'{"auth": null}', b'{"auth": {"token": 5}}'])
async def test_auth_headers_are_used_without_auth_in_body(body: bytes) -> None:
    async with drive_server() as drive:
        assert (await drive.http.post("/mdp/auth", content=body)).status_code == 400
        headers = {"authorization": "Bearer q"}
        answer = await drive.http.post("/mdp/auth", content=body, headers=headers)
        assert (answer.status_code, answer.headers["set-cookie"].split("=")[0]) == (204, "mdp_auth")
    async with (
        drive_server(token=TOKEN) as drive,
        httpx2.AsyncClient(base_url=drive.base, trust_env=False) as stranger,
    ):
        answer = await stranger.post("/mdp/auth", content=body, headers=headers)
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


@pytest.mark.parametrize("path", ["/mdp/auth", "/mdp/http-loop/connect", "/skills/a/b"])
async def test_options_is_answered_everywhere(path: str) -> None:
    async with drive_server() as drive:
        assert (await drive.http.options(path)).status_code == 204
        assert (await drive.get("/mdp/http-loop/elsewhere")).status_code == 404


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ({"type": "endpoint", "path": "/a", "method": "GET", "inputSchema": []}, False),
        ({"type": "endpoint", "path": "/a", "method": "GET", "outputSchema": "x"}, False),
        ({"type": "prompt", "path": "/a/prompt.md", "inputSchema": True}, False),
        ({"type": "prompt", "path": "/a/prompt.md", "inputSchema": {}}, True),
        ({"type": "endpoint", "path": "/a", "method": "GET", "inputSchema": None}, True),
    ],
)
async def test_a_schema_is_an_object(path: dict[str, Any], *, taken: bool) -> None:
    async with drive_server() as drive:
        if taken:
            async with program(drive, registration("app", [path])):
                return
        code, reason = await refused(drive, registration("app", [path]))
        assert (code, "must be an object" in reason) == (1008, True)


EXTENSION = f"chrome-extension://{'abcdefghijklmnop' * 2}"


async def test_an_allowed_browser_extension_reads_and_connects() -> None:
    async with drive_server(token=TOKEN, origins=frozenset({EXTENSION})) as drive:
        cookie = await ticket(drive, origin=EXTENSION)
        assert await gets_in(drive, cookie=cookie, origin=EXTENSION)
        meta = await drive.get("/mdp/meta", headers={"origin": EXTENSION})
        assert (meta.status_code, meta.headers["access-control-allow-origin"]) == (200, EXTENSION)
        for other in (f"{EXTENSION[:-1]}a", "chrome-extension://x", "null"):
            assert (await drive.get("/mdp/meta", headers={"origin": other})).status_code == 403
            with pytest.raises(InvalidStatus) as caught:
                await connect(drive.socket, proxy=None, additional_headers={"origin": other})
            assert caught.value.response.status_code == 403
