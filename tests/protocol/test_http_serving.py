"""A server on HTTP: who is let in, what is refused, and how it ends."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.command_line import run
from tests.support.peers import MODERN, PATIENCE, VERSIONS, HttpPeer, HttpServer, skillwire
from tests.support.skills import write, write_skill

TOKEN = "correct-horse-battery-staple"
TOKEN_VARIABLE = "SKILLWIRE_TEST_TOKEN"
APP = "https://app.example"
BODY_LIMIT = 4 * 1024 * 1024
LEGACY = VERSIONS[1]

Headers = Sequence[tuple[str, str]]

JSON: Headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
MODERN_LIST: Headers = [*JSON, ("MCP-Protocol-Version", MODERN), ("Mcp-Method", "skills/list")]
PATHS = ["/mcp", "/healthz", "/", "/no/such/path", "/mcp/", "//mcp", "/healthz/../mcp"]
METHODS = ["GET", "HEAD", "POST", "OPTIONS", "DELETE"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, byte for byte."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> Any:
        """The JSON-RPC error, having seen that it is one."""
        assert self.headers["content-type"].startswith("application/json"), self
        message = json.loads(self.body)
        assert message["jsonrpc"] == "2.0"
        assert message["id"] in {None, 1}  # the id of the request, where it could be read
        return message["error"]


def ask(
    server: HttpServer, method: str, path: str, headers: Headers = (), body: bytes | None = None
) -> Answer:
    """Send exactly this: no header is added but the length of a body, not even `Host`."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, response.read())
    finally:
        connection.close()


def port_of(server: HttpServer) -> int:
    port = urlsplit(server.url).port
    assert port
    return port


def own(server: HttpServer) -> tuple[str, str]:
    return ("Host", f"127.0.0.1:{port_of(server)}")


def bearer(token: str = TOKEN, scheme: str = "Bearer") -> tuple[str, str]:
    return ("Authorization", f"{scheme} {token}")


def list_request() -> bytes:
    prefix = "io.modelcontextprotocol/"
    meta = {
        f"{prefix}protocolVersion": MODERN,
        f"{prefix}clientInfo": {"name": "test", "version": "1"},
        f"{prefix}clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": meta}}
    return json.dumps(message).encode()


def works(server: HttpServer, *headers: tuple[str, str]) -> bool:
    """Whether a plain request is answered."""
    answer = ask(server, "POST", "/mcp", [own(server), *MODERN_LIST, *headers], list_request())
    return answer.status == 200 and bool(json.loads(answer.body)["result"]["skills"])


@pytest.fixture(scope="session")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One good skill among troubles of every kind that mention a place."""
    root = tmp_path_factory.mktemp("small")
    elsewhere = write_skill(tmp_path_factory.mktemp("elsewhere"), "elsewhere")
    folder = write_skill(root, "refunds", {"references/policy.md": "# Policy\n"})
    (folder / "outside").symlink_to(elsewhere)
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "nowhere").symlink_to(folder / "gone")
    write(root / "broken", {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    write(root / "folder-instead", {"SKILL.md/": b""})
    write(root / "not-yaml", {"SKILL.md": b"---\nname: [\n---\n"})
    return root


@pytest.fixture(scope="session")
def unreadable_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose ignore file cannot be read."""
    root = tmp_path_factory.mktemp("unreadable")
    write_skill(root, "secret")
    return write(root, {".skillwireignore/": b""})


@pytest.fixture(scope="session")
def guarded(small_tree: Path) -> Iterator[HttpServer]:
    """A server with a token, another name, and web pages that may call it; its skills will not change."""
    options = ["--http", "0", "--static", "--token-env", TOKEN_VARIABLE, "--allow-host", "Skills.example"]
    origins = ["--allow-origin", f"{APP}/", "--allow-origin", "https://Other.Example:8443"]
    with HttpServer(small_tree, *options, *origins, env={**os.environ, TOKEN_VARIABLE: TOKEN}) as server:
        yield server


@pytest.fixture(scope="session")
def public(small_tree: Path, unreadable_tree: Path) -> Iterator[HttpServer]:
    """A server that other machines could reach, if only they were asked."""
    with HttpServer(small_tree, unreadable_tree, "--http", "0.0.0.0:0", "--allow-public") as server:
        yield server


def test_the_server_says_where_it_is_and_is_there(http_server: HttpServer) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9][0-9]*/mcp", http_server.url)
    assert works(http_server)


def test_the_health_check_answers_and_tells_nothing(http_server: HttpServer) -> None:
    answer = ask(http_server, "GET", "/healthz", [own(http_server)])
    assert (answer.status, json.loads(answer.body)) == (200, {"status": "ok"})
    assert "server" not in answer.headers


def test_a_slash_after_the_path_changes_nothing(http_server: HttpServer) -> None:
    answers = [
        ask(http_server, "POST", path, [own(http_server), *MODERN_LIST], list_request())
        for path in ("/mcp", "/mcp/")
    ]
    assert [(each.status, each.body) for each in answers] == [(200, answers[0].body)] * 2


def test_a_path_with_a_slash_needs_the_token(guarded: HttpServer) -> None:
    sent = [own(guarded), *MODERN_LIST]
    assert ask(guarded, "POST", "/mcp/", sent, list_request()).status == 401
    assert ask(guarded, "POST", "/mcp/", [*sent, bearer()], list_request()).status == 200


@pytest.mark.parametrize("path", ["/no/such/path", "/healthz/", "/ui", "/ui/nothing", "/index.html"])
def test_there_is_nothing_else(http_server: HttpServer, path: str) -> None:
    assert ask(http_server, "GET", path, [own(http_server)]).status in {307, 404}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [""],
        ["evil.example"],
        ["localhost.evil.example"],
        ["127.0.0.1.nip.io"],
        ["localhost@evil.example"],
        ["localhost", "localhost"],
        ["localhost", "evil.example"],
        ["evil.example", "localhost"],
    ],
    ids=lambda hosts: "+".join(hosts) or "none",
)
def test_another_host_is_refused_on_every_path(http_server: HttpServer, path: str, hosts: list[str]) -> None:
    for method in METHODS:
        answer = ask(http_server, method, path, [("Host", host) for host in hosts])
        assert answer.status in {400, 421}, method


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "origins",
    [
        ["null"],
        [""],
        ["https://evil.example"],
        ["http://localhost.evil.example"],
        ["http://localhost@evil.example"],
        ["http://localhost", "https://evil.example"],
        ["http://localhost", "http://localhost"],
    ],
    ids="+".join,
)
def test_pages_of_other_origins_are_refused_on_every_path(
    http_server: HttpServer, path: str, origins: list[str]
) -> None:
    headers = [own(http_server), *(("Origin", origin) for origin in origins)]
    for method in METHODS:
        answer = ask(http_server, method, path, headers)
        assert answer.status == 403, method
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8765"])
def test_the_names_of_this_machine_are_its_own(http_server: HttpServer, host: str) -> None:
    assert ask(http_server, "GET", "/healthz", [("Host", host)]).status == 200


def test_a_page_of_this_machine_may_call(http_server: HttpServer) -> None:
    assert works(http_server, ("Origin", "http://localhost:3000"))


def test_a_refusal_says_what_would_allow_it(http_server: HttpServer) -> None:
    wrong_host = ask(http_server, "GET", "/healthz", [("Host", "skills.example")])
    assert "--allow-host" in json.loads(wrong_host.body)["error"]
    wrong_origin = ask(http_server, "GET", "/healthz", [own(http_server), ("Origin", APP)])
    assert "--allow-origin" in json.loads(wrong_origin.body)["error"]


def test_the_right_token_lets_in(guarded: HttpServer) -> None:
    assert works(guarded, bearer())
    assert works(guarded, bearer(scheme="bearer"))


@pytest.mark.parametrize(
    "path",
    [
        *["/mcp", "/no/such/path", "/mcp/", "/healthz/", "/healthz/../mcp", "//healthz"],
        *["//", "/ui/call/skill-config", "/ui/events", "/ui/session/"],
    ],
)
@pytest.mark.parametrize(
    "given",
    [
        [],
        [bearer("")],
        [bearer("wrong")],
        [bearer(TOKEN[:-1])],
        [bearer(f"{TOKEN}x")],
        [bearer(TOKEN.upper())],
        [bearer(f"{TOKEN},{TOKEN}")],
        [bearer("\xe9")],
        [bearer(), bearer()],
        [bearer("wrong"), bearer()],
        [bearer(), bearer("wrong")],
        [bearer(scheme="Basic")],
        [bearer(scheme="")],
        [("Authorization", TOKEN)],
        [("Authorization", "Bearer")],
        [("X-Authorization", f"Bearer {TOKEN}")],
    ],
    ids=str,
)
def test_any_other_token_does_not(guarded: HttpServer, path: str, given: Headers) -> None:
    answer = ask(guarded, "POST", path, [own(guarded), *MODERN_LIST, *given], list_request())
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert TOKEN.encode() not in answer.body


def test_a_token_in_the_address_is_none(guarded: HttpServer) -> None:
    for query in (f"?access_token={TOKEN}", f"?token={TOKEN}"):
        answer = ask(guarded, "POST", f"/mcp{query}", [own(guarded), *MODERN_LIST], list_request())
        assert answer.status == 401


def test_the_health_check_needs_no_token_but_the_right_host(guarded: HttpServer) -> None:
    assert ask(guarded, "GET", "/healthz", [own(guarded)]).status == 200
    assert ask(guarded, "GET", "/healthz", [("Host", "evil.example")]).status == 421
    assert ask(guarded, "GET", "/healthz", [own(guarded), ("Origin", "null")]).status == 403


def test_a_token_does_not_excuse_a_wrong_host_or_origin(guarded: HttpServer) -> None:
    wrong_host = [("Host", "evil.example"), *MODERN_LIST, bearer()]
    assert ask(guarded, "POST", "/mcp", wrong_host, list_request()).status == 421
    wrong_origin = [own(guarded), ("Origin", "https://evil.example"), *MODERN_LIST, bearer()]
    assert ask(guarded, "POST", "/mcp", wrong_origin, list_request()).status == 403


def test_a_session_does_not_stand_in_for_the_token(guarded: HttpServer) -> None:
    with closing(HttpPeer(LEGACY, guarded.url, TOKEN)) as peer:
        assert peer.result("skills/list")["skills"]
        request = {"jsonrpc": "2.0", "id": 9, "method": "skills/list"}
        assert peer.post(request).status_code == 200
        assert peer.post(request, {"authorization": "Bearer wrong"}).status_code == 401


def test_allowed_host_matches_any_case_and_port(guarded: HttpServer) -> None:
    for host in ("skills.example", "SKILLS.EXAMPLE:443", "127.0.0.1"):
        assert ask(guarded, "GET", "/healthz", [("Host", host)]).status == 200
    assert ask(guarded, "GET", "/healthz", [("Host", "www.skills.example")]).status == 421


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("skills/list", {}),
        ("skills/get", {"uri": "skill://refunds/SKILL.md"}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "skill://refunds/references/policy.md"}),
        ("resources/read", {"uri": "skillwire://problems"}),
    ],
)
def test_token_makes_answers_private_and_static_makes_ttl_one_hour(
    guarded: HttpServer, method: str, params: dict[str, Any]
) -> None:
    with closing(HttpPeer(MODERN, guarded.url, TOKEN)) as peer:
        result = peer.result(method, params)
    assert (result["cacheScope"], result["ttlMs"]) == ("private", 3_600_000)


@pytest.mark.rule("S12")
def test_older_clients_get_no_cache_fields(guarded: HttpServer) -> None:
    with closing(HttpPeer(LEGACY, guarded.url, TOKEN)) as peer:
        assert not {"cacheScope", "ttlMs", "resultType"} & set(peer.result("skills/list"))


@pytest.mark.parametrize("origin", [APP, "https://other.example:8443"])
def test_preflight_from_allowed_origin_succeeds(guarded: HttpServer, origin: str) -> None:
    asked = "authorization,content-type,mcp-protocol-version,mcp-session-id,mcp-method,mcp-name,last-event-id"
    headers = [
        own(guarded),
        ("Origin", origin),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", asked),
    ]
    answer = ask(guarded, "OPTIONS", "/mcp", headers)
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == origin
    allowed = {name.strip().lower() for name in answer.headers["access-control-allow-headers"].split(",")}
    assert set(asked.split(",")) <= allowed
    methods = {name.strip() for name in answer.headers["access-control-allow-methods"].split(",")}
    assert {"GET", "POST", "DELETE"} <= methods


def test_preflight_from_other_origin_fails(guarded: HttpServer) -> None:
    for origin in ("https://evil.example", "null", f"{APP}:444", "http://app.example"):
        headers = [own(guarded), ("Origin", origin), ("Access-Control-Request-Method", "POST")]
        answer = ask(guarded, "OPTIONS", "/mcp", headers)
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers


def test_an_allowed_page_may_see_the_answer_and_its_session(guarded: HttpServer) -> None:
    headers = [own(guarded), ("Origin", APP), *MODERN_LIST, bearer()]
    answer = ask(guarded, "POST", "/mcp", headers, list_request())
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == APP
    assert "mcp-session-id" in answer.headers["access-control-expose-headers"].lower()
    assert "origin" in answer.headers["vary"].lower()


def test_an_allowed_page_sees_that_its_token_is_wrong(guarded: HttpServer) -> None:
    headers = [own(guarded), ("Origin", APP), *MODERN_LIST, bearer("wrong")]
    answer = ask(guarded, "POST", "/mcp", headers, list_request())
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (401, APP)


@pytest.mark.parametrize("era", [JSON, MODERN_LIST], ids=["2025", "2026"])
def test_oversized_body_is_refused_and_next_request_works(http_server: HttpServer, era: Headers) -> None:
    headers = [own(http_server), *era]
    assert ask(http_server, "POST", "/mcp", headers, b" " * (BODY_LIMIT + 1)).status == 413
    assert works(http_server)


def test_a_body_without_a_length_has_the_same_limit(http_server: HttpServer) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(BODY_LIMIT // 65536 + 2):
            yield b" " * 65536

    client = httpx2.Client(headers=dict(MODERN_LIST), timeout=PATIENCE, trust_env=False)
    with client, suppress(httpx2.WriteError):  # to hang up before the end is a refusal too
        assert client.post(http_server.url, content=endless()).status_code == 413
    assert works(http_server)


def test_a_body_at_the_limit_is_read(http_server: HttpServer) -> None:
    body = list_request()
    padded = body + b" " * (BODY_LIMIT - len(body))
    assert ask(http_server, "POST", "/mcp", [own(http_server), *MODERN_LIST], padded).status == 200


BAD_BODIES = {
    "empty": b"",
    "half": b'{"jsonrpc":',
    "not utf-8": b'{"jsonrpc":"\xff"}',
    "deep": b"[" * 100_000,
    "deep params": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 50_000,
    "empty batch": b"[]",
    "batch": b'[{"jsonrpc":"2.0","id":1,"method":"skills/list"}]',
    "number": b"5",
    "null": b"null",
    "no version": b'{"id":1,"method":"skills/list"}',
    "wrong version": b'{"jsonrpc":"1.0","id":1,"method":"skills/list"}',
    "float id": b'{"jsonrpc":"2.0","id":1.5,"method":"skills/list"}',
    "null id": b'{"jsonrpc":"2.0","id":null,"method":"skills/list"}',
}


@pytest.mark.parametrize("era", [JSON, MODERN_LIST], ids=["2025", "2026"])
@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_invalid_message_fails_and_next_request_works(
    http_server: HttpServer, era: Headers, body: bytes
) -> None:
    answer = ask(http_server, "POST", "/mcp", [own(http_server), *era], body)
    assert 400 <= answer.status < 500
    assert answer.error["code"] in {-32700, -32600, -32602}
    assert works(http_server)


@pytest.mark.parametrize("era", [JSON, MODERN_LIST], ids=["2025", "2026"])
@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_error_describes_message_not_libraries(http_server: HttpServer, era: Headers, body: bytes) -> None:
    message = ask(http_server, "POST", "/mcp", [own(http_server), *era], body).error["message"]
    assert "pydantic" not in message
    assert len(message) < 400


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "nonsense", None]
)
def test_wrong_content_type_fails_and_next_request_works(
    http_server: HttpServer, content_type: str | None
) -> None:
    kept = [(name, value) for name, value in MODERN_LIST if name != "Content-Type"]
    given = [] if content_type is None else [("Content-Type", content_type)]
    answer = ask(http_server, "POST", "/mcp", [own(http_server), *kept, *given], list_request())
    assert answer.status in {400, 415}
    assert answer.error["code"] == -32600
    assert works(http_server)


def test_endless_headers_are_refused_before_authentication(guarded: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", port_of(guarded)), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /mcp HTTP/1.1\r\nHost: evil.example\r\n")
        with suppress(ConnectionError):  # it hangs up while we still talk
            for _ in range(1000):
                connection.sendall(b"x" * 1024)
        with suppress(ConnectionError):
            assert connection.recv(64).startswith((b"HTTP/1.1 431", b""))
    assert works(guarded, bearer())


def test_large_headers_and_many_requests_on_one_connection_work(
    http_server: HttpServer,
) -> None:
    with httpx2.Client(headers=dict(MODERN_LIST), timeout=PATIENCE, trust_env=False) as client:
        for _ in range(20):
            answer = client.post(http_server.url, content=list_request(), headers={"x-long": "x" * 30_000})
            assert answer.status_code == 200


def test_bytes_that_are_no_http_hurt_nobody(http_server: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", port_of(http_server)), timeout=PATIENCE) as connection:
        connection.sendall(b"\x16\x03\x01 hello?\r\n\r\n")
        assert b"200" not in connection.recv(4096)
    assert works(http_server)


def usage(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Return what a command line that makes no sense is told, having seen that it ends with 2."""
    code = run(["serve", *map(str, arguments)])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert captured.err.startswith("error: ")
    assert "\nhint: " in captured.err
    return captured.err


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.7:0", "skills.example:0"])
def test_a_public_address_without_a_token_is_refused(
    small_tree: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    told = usage(capsys, small_tree, "--http", address)
    assert f"`{address.rpartition(':')[0].strip('[]')}`" in told
    assert "--token-env" in told
    assert "--allow-public" in told


def test_a_public_server_that_was_insisted_on_works(public: HttpServer) -> None:
    assert works(public)
    assert ask(public, "GET", "/healthz", [("Host", "192.0.2.7:8765")]).status == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["localhost", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io"])
def test_a_public_server_answers_to_no_name_on_any_path(public: HttpServer, path: str, host: str) -> None:
    assert ask(public, "GET", path, [("Host", host)]).status == 421


@pytest.mark.parametrize("path", PATHS)
def test_only_its_own_pages_may_call_a_public_server(public: HttpServer, path: str) -> None:
    port = port_of(public)
    for origin in ("null", "http://localhost:3000", "http://127.0.0.1:1", "https://evil.example"):
        assert ask(public, "GET", path, [own(public), ("Origin", origin)]).status == 403
    own_page = ask(public, "GET", path, [own(public), ("Origin", f"http://127.0.0.1:{port}")])
    assert own_page.status not in {403, 421}


def test_a_port_in_use_is_refused_with_a_hint(
    http_server: HttpServer, small_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = port_of(http_server)
    told = usage(capsys, small_tree, "--http", str(port))
    assert f"cannot listen on 127.0.0.1:{port}: address already in use" in told
    assert "choose another port" in told


@pytest.mark.parametrize("address", ["http", "localhost", "1:2:3", "99999", "http://localhost:80"])
def test_what_is_no_address_is_refused(
    small_tree: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    assert "`[IPV6]:PORT`" in usage(capsys, small_tree, f"--http={address}")


@pytest.mark.parametrize("value", [None, "", "  "])
def test_an_empty_token_is_refused(
    small_tree: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    value: str | None,
) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(TOKEN_VARIABLE, value)
    told = usage(capsys, small_tree, "--http", "0", "--token-env", TOKEN_VARIABLE)
    assert f"`{TOKEN_VARIABLE}` is empty or not set" in told


@pytest.mark.parametrize("value", ["two words", "caf\xe9", "line\nbreak", "tab\tstop"])
def test_token_invalid_in_header_is_refused_and_not_printed(
    small_tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, value)
    told = usage(capsys, small_tree, "--http", "0", "--token-env", TOKEN_VARIABLE)
    assert value not in told


@pytest.mark.parametrize(
    "option",
    [
        ["--token-env", TOKEN_VARIABLE],
        ["--allow-host", "skills.example"],
        ["--allow-origin", APP],
    ],
    ids=lambda option: option[0],
)
def test_what_only_http_understands_is_refused_without_it(
    small_tree: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: list[str],
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    assert f"`{option[0]}` needs `--http`" in usage(capsys, small_tree, *option)


def test_allow_public_without_http_is_refused(small_tree: Path) -> None:
    done = subprocess.run(  # a process: should it serve after all, it takes stdin and stdout for itself
        skillwire("serve", small_tree, "--allow-public"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert b"`--allow-public` needs `--http`" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_signal_ends_server_cleanly_despite_open_stream(small_tree: Path, number: signal.Signals) -> None:
    with (
        HttpServer(small_tree, "--http", "0") as server,
        closing(HttpPeer(LEGACY, server.url)) as peer,
    ):
        _ = peer.handshake
        sent = peer.post({"jsonrpc": "2.0", "id": 5, "method": "ping"}).request.headers
        headers = {"accept": "text/event-stream", "mcp-session-id": sent["mcp-session-id"]}
        with peer.http.stream("GET", server.url, headers=headers) as stream:
            assert stream.status_code == 200
            server.process.send_signal(number)
            assert server.process.wait(timeout=PATIENCE) == 0
        assert server.stop() == 0
    assert "Traceback" not in "".join(server.log)
    assert "ERROR" not in "".join(server.log)


def machine_paths(tree: Path) -> list[str]:
    return [str(tree), str(tree.resolve()), str(tree.parent)]


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_no_answer_names_a_path_of_this_machine(
    public: HttpServer, small_tree: Path, unreadable_tree: Path, version: str
) -> None:
    asked: list[tuple[str, dict[str, str]]] = [
        ("resources/read", {"uri": "skillwire://problems"}),
        ("resources/list", {}),
        ("skills/list", {}),
        ("skills/get", {"uri": "skill://broken/SKILL.md"}),
        ("resources/read", {"uri": "skill://refunds/outside/SKILL.md"}),
        ("resources/read", {"uri": "skill://refunds/loop"}),
        ("resources/read", {"uri": "skill://refunds/../../etc/passwd"}),
        ("resources/directory/read", {"uri": "skill://refunds/nothing"}),
        ("skills/list", {"cursor": "nonsense"}),
        ("no/such/method", {}),
    ]
    with closing(HttpPeer(version, public.url)) as peer:
        text = json.dumps([peer.handshake, [peer.request(method, params) for method, params in asked]])
    assert "ignore-file" in text
    paths = [*machine_paths(small_tree), *machine_paths(unreadable_tree)]
    assert not [path for path in paths if path in text]


def test_missing_folder_error_hides_path_and_next_request_works(
    tmp_path: Path,
) -> None:
    root = tmp_path / "vanishing"
    write_skill(root, "refunds")
    answers: list[Any] = []
    with HttpServer(root, "--http", "0") as server:
        modern, legacy = HttpPeer(MODERN, server.url), HttpPeer(LEGACY, server.url)
        with closing(modern), closing(legacy):
            for peer in (modern, legacy):
                assert peer.result("skills/list")["skills"]
            shutil.rmtree(root)
            for peer in (modern, legacy):
                answers.append(peer.error("resources/read", {"uri": "skill://refunds/SKILL.md"}))
                answers.append(peer.result("skills/list"))
                answers.append(peer.result("resources/read", {"uri": "skillwire://problems"}))
    assert not [path for path in machine_paths(root) if path in json.dumps(answers)], answers
    assert "Traceback" not in "".join(server.log)
