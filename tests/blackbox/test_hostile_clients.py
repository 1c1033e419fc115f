"""Hostile and broken clients: each gets an error or loses its connection, and others are served."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.peers import MODERN, HttpPeer, Peer, StdioPeer, fetch
from tests.blackbox.product import NO_CONFIG, PATIENCE, HttpService, Person, eventually
from tests.blackbox.skills import write_skill

LEGACY = "2025-11-25"
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602
LARGE = 3 * 1024 * 1024
BIG = "skill://big/big.bin"
SHORT = {
    "SKILLWIRE_HTTP_HEAD_SECONDS": "1",
    "SKILLWIRE_HTTP_BODY_SECONDS": "1",
    "SKILLWIRE_HTTP_WRITE_SECONDS": "1",
}
POST = (
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n"
)
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("big")
    write_skill(root, "big", {"big.bin": bytes(range(256)) * (LARGE // 256)})
    return root


@pytest.fixture(scope="module")
def limited(big: Path, somebody: Person) -> Iterator[HttpService]:
    """A server with short deadlines, few connections and few sessions."""
    few = {"SKILLWIRE_HTTP_CONNECTIONS": "40", "SKILLWIRE_HTTP_SESSIONS": "5"}
    with HttpService(somebody, big, NO_CONFIG, "--http", "0", variables={**SHORT, **few}) as service:
        yield service


@pytest.fixture(scope="module")
def patient(big: Path, somebody: Person) -> Iterator[HttpService]:
    """A server with few connections and little memory, that waits for very long."""
    limits = {
        "SKILLWIRE_HTTP_CONNECTIONS": "40",
        "SKILLWIRE_HTTP_BUFFERED_MB": "8",
        "SKILLWIRE_HTTP_HEAD_SECONDS": "600",
        "SKILLWIRE_HTTP_BODY_SECONDS": "600",
        "SKILLWIRE_HTTP_WRITE_SECONDS": "600",
    }
    with HttpService(somebody, big, NO_CONFIG, "--http", "0", variables=limits) as service:
        yield service


def connected(service: HttpService, sent: bytes = b"", *, buffer: int | None = None) -> socket.socket:
    """Return a connection on which `sent` was sent; with `buffer`, one that takes little unread."""
    client = socket.socket()
    client.settimeout(PATIENCE)
    if buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.connect(("127.0.0.1", service.port))
    with suppress(ConnectionError):  # it may have heard enough
        client.sendall(sent)
    return client


def until_closed(client: socket.socket) -> bytes:
    """Return what came until the server hung up."""
    came = bytearray()
    with suppress(ConnectionError):
        while piece := client.recv(65536):
            came += piece
    return bytes(came)


def question(method: str, **params: Any) -> bytes:
    """Return a whole request of 2026-07-28."""
    peer = HttpPeer(MODERN, "http://localhost/mcp")
    message = peer.message(method, params)
    body = json.dumps(message).encode()
    headers = "".join(f"{name}: {value}\r\n" for name, value in peer.headers(message).items())
    head = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def healthy(service: HttpService) -> bool:
    try:
        return fetch(f"{service.base}/healthz").status == 200
    except OSError:
        return False


# What is no message


def deep(levels: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"skills/list","params":%b1%b}' % (
        b'{"a":' * levels,
        b"}" * levels,
    )


NO_MESSAGES: dict[str, tuple[bytes, int]] = {
    "garbage": (b"garbage", PARSE_ERROR),
    "no-utf8": (b"\xff\xfe\x00", PARSE_ERROR),
    "half": (b'{"jsonrpc":"2.0","id":1,"method":"pi', PARSE_ERROR),
    "deep": (deep(20_000), PARSE_ERROR),
    "brackets": (b"[" * 100_000, PARSE_ERROR),
    "values": (b'{"a":[' + b"[]," * 150_000 + b"[]]}", INVALID_REQUEST),
    "surrogate": (
        rb'{"jsonrpc":"2.0","id":7,"method":"skills/get","params":{"uri":"\ud800"}}',
        PARSE_ERROR,
    ),
    "nan": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":NaN}}', PARSE_ERROR),
    "batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST),
    "number": (b"5", INVALID_REQUEST),
    "empty": (b"{}", INVALID_REQUEST),
    "old-rpc": (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', INVALID_REQUEST),
    "id-list": (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', INVALID_REQUEST),
    "id-huge": (b'{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}', INVALID_REQUEST),
    "too-long": (b'{"a":"' + b"x" * (5 * 1024 * 1024) + b'"}', INVALID_REQUEST),
}


@pytest.fixture(scope="module", params=[MODERN, LEGACY])
def pipes(request: pytest.FixtureRequest, big: Path, somebody: Person) -> Iterator[StdioPeer]:
    with StdioPeer(request.param, somebody, "serve", big, NO_CONFIG) as peer:
        assert peer.handshake
        yield peer
        assert peer.close() == 0


@pytest.mark.parametrize("case", NO_MESSAGES)
def test_a_line_without_a_message_gets_an_error(pipes: StdioPeer, case: str) -> None:
    line, code = NO_MESSAGES[case]
    pipes.send(line)
    assert json.loads(pipes.line())["error"]["code"] == code
    assert pipes.result("skills/get", {"uri": "skill://big/SKILL.md"})["skill"]


@pytest.mark.parametrize("case", NO_MESSAGES)
def test_a_body_without_a_message_gets_an_error(service: HttpService, case: str) -> None:
    body = NO_MESSAGES[case][0]
    with HttpPeer(MODERN, service.url) as peer:
        response = peer.post(body, peer.headers({"method": "skills/list"}))
        assert 400 <= response.status < 500
        assert b"Traceback" not in response.body
        assert len(response.body) < 10_000  # nothing of what was sent is repeated
        assert peer.result("skills/list")["skills"]


TOO_LONG: list[tuple[str, dict[str, Any]]] = [
    ("skills/get", {"uri": "skill://" + "a" * 4_100}),
    ("resources/read", {"uri": "skill://" + "a/" * 1_000_000}),
    ("resources/directory/read", {"uri": "skill://" + "%61" * 2_000}),
    ("skills/list", {"cursor": "x" * 5_000}),
    ("tools/call", {"name": "x" * 5_000, "arguments": {}}),
    ("prompts/get", {"name": "x" * 5_000}),
    ("skills/list", {"_meta": {f"com.example/{number}": number for number in range(3_000)}}),
]


def test_a_parameter_that_is_too_long_is_refused(peer: Peer) -> None:
    for method, params in TOO_LONG:
        assert len(json.dumps(peer.error(method, params))) < 2_000  # nothing of it is repeated
    assert peer.error("skills/get", {"uri": "x" * 4_000})["code"] == INVALID_PARAMS
    assert peer.result("skills/list")["skills"]


def test_notifications_of_any_shape_are_passed_over(pipes: StdioPeer) -> None:
    shapes: list[Any] = [None, 5, [], {}, {"requestId": {}}, {"_meta": 5}, {"uri": [1]}]
    for params in shapes:
        for method in (
            "notifications/cancelled",
            "notifications/progress",
            "notifications/none",
            "skills/list",
        ):
            message = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
            pipes.send(json.dumps(message).encode())
    assert pipes.result("tools/list")["tools"]


# Hosts, origins, tokens


@pytest.mark.parametrize(
    "path", ["/mcp", "/", "/healthz", "/ui/overview", "/.well-known/agent-skills/index.json"]
)
def test_foreign_hosts_and_origins_are_refused(service: HttpService, path: str) -> None:
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "8.8.8.8", ""):
        assert (host, fetch(f"{service.base}{path}", headers={"host": host}).status) in {
            (host, 421),
            (host, 400),
        }
    for origin in ("https://evil.example", "http://localhost.evil.example", "null", "file://"):
        response = fetch(f"{service.base}{path}", headers={"origin": origin})
        assert (origin, response.status) == (origin, 403)
        assert "access-control-allow-origin" not in response.headers
    assert fetch(f"{service.base}/healthz", headers={"origin": "http://localhost"}).status == 200


def test_two_hosts_or_lengths_are_no_request(service: HttpService) -> None:
    """What two programs on the way could understand differently is refused."""
    smuggled = (
        HEALTH.replace(b"\r\n\r\n", b"\r\nhost: evil.example\r\n\r\n"),
        POST + b"content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        POST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"content-length: -5\r\n\r\n",
        POST + b"content-length: 5x\r\n\r\n",
        POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET http://evil.example/healthz HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    )
    for sent in smuggled:
        with closing(connected(service, sent)) as client:
            status = client.recv(65536).split(b" ")[1:2]
            assert status in ([b"400"], [b"421"], [b"403"], []), sent  # or it hung up
    assert healthy(service)


def test_only_the_exact_token_opens_every_path(big: Path, somebody: Person) -> None:
    token = "a-long-random-token"
    arguments = (big, "--http", "0", "--token-env", "TOKEN", "--allow-config")
    with HttpService(somebody, *arguments, variables={"TOKEN": token}) as guarded:
        for given in ("", "Bearer", f"Bearer {token}x", f"Bearer {token[:-1]}", f"Basic {token}", token):
            for path in ("/mcp", "/ui/overview"):
                headers = {"authorization": given} if given else {}
                assert fetch(f"{guarded.base}{path}", headers=headers).status == 401
        assert fetch(f"{guarded.url}?token={token}").status == 401
        with HttpPeer(MODERN, guarded.url, token) as peer:
            assert peer.result("skills/list")["skills"]
        assert not [line for line in guarded.said if token in line]


def test_a_public_address_needs_a_token(big: Path, somebody: Person) -> None:
    assert somebody.run("serve", big, NO_CONFIG, "--http", "0.0.0.0:0").code == 2


def test_no_client_over_http_changes_anything_without_a_token(big: Path, person: Person) -> None:
    config = person.home / "config.toml"
    arguments = (
        big,
        "--config",
        config,
        "--http",
        "0",
        "--allow-config",
        "--allow-origin",
        "https://page.example",
    )
    with HttpService(person, *arguments) as open_one, HttpPeer(MODERN, open_one.url) as peer:
        changing = [
            tool["name"]
            for tool in peer.result("tools/list")["tools"]
            if not tool.get("annotations", {}).get("readOnlyHint", False)
        ]
        for name in changing:
            for arguments in ({}, {"source": "/etc"}, {"uri": "skill://big/SKILL.md", "assistant": False}):
                answer = peer.request("tools/call", {"name": name, "arguments": arguments})
                assert "error" in answer or answer["result"]["isError"] is True
        for path in ("/ui/sources", "/ui/visibility", "/ui/config"):
            headers = {"content-type": "application/json", "origin": "https://page.example"}
            assert fetch(f"{open_one.base}{path}", "POST", headers, b"{}").status >= 400
        page = fetch(f"{open_one.base}/")
        assert "set-cookie" not in page.headers
    assert not config.exists()


# Clients that idle, stall and take too much


def test_requests_that_stall_are_hung_up_on(limited: HttpService) -> None:
    stalled = (
        b"",
        b"GET /healthz HTTP/1.1\r\nhost: local",
        POST + b"content-length: 1000\r\n\r\n{",
        POST + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
    )
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(connected(limited, sent))) for sent in stalled]
        for client in clients:
            assert b"408 Request Timeout" in until_closed(client)
    assert healthy(limited)


def test_an_answer_that_is_not_read_is_given_up(limited: HttpService) -> None:
    with closing(connected(limited, question("resources/read", uri=BIG), buffer=4096)) as client:
        eventually(lambda: not _holds(limited, client))
    assert healthy(limited)


def _holds(service: HttpService, client: socket.socket) -> bool:
    """Whether the server's process still has its end of a connection, as the system tells."""
    pair = f":{service.port:04X}", f":{client.getsockname()[1]:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("utf-8").splitlines()[1:]]
    return any(row[1].endswith(pair[0]) and row[2].endswith(pair[1]) and row[3] == "01" for row in rows)


def test_unused_sessions_do_not_lock_clients_out(limited: HttpService) -> None:
    with ExitStack() as stack:
        peers = [stack.enter_context(HttpPeer(LEGACY, limited.url)) for _ in range(12)]
        assert all(peer.result("skills/list")["skills"] for peer in peers)
        body = json.dumps(peers[0].message("skills/list")).encode()
        assert peers[0].post(body, peers[0].headers({})).status == 404  # its client begins a new session
        assert peers[-1].result("skills/list")["skills"]


@pytest.mark.parametrize("sent", [b"", POST + b"content-length: 60000\r\n\r\n{"], ids=["silent", "stalled"])
def test_idle_connections_do_not_lock_clients_out(patient: HttpService, sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(closing(connected(patient, sent)))
        eventually(lambda: healthy(patient))


def test_large_bodies_and_unread_answers_share_a_budget(patient: HttpService) -> None:
    before = patient.memory
    head = POST + f"content-length: {LARGE}\r\n\r\n".encode()
    asked = question("resources/read", uri=BIG)
    with ExitStack() as stack:
        for _ in range(12):
            client = stack.enter_context(closing(connected(patient)))
            client.settimeout(1)
            with suppress(OSError):  # it is refused meanwhile
                client.sendall(head + b" " * (LARGE - 1))
            stack.enter_context(closing(connected(patient, asked, buffer=4096)))
        eventually(lambda: healthy(patient))
        assert patient.memory - before < 96  # all of it would be 150 MiB


@pytest.mark.parametrize(
    ("head", "rest"),
    [
        (b"", b"GET /x HTTP/1.1\r\n\r\n" * 10_000),
        (b"GET /healthz HTTP/1.1\r\n", b"a:b\r\n" * 40_000),
        (POST + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"a:b\r\n" * 40_000),
        (POST + b"transfer-encoding: chunked\r\n\r\n", b"1;" + b"x" * 200_000),
    ],
    ids=["pipelined", "headers", "trailers", "chunk extension"],
)
def test_what_one_connection_sends_is_bounded(limited: HttpService, head: bytes, rest: bytes) -> None:
    before = limited.memory
    with closing(connected(limited, head)) as client:
        client.settimeout(1)
        with suppress(OSError):
            for _ in range(20):
                client.sendall(rest)
        with suppress(TimeoutError):
            until_closed(client)
    assert healthy(limited)
    assert limited.memory - before < 64


def test_bytes_that_are_not_http_do_no_harm(limited: HttpService) -> None:
    garbage = (b"\x16\x03\x01\x02\x00\x01", b"\0" * 5_000, b"GET\r\n\r\n", b"\r\n" * 5_000, b"A" * 100_000)
    with ExitStack() as stack:
        for client in [stack.enter_context(closing(connected(limited, sent))) for sent in garbage]:
            until_closed(client)
    assert healthy(limited)


def test_one_listen_is_bounded(service: HttpService) -> None:
    wanted = {"resourceSubscriptions": [f"skill://none/{number}" for number in range(10_001)]}
    with HttpPeer(MODERN, service.url) as peer:
        message = peer.message("subscriptions/listen", {"notifications": wanted})
        response = peer.post(json.dumps(message).encode(), peer.headers(message))
        assert response.json["error"]["code"] == INVALID_PARAMS
        assert peer.result("skills/list")["skills"]


def test_a_server_ends_at_once_though_clients_hold_on(big: Path, somebody: Person) -> None:
    listen = question("subscriptions/listen", notifications={"resourcesListChanged": True})
    with (
        HttpService(somebody, big, NO_CONFIG, "--http", "0") as service,
        closing(connected(service, listen)) as stream,
        closing(connected(service, POST + b"content-length: 1000\r\n\r\n{")),
    ):
        assert b" 200 OK" in stream.recv(65536)
        assert service.stop() == 0


def test_a_client_that_reads_nothing_ends_with_its_server(big: Path, somebody: Person) -> None:
    """Many answers wait in the pipe, and the client closes its side: the server still ends."""
    with StdioPeer(MODERN, somebody, "serve", big, NO_CONFIG) as peer:
        for number in range(40):
            message = {**peer.message("resources/read", {"uri": BIG}), "id": number}
            peer.send(json.dumps(message).encode())
        answers = {json.loads(peer.line())["id"] for _ in range(40)}
        assert answers == set(range(40))
        assert peer.close() == 0
