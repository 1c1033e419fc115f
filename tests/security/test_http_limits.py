"""HTTP clients that idle, stall or take too much: they lose their connection, and others are served."""

import base64
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.peers import MODERN, PATIENCE, VERSIONS, HttpPeer, HttpServer, skillwire
from tests.support.skills import write_skill

LEGACY = VERSIONS[1]
LARGE = 3 * 1024 * 1024
URI = "skill://big/big.bin"
SHORT = {
    "SKILLWIRE_HTTP_HEAD_SECONDS": "1",
    "SKILLWIRE_HTTP_BODY_SECONDS": "2",
    "SKILLWIRE_HTTP_WRITE_SECONDS": "2",
}
POST = (
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n"
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("limited")
    write_skill(root, "big", {"big.bin": bytes(range(256)) * (LARGE // 256)})
    return root


def served(tree: Path, **variables: str) -> HttpServer:
    environment = {**os.environ, **SHORT, **variables}
    return HttpServer(tree, "--http", "0", "--no-config", env=environment)


@pytest.fixture(scope="module")
def server(tree: Path) -> Iterator[HttpServer]:
    with served(tree) as server:
        yield server


def connected(server: HttpServer, sent: bytes = b"", *, buffer: int | None = None) -> socket.socket:
    """Return a connection on which `sent` was sent; with `buffer`, one that takes little unread."""
    client = socket.socket()
    client.settimeout(PATIENCE)
    if buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.connect(("127.0.0.1", urlsplit(server.url).port))
    client.sendall(sent)
    return client


def until_closed(client: socket.socket) -> bytes:
    """Return what came until the server hung up."""
    came = bytearray()
    try:
        while piece := client.recv(65536):
            came += piece
    except ConnectionResetError:
        pass
    return bytes(came)


def question(method: str, params: Mapping[str, Any]) -> bytes:
    prefix = "io.modelcontextprotocol/"
    meta: dict[str, Any] = {f"{prefix}protocolVersion": MODERN, f"{prefix}clientCapabilities": {}}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}
    ).encode()
    name = f"mcp-name: {params['uri']}\r\n" if "uri" in params else ""
    return POST + f"mcp-method: {method}\r\n{name}content-length: {len(body)}\r\n\r\n".encode() + body


def healthy(server: HttpServer) -> bool:
    return httpx2.get(f"{server.base}/healthz", timeout=PATIENCE, trust_env=False).status_code == 200


def healthy_on(client: socket.socket) -> bool:
    """Whether the next answer on a connection is that of the health check."""
    came = b""
    while not came.endswith(b'{"status":"ok"}'):
        piece = client.recv(65536)
        if not piece:
            return False
        came += piece
    return b" 200 OK" in came


def memory(server: HttpServer) -> int:
    """Return how many bytes of memory the server's process has."""
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds, within bounds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nhost: local"], ids=["nothing", "half"])
def test_a_head_that_does_not_end_is_hung_up_on(server: HttpServer, sent: bytes) -> None:
    with closing(connected(server, sent)) as client:
        assert b"408 Request Timeout" in until_closed(client)


def test_endless_later_headers_close_connection(server: HttpServer) -> None:
    with closing(connected(server, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")) as client:
        assert b" 200 OK" in client.recv(65536)
        client.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert b"408 Request Timeout" in until_closed(client)


def test_a_head_that_trickles_has_no_more_time(server: HttpServer) -> None:
    with closing(connected(server, b"GET /healthz HTTP/1.1\r\n")) as client:
        client.settimeout(0.2)
        came = b""
        begin = time.monotonic()
        while time.monotonic() - begin < PATIENCE:
            try:
                client.sendall(b"x: y\r\n")
                if not (came := client.recv(65536)) or came.startswith(b"HTTP/"):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert b"408" in came


@pytest.mark.parametrize(
    "length", [b"content-length: 1000\r\n\r\n{", b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"]
)
def test_a_body_that_stalls_is_hung_up_on(server: HttpServer, length: bytes) -> None:
    with closing(connected(server, POST + length)) as client:
        assert b"408 Request Timeout" in until_closed(client)


def test_a_body_that_is_slow_but_alive_is_answered(server: HttpServer) -> None:
    whole = question("skills/list", {})
    head, body = whole[: -len(whole.partition(b"\r\n\r\n")[2])], whole.partition(b"\r\n\r\n")[2]
    with closing(connected(server, head)) as client:
        for begin in range(0, len(body), 64):
            client.sendall(body[begin : begin + 64])
            time.sleep(1)  # the pace of this client is what is tested
        client.settimeout(PATIENCE)
        assert b" 200 OK" in client.recv(65536)
    assert len(body) > 64 * 2  # it took longer than one may stand still


def test_server_does_not_wait_for_rest_of_refused_body(server: HttpServer) -> None:
    refused = POST.replace(b"application/json\r\n", b"text/plain\r\n", 1) + b"content-length: 100000\r\n\r\n"
    with closing(connected(server, refused)) as client:
        assert b" 415 " in until_closed(client)


def test_an_answer_that_is_not_read_is_given_up(server: HttpServer) -> None:
    with closing(connected(server, question("resources/read", {"uri": URI}), buffer=4096)) as client:
        eventually(lambda: open_connections(server) >= 1)
        eventually(lambda: open_connections(server) == 0)
        assert len(until_closed(client)) < LARGE


def test_an_answer_that_is_read_slowly_comes_whole(server: HttpServer) -> None:
    with closing(connected(server, question("resources/read", {"uri": URI}), buffer=65536)) as client:
        came = bytearray()
        for _ in range(5):
            came += client.recv(262144)
            time.sleep(0.9)  # the pace of this client is what is tested
        while b'"blob"' not in came or not came.endswith(b"}}"):
            came += client.recv(1024 * 1024)
    body = json.loads(came.partition(b"\r\n\r\n")[2])
    assert len(base64.b64decode(body["result"]["contents"][0]["blob"])) == LARGE


def open_connections(server: HttpServer) -> int:
    """Return how many connections the server's process holds, as the system tells."""
    port = f"{urlsplit(server.url).port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    rows = [line.split() for line in lines]
    return sum(row[1].endswith(f":{port}") and row[3] in {"01", "08"} for row in rows)


WITHOUT_HTTPTOOLS = """
import sys
sys.modules["httptools"] = None
from skillwire.cli.main import run
sys.exit(run(["serve", sys.argv[1], "--http", "0", "--no-config"]))
"""


def test_deadlines_hold_without_httptools(tree: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_HTTPTOOLS, str(tree)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **SHORT}, text=True) as process:
        assert process.stderr is not None
        url = next(line for line in process.stderr if "serving on" in line).split()[-1]
        port = int(url.rsplit(":", 1)[1].removesuffix("/mcp"))
        for sent in (b"", POST + b"content-length: 1000\r\n\r\n{"):
            with closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) as client:
                client.sendall(sent)
                assert b"408 Request Timeout" in until_closed(client)
        process.terminate()


def test_connections_that_say_nothing_lock_nobody_out(tree: Path) -> None:
    with (
        served(tree, SKILLWIRE_HTTP_CONNECTIONS="40", SKILLWIRE_HTTP_HEAD_SECONDS="600") as server,
        ExitStack() as stack,
        closing(HttpPeer(MODERN, server.url)) as peer,
    ):
        for _ in range(3):
            for _ in range(120):
                stack.enter_context(closing(connected(server)))
            assert peer.result("skills/list")["skills"]
            assert healthy(server)


def test_bodies_that_trickle_lock_nobody_out(tree: Path) -> None:
    with (
        served(tree, SKILLWIRE_HTTP_CONNECTIONS="8", SKILLWIRE_HTTP_BODY_SECONDS="1") as server,
        ExitStack() as stack,
    ):
        request = POST + b"content-length: 100000\r\n\r\n{"
        slow = [stack.enter_context(closing(connected(server, request))) for _ in range(8 + 40)]

        def answered() -> bool:
            for client in slow:
                try:
                    client.sendall(b" ")
                except OSError:
                    continue
            try:
                return healthy(server)
            except httpx2.TransportError:
                return False

        eventually(answered)


def test_bodies_that_stall_lock_nobody_out(tree: Path) -> None:
    with (
        served(tree, SKILLWIRE_HTTP_CONNECTIONS="8", SKILLWIRE_HTTP_BODY_SECONDS="600") as server,
        ExitStack() as stack,
    ):
        request = POST + b"content-length: 100000\r\n\r\n{"
        for _ in range(8):
            stack.enter_context(closing(connected(server, request)))

        def answered() -> bool:
            try:
                return healthy(server)
            except httpx2.TransportError:
                return False

        eventually(answered)


def test_as_many_clients_as_promised_are_served_at_once(tree: Path) -> None:
    most = 200
    limits = {"SKILLWIRE_HTTP_CONNECTIONS": str(most), "SKILLWIRE_HTTP_HEAD_SECONDS": "600"}
    with served(tree, **limits) as server, ExitStack() as stack:
        clients = [stack.enter_context(closing(connected(server))) for _ in range(most)]
        for _ in range(3):
            for client in clients:
                client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert all(healthy_on(client) for client in clients)


def test_enough_descriptors_are_asked_for(tree: Path) -> None:
    few = ["prlimit", "--nofile=256:4096", *skillwire("serve", tree, "--http", "0", "--no-config")]
    process = subprocess.Popen(few, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert process.stderr is not None
        assert any(b"serving on" in line for line in process.stderr)
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        assert (soft, hard) == (2024 + 64, 4096) or soft >= 2024
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        assert process.stderr is not None
        process.stderr.close()


def test_large_bodies_share_budget_and_do_not_delay_small_ones(tree: Path) -> None:
    with (
        served(tree, SKILLWIRE_HTTP_BUFFERED_MB="4", SKILLWIRE_HTTP_BODY_SECONDS="600") as server,
        ExitStack() as stack,
        closing(HttpPeer(MODERN, server.url)) as peer,
    ):
        assert peer.result("skills/list")["skills"]
        before = memory(server)
        head = POST + f"content-length: {LARGE}\r\n\r\n".encode()
        for _ in range(30):
            client = stack.enter_context(closing(connected(server, head)))
            client.settimeout(1)
            try:
                client.sendall(b" " * (LARGE - 1))
            except OSError:  # it was refused meanwhile
                continue
        assert peer.result("skills/list")["skills"]
        with closing(connected(server, head)) as late:
            late.sendall(b" " * (LARGE // 2))
            assert b" 503 " in late.recv(65536)
        assert memory(server) - before < 48 * 1024 * 1024


def test_unread_answers_share_the_budget(tree: Path) -> None:
    with (
        served(tree, SKILLWIRE_HTTP_BUFFERED_MB="10", SKILLWIRE_HTTP_WRITE_SECONDS="600") as server,
        ExitStack() as stack,
        closing(HttpPeer(MODERN, server.url)) as peer,
    ):
        assert len(peer.result("resources/read", {"uri": URI})["contents"][0]["blob"]) > LARGE
        before = memory(server)
        asked = question("resources/read", {"uri": URI})
        for _ in range(60):
            stack.enter_context(closing(connected(server, asked, buffer=4096)))
        assert peer.request("skills/list")["result"]["skills"]
        late = stack.enter_context(closing(connected(server, asked)))
        assert b" 503 " in late.recv(65536)
        assert memory(server) - before < 100 * 1024 * 1024  # 60 answers of 4 MiB, twice, would be 480 MiB


def test_budget_held_too_long_makes_room(tree: Path) -> None:
    with (
        served(tree, SKILLWIRE_HTTP_BUFFERED_MB="5", SKILLWIRE_HTTP_WRITE_SECONDS="1") as server,
        closing(connected(server, POST + f"content-length: {LARGE}\r\n\r\n".encode())) as slow,
    ):
        slow.sendall(b" " * (LARGE - 1000))
        peer = HttpPeer(MODERN, server.url)

        def read() -> bool:
            slow.sendall(b" ")  # so slowly that its own deadline never comes
            answer = peer.http.post(
                server.url,
                content=question("resources/read", {"uri": URI}).partition(b"\r\n\r\n")[2],
                headers={"mcp-protocol-version": MODERN, "mcp-method": "resources/read", "mcp-name": URI},
            )
            return answer.status_code == 200

        with closing(peer):
            eventually(read)


def test_sessions_nobody_uses_lock_nobody_out(tree: Path) -> None:
    with served(tree, SKILLWIRE_HTTP_SESSIONS="5") as server, ExitStack() as stack:
        peers = [stack.enter_context(closing(HttpPeer(LEGACY, server.url))) for _ in range(12)]
        for peer in peers:
            assert peer.result("skills/list")["skills"]
        assert peers[-1].result("skills/list")["skills"]
        gone = peers[0].post({"jsonrpc": "2.0", "id": 99, "method": "skills/list"})
        assert gone.status_code == 404  # as the protocol says: the client begins a new session


def test_a_session_with_an_open_stream_is_kept(tree: Path) -> None:
    with served(tree, SKILLWIRE_HTTP_SESSIONS="3") as server, ExitStack() as stack:
        first = stack.enter_context(closing(HttpPeer(LEGACY, server.url)))
        assert first.result("skills/list")["skills"]
        headers = {"accept": "text/event-stream", **first.session_headers}
        stream = stack.enter_context(first.http.stream("GET", server.url, headers=headers))
        assert stream.status_code == 200
        for _ in range(10):
            with closing(HttpPeer(LEGACY, server.url)) as other:
                assert other.result("skills/list")["skills"]
        assert first.result("skills/list")["skills"]


@pytest.mark.parametrize(("verb", "method"), [("DELETE", ""), ("POST", "no/such")], ids=["delete", "unknown"])
def test_a_request_that_ends_no_session_leaves_it_counted(tree: Path, verb: str, method: str) -> None:
    with served(tree, SKILLWIRE_HTTP_SESSIONS="3") as server, ExitStack() as stack:
        peers = [stack.enter_context(closing(HttpPeer(LEGACY, server.url))) for _ in range(8)]
        for peer in peers:
            assert peer.result("skills/list")["skills"]
            headers = {**peer.session_headers, "mcp-protocol-version": MODERN, "mcp-method": method}
            body = question(method, {}).partition(b"\r\n\r\n")[2]
            refused = peer.http.request(verb, server.url, headers=headers, content=body)
            assert refused.status_code in {404, 405}
        asked = {"jsonrpc": "2.0", "id": 99, "method": "skills/list"}
        assert sum(peer.post(asked).status_code == 200 for peer in peers) <= 3


def test_requests_without_sessions_take_no_place_of_one(tree: Path) -> None:
    listen = question("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
    with (
        served(tree, SKILLWIRE_HTTP_SESSIONS="2") as server,
        ExitStack() as stack,
        closing(HttpPeer(LEGACY, server.url)) as earlier,
        closing(HttpPeer(MODERN, server.url)) as modern,
    ):
        assert earlier.result("skills/list")["skills"]
        for _ in range(5):
            client = stack.enter_context(closing(connected(server, listen)))
            assert b" 200 OK" in client.recv(65536)
        assert modern.result("tools/list")["tools"]
        assert earlier.result("skills/list")["skills"]


def flooded(server: HttpServer, request: bytes, rest: bytes, times: int) -> None:
    """Send a beginning, and the same rest many times, reading nothing, until the server hangs up."""
    with closing(connected(server, request)) as client:
        client.settimeout(2)
        try:
            for _ in range(times):
                client.sendall(rest)
        except OSError:
            return
        try:
            until_closed(client)
        except TimeoutError:
            return


@pytest.mark.parametrize(
    ("request_head", "rest"),
    [
        (b"", b"GET /x HTTP/1.1\r\n\r\n" * 10_000),
        (b"GET /healthz HTTP/1.1\r\n", b"a:b\r\n" * 40_000),
        (POST + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"a:b\r\n" * 40_000),
        (POST + b"transfer-encoding: chunked\r\n\r\n0\r\na: ", b"b" * 200_000),
        (POST + b"transfer-encoding: chunked\r\n\r\n", b"1;" + b"x" * 200_000),
        (POST + b"content-length: 4000000\r\n\r\n", b" " * 4_000_000),
    ],
    ids=["pipelined", "headers", "trailers", "a long trailer", "chunk extension", "bodies"],
)
def test_what_one_connection_sends_is_bounded(server: HttpServer, request_head: bytes, rest: bytes) -> None:
    assert healthy(server)
    before = memory(server)
    for _ in range(4):
        flooded(server, request_head, rest, 20)
    assert healthy(server)
    assert memory(server) - before < 64 * 1024 * 1024


@pytest.mark.parametrize(
    "waiting",
    [
        POST + b"content-length: 60000\r\n\r\n" + b" " * 60_000,
        POST + b"".join(b"x-%d: %s\r\n" % (at, b"y" * 500) for at in range(100)) + b"\r\n",
        POST + b"a:b\r\n" * 120 + b"\r\n",
    ],
    ids=["bodies", "long headers", "many headers"],
)
def test_what_waits_behind_a_stream_is_bounded(server: HttpServer, waiting: bytes) -> None:
    assert healthy(server)
    listen = question("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
    before = memory(server)
    with ExitStack() as stack:
        for _ in range(40):
            client = stack.enter_context(closing(connected(server, listen)))
            assert b" 200 OK" in client.recv(65536)
            with suppress(OSError):  # it may have hung up already
                client.sendall(waiting * 60)
        assert healthy(server)
        assert memory(server) - before < 32 * 1024 * 1024


def test_small_requests_wait_behind_another_and_are_answered_in_turn(server: HttpServer) -> None:
    health = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with closing(connected(server, question("skills/list", {}) + health * 40)) as client:
        came = b""
        while came.count(b'{"status":"ok"}') < 40:
            piece = client.recv(65536)
            assert piece
            came += piece


def test_tiny_chunks_make_a_whole_body(server: HttpServer) -> None:
    body = question("skills/list", {}).partition(b"\r\n\r\n")[2]
    chunks = b"".join(b"1\r\n" + bytes([each]) + b"\r\n" for each in body) + b"0\r\n\r\n"
    head = POST + b"mcp-method: skills/list\r\ntransfer-encoding: chunked\r\n\r\n"
    with closing(connected(server, head + chunks)) as client:
        assert b" 200 OK" in client.recv(65536)


def test_a_small_body_after_its_answer_leaves_the_connection_usable(server: HttpServer) -> None:
    refused = POST.replace(b"application/json\r\n", b"text/plain\r\n", 1) + b"content-length: 5\r\n\r\n"
    with closing(connected(server, refused)) as client:
        assert b" 415 " in client.recv(65536)
        client.sendall(b"12345GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert healthy_on(client)


def test_a_body_that_was_not_asked_for_is_no_request(server: HttpServer) -> None:
    refused = POST.replace(b"application/json\r\n", b"text/plain\r\n", 1)
    with closing(connected(server, refused + b"content-length: 5\r\nexpect: 100-continue\r\n\r\n")) as client:
        assert b" 415 " in until_closed(client)


def test_a_client_that_leaves_behind_another_request_is_noticed(tree: Path) -> None:
    with served(tree) as server, closing(HttpPeer(LEGACY, server.url)) as peer:
        assert peer.result("skills/list")["skills"]
        sent = "".join(f"{name}: {value}\r\n" for name, value in peer.session_headers.items())
        get = f"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{sent}\r\n".encode()
        with closing(connected(server, get)) as client:
            assert b" 200 OK" in client.recv(65536)
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")

        def free() -> bool:
            with closing(connected(server, get)) as again:
                return b" 200 OK" in again.recv(65536)

        eventually(free)


@pytest.mark.parametrize("value", ["0", "-1", "ten", "1.5", ""])
def test_a_limit_that_is_no_number_is_refused(tree: Path, value: str) -> None:
    environment = {**os.environ, "SKILLWIRE_HTTP_CONNECTIONS": value}
    done = subprocess.run(
        skillwire("serve", tree, "--http", "0", "--no-config"),
        env=environment,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert b"SKILLWIRE_HTTP_CONNECTIONS" in done.stderr
