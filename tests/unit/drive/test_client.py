"""A program that exposes live skills with `DriveClient`, over both transports."""

import json
import logging
import signal
import sys
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from skillwire import DriveClient
from skillwire.drive import (
    Auth,
    Backoff,
    ClientInfo,
    DeniedError,
    Hooks,
    LiveContext,
    LiveRequest,
    Options,
    RefusedByServerError,
)
from skillwire.drive.exposed_paths import MAX_RESULT
from skillwire.drive.transports import ConnectionLostError, LoopTransport, ReplacedError, ServerAddress
from skillwire.errors import InvalidValueError, NotFoundError, UsageError
from skillwire.server import Address, listen
from tests.support.drive import Drive, drive_server
from tests.support.peers import PATIENCE
from tests.support.recorded import path_vectors
from tests.tooling.test_everything_has_its_place import loaded_by

TRANSPORTS = ["ws", "http"]
FAST = Backoff(first=0.01, most=0.05)


def client_of(drive: Drive, transport: str, **more: Any) -> DriveClient:
    url = drive.socket if transport == "ws" else drive.base
    arguments: dict[str, Any] = {"id": "app", "name": "App", "backoff": FAST, **more}
    return DriveClient(url, **arguments)


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_texts_resolvers_and_decorated_functions_are_read_live(transport: str) -> None:
    seen: list[tuple[LiveRequest, LiveContext]] = []
    count = 0
    async with drive_server() as drive:
        client = client_of(drive, transport, description="A program.", version="1.0", metadata={"a": 1})
        client.expose("/text/skill.md", "# Title\n\nThe first\nparagraph.")

        def resolve(request: LiveRequest, context: LiveContext) -> str:
            seen.append((request, context))
            return f"# Order {request.params['id']}"

        client.expose("/orders/:id/skill.md", Options(description="One order."), resolve)

        @client.expose("/count/skill.md", description="How often it was read.")
        async def counted() -> str:  # pyright: ignore[reportUnusedFunction]
            nonlocal count
            count += 1
            return f"# {count}"

        async with client:
            (online,) = drive.hub.clients
            assert [each.listed for each in online.info.paths] == [
                {
                    "type": "skill",
                    "path": "/text/skill.md",
                    "description": "The first paragraph.",
                    "contentType": "text/markdown",
                },
                {
                    "type": "skill",
                    "path": "/orders/:id/skill.md",
                    "description": "One order.",
                    "contentType": "text/markdown",
                },
                {
                    "type": "skill",
                    "path": "/count/skill.md",
                    "description": "How often it was read.",
                    "contentType": "text/markdown",
                },
            ]
            assert online.info.about == {
                "description": "A program.",
                "version": "1.0",
                "platform": "python",
                "metadata": {"a": 1},
            }
            assert (await drive.get("/skills/app/text")).text == "# Title\n\nThe first\nparagraph."
            assert [(await drive.get("/skills/app/count")).text for _ in range(2)] == ["# 1", "# 2"]
            answer = await drive.get("/skills/app/orders/42?verbose=1", headers={"x-scope": "all"})
            assert answer.text == "# Order 42"
        await drive.until_online()
    ((request, context),) = seen
    assert (request.params, request.queries, request.body) == ({"id": "42"}, {"verbose": "1"}, None)
    assert request.headers["x-scope"] == "all"
    assert (context.client_id, context.method, context.path) == ("app", "GET", "/orders/42/skill.md")


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_exposed_paths_can_change_while_connected(transport: str) -> None:
    async with drive_server() as drive, client_of(drive, transport) as client:
        client.expose("/a/skill.md", "# One")
        await drive.until(lambda: drive.hub.find("app", "GET", "/a/skill.md") is not None)
        assert (await drive.get("/skills/app/a")).text == "# One"
        client.expose("/a/skill.md", "# Two")
        assert (await drive.get("/skills/app/a")).text == "# Two"
        client.expose("/b/skill.md", "# B")
        client.unexpose("/a/skill.md")
        await drive.until(lambda: drive.hub.find("app", "GET", "/b/skill.md") is not None)
        assert (await drive.get("/skills/app/a")).status_code == 404
        with pytest.raises(InvalidValueError, match="is not exposed here"):
            client.unexpose("/a/skill.md")


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_client_reconnects_with_all_exposed_paths(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with drive_server() as drive, client_of(drive, transport) as client:
        client.expose("/a/skill.md", "# A")
        for at in range(3):
            client.expose(f"/b{at}/skill.md", "# B")
            await drive.until(lambda at=at: drive.hub.find("app", "GET", f"/b{at}/skill.md") is not None)
            drive.hub.disconnect("app")
            await drive.until_online()
            await drive.until_online("app")
            assert (await drive.get("/skills/app/a")).text == "# A"
        assert len(drive.hub.clients[0].info.paths) == 4
        await client.until_connected()
    shown = [each.message.partition(" ")[0] for each in caplog.records if each.name.endswith("drive.client")]
    assert shown == ["not", "connected"] * 3


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_client_waits_for_a_server_that_starts_later(transport: str) -> None:
    listening, bound = listen(Address("127.0.0.1", 0))
    listening.close()
    scheme = "ws" if transport == "ws" else "http"
    client = DriveClient(f"{scheme}://{bound.authority}/mcp", id="app", name="App", backoff=FAST)
    client.expose("/a/skill.md", "# A")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run)
        for _ in range(2):
            async with drive_server(port=bound.port) as drive:
                await drive.until_online("app")
                assert (await drive.get("/skills/app/a")).text == "# A"
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_replaced_client_does_not_reconnect(transport: str) -> None:
    async with (
        drive_server() as drive,
        client_of(drive, transport) as old,
        client_of(drive, transport, name="Newer"),
    ):
        with (
            pytest.raises(ReplacedError, match="another program has registered with the id `app`"),
            anyio.fail_after(PATIENCE),
        ):
            await old.until_ended()
        (online,) = drive.hub.clients
        assert online.info.name == "Newer"


class Denying(Hooks):
    """Takes nobody but the one who knows the word."""

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        if auth is None or auth.token != "sesame":
            raise DeniedError("say the word")


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_refused_client_does_not_reconnect(transport: str) -> None:
    async with drive_server(hooks=Denying(), token="secret") as drive:
        with pytest.raises(RefusedByServerError, match="this server requires its token"):
            await client_of(drive, transport).run()
        with pytest.raises(RefusedByServerError, match="401: the token is wrong"):
            await client_of(drive, transport, token="guess").run()
        with pytest.raises(RefusedByServerError, match="say the word"):
            async with client_of(drive, transport, token="secret"):
                raise AssertionError("it was let in")
        async with client_of(drive, transport, token="secret", auth=Auth(token="sesame")):
            assert drive.hub.clients[0].session.auth_source == "transport+message"


class Failing(Hooks):
    """Fails at the first registration."""

    def __init__(self) -> None:
        self.failed = False

    async def authorize_registration(
        self, client: ClientInfo, auth: Auth | None, transport_auth: Auth | None
    ) -> None:
        if not self.failed:
            self.failed = True
            raise LookupError("private detail")


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_client_tries_again_after_a_hook_failed(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with drive_server(hooks=Failing()) as drive, client_of(drive, transport):
        await drive.until_online("app")
    shown = [each.message for each in caplog.records if each.name.endswith("drive.client")]
    assert "the server refused the registration, because its own check failed" in shown[0]
    assert "private detail" not in "".join(shown)
    (logged,) = (each for each in caplog.records if each.name.endswith("drive.hub"))
    assert "private detail" in caplog.text
    assert (logged.levelname, "`app`" in logged.message) == ("ERROR", True)


@pytest.mark.anyio
async def test_server_without_live_skills_is_reported(tmp_path: Any) -> None:
    async with drive_server() as drive:
        with pytest.raises(
            RefusedByServerError, match="404: no reason given; was the server started with `--drive`"
        ):
            await DriveClient(f"{drive.base}/elsewhere", id="app", name="App", backoff=FAST).run()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("result", "told"),
    [
        (ValueError("password=hunter2"), "ValueError"),
        (KeyError("99"), "KeyError"),
        (RuntimeError(), "RuntimeError"),
        (object(), "the resolver returned something that is not JSON"),
        ("x" * MAX_RESULT, "the answer has"),
    ],
    ids=["error", "key", "silent error", "no JSON", "too much"],
)
async def test_failing_resolver_does_not_affect_others(
    result: Any, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    def resolve() -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    async with drive_server() as drive, client_of(drive, "ws") as client:
        client.expose("/bad/skill.md", Options(), resolve)
        client.expose("/good/skill.md", "# Good")
        await drive.until(lambda: drive.hub.find("app", "GET", "/good/skill.md") is not None)
        answer = await drive.get("/skills/app/bad")
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "handler_error")
        message = answer.json()["error"]["message"]
        assert told in message
        assert "hunter2" not in message
        assert "Traceback" not in message
        assert (await drive.get("/skills/app/good")).text == "# Good"
    logged = [each for each in caplog.records if each.name == "skillwire.drive.exposed_paths"]
    if isinstance(result, Exception):  # the traceback is at the program
        assert logged[0].levelname == "ERROR"
        assert "the resolver of `/bad/skill.md` failed" in logged[0].message
        assert logged[0].exc_info is not None
        assert logged[0].exc_info[1] is result
    else:
        assert all("returned object; return Markdown" in each.message for each in logged)


@pytest.mark.anyio
async def test_slow_resolver_does_not_delay_others() -> None:
    release = anyio.Event()
    answers: list[str] = []

    async def slow() -> str:
        await release.wait()
        return "# Slow"

    async with drive_server() as drive, client_of(drive, "ws") as client, anyio.create_task_group() as tasks:
        client.expose("/slow/skill.md", Options(), slow)
        client.expose("/fast/skill.md", "# Fast")
        await drive.until(lambda: drive.hub.find("app", "GET", "/fast/skill.md") is not None)

        async def read_slow() -> None:
            answers.append((await drive.get("/skills/app/slow")).text)

        tasks.start_soon(read_slow)
        assert (await drive.get("/skills/app/fast")).text == "# Fast"
        release.set()
    assert answers == ["# Slow"]


def test_options_without_a_resolver_are_a_mistake() -> None:
    client = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    with pytest.raises(UsageError, match="has no resolver"):
        client.expose("/a/skill.md", Options(description="x"))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("content", [lambda: "# A", 42, b""])
def test_exposing_neither_text_nor_options_is_refused(content: Any) -> None:
    client = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    with pytest.raises(UsageError, match="cannot use a"):
        client.expose("/a/skill.md", content)
    assert client.exposed == []


@pytest.mark.parametrize(("path", "accepted"), path_vectors().items())
def test_the_same_paths_can_be_exposed_as_with_the_reference(path: str, *, accepted: bool) -> None:
    client = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    if not accepted:
        with pytest.raises(InvalidValueError):
            client.expose(path, "# Title\n\npara one\nline two\n\nmore")
        return
    client.expose(path, "# Title\n\npara one\nline two\n\nmore")
    (descriptor,) = json.loads(json.dumps(client.exposed))
    assert descriptor == {
        "type": "skill",
        "path": path,
        "description": "para one line two",
        "contentType": "text/markdown",
    }


IN: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
OUT: dict[str, Any] = {"type": "object"}


def _params(request: LiveRequest) -> Any:
    return request.params


def _queries(request: LiveRequest) -> Any:
    return request.queries


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_endpoints_and_prompts_get_the_whole_request(transport: str) -> None:
    seen: list[tuple[LiveRequest, LiveContext]] = []
    async with drive_server() as drive:
        client = client_of(drive, transport)

        @client.expose("/orders", method="POST", description="Make one.", input_schema=IN, output_schema=OUT)
        async def make(request: LiveRequest, context: LiveContext) -> Any:  # pyright: ignore[reportUnusedFunction]
            seen.append((request, context))
            return {"made": request.body}

        client.expose("/orders", Options(method="GET", content_type="application/json"), lambda: [1, 2])
        client.expose("/orders/:id", Options(method="DELETE"), lambda: None)
        client.expose("/orders/:id", Options(method="GET"), _params)
        client.expose("/orders/all", Options(method="GET"), lambda: "all")
        client.expose("/sum/prompt.md", "# Sums\n\nAdd what you get.")
        client.expose("/ask/PROMPT.md", Options("Asks.", input_schema=IN), _queries)
        async with client, Client(drive.mcp) as host:
            (online,) = drive.hub.clients
            assert [each.listed for each in online.info.paths] == [
                {
                    "type": "endpoint",
                    "path": "/orders",
                    "method": "POST",
                    "description": "Make one.",
                    "inputSchema": IN,
                    "outputSchema": OUT,
                },
                {"type": "endpoint", "path": "/orders", "method": "GET", "contentType": "application/json"},
                {"type": "endpoint", "path": "/orders/:id", "method": "DELETE"},
                {"type": "endpoint", "path": "/orders/:id", "method": "GET"},
                {"type": "endpoint", "path": "/orders/all", "method": "GET"},
                {"type": "prompt", "path": "/sum/prompt.md", "description": "Add what you get."},
                {"type": "prompt", "path": "/ask/PROMPT.md", "description": "Asks.", "inputSchema": IN},
            ]

            async def call(method: str, path: str, **more: Any) -> Any:
                asked = {"clientId": "app", "method": method, "path": path, **more}
                return (await host.call_tool("callPath", asked)).structured_content

            more: dict[str, Any] = {"query": {"a": [1]}, "headers": {"x-a": "b"}, "auth": {"token": "t"}}
            assert await call("POST", "/orders", body={"n": 1}, **more) == {
                "ok": True,
                "data": {"made": {"n": 1}},
            }
            assert await call("GET", "/orders") == {"ok": True, "data": [1, 2]}
            assert await call("DELETE", "/orders/7") == {"ok": True}  # which returned nothing
            assert await call("GET", "/orders/7") == {"ok": True, "data": {"id": "7"}}
            assert await call("GET", "/orders/all") == {"ok": True, "data": "all"}
            assert (await call("PUT", "/orders/7"))["error"]["code"] == "not_found"
            message = {"role": "user", "content": "# Sums\n\nAdd what you get."}
            assert await call("GET", "/sum/prompt.md") == {"ok": True, "data": {"messages": [message]}}
            assert await call("GET", "/ask/PROMPT.md", query={"q": 1}) == {"ok": True, "data": {"q": 1}}
            with pytest.raises(InvalidValueError, match="is not exposed here with this method; it has POST"):
                client.unexpose("/orders", "PATCH")
            client.unexpose("/orders", "POST")
            await drive.until(lambda: drive.hub.find("app", "POST", "/orders") is None)
            assert await call("GET", "/orders") == {"ok": True, "data": [1, 2]}
    ((request, context),) = seen
    assert (request.body, request.queries, request.headers) == ({"n": 1}, {"a": [1]}, {"x-a": "b"})
    assert (context.type, context.method, context.path) == ("endpoint", "POST", "/orders")
    assert context.auth == Auth(token="t")


@pytest.mark.parametrize(
    ("path", "options", "reason"),
    [
        ("/a", Options(), "or set the method of an endpoint"),
        ("/a", Options(method="get"), "must be one of `GET`"),
        ("/a", Options(method="HEAD"), "must be one of `GET`"),
        ("/a/skill.md", Options(method="POST"), "a skill is read with `GET`"),
        ("/a/prompt.md", Options(method="POST"), "a prompt is read with `GET`"),
        ("/a/skill.md", Options(input_schema={}), "a skill has no schema"),
        ("/a/prompt.md", Options(content_type="text/plain"), "a prompt has no content type"),
        ("/a/skill.md", Options(content_type="nonsense"), "is not a type such as"),
        ("/a", Options(method="GET", input_schema={"x": "x" * 9000}), "the limit is 8,192"),
        ("/a", Options(method="GET", output_schema={"x": 10**30}), "cannot be sent as JSON"),
    ],
)
def test_path_that_servers_refuse_cannot_be_exposed(path: str, options: Options, reason: str) -> None:
    client = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    with pytest.raises(InvalidValueError, match=reason):
        client.expose(path, options, lambda: "")
    assert client.exposed == []


def test_later_changes_of_a_schema_have_no_effect() -> None:
    client, schema = DriveClient("ws://127.0.0.1:1", id="app", name="App"), {**IN}
    client.expose("/a", Options(method="GET", input_schema=schema), lambda: "")
    schema["x"] = object()
    assert client.exposed == [{"type": "endpoint", "path": "/a", "method": "GET", "inputSchema": IN}]


@pytest.mark.parametrize(
    ("path", "fault"),
    [("/my_orders/skill.md", "`my_orders` is not"), ("/skill.md", "it has no folder"), ("/a/skill.md", "")],
)
def test_the_program_is_warned_of_unlisted_skills(
    path: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    DriveClient("ws://127.0.0.1:1", id="app", name="App").expose(path, "# A")
    assert bool(fault) == bool(caplog.records)
    assert f"the skill at `{path}` is not listed to MCP clients: {fault}" in caplog.text or not fault


def test_text_and_function_cannot_be_exposed_together() -> None:
    client: Any = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    with pytest.raises(UsageError, match="both a text and a function"):
        client.expose("/a/skill.md", "# A", lambda: "# B")
    assert client.exposed == []


def test_options_outside_the_options_value_are_refused() -> None:
    client: Any = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    with pytest.raises(UsageError, match="options outside"):
        client.expose("/a/skill.md", Options(), lambda: "# A", description="Lost.")
    assert client.exposed == []


def test_endpoint_cannot_be_exposed_as_text() -> None:
    client = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    with pytest.raises(InvalidValueError):
        client.expose("/a", "text")


@pytest.mark.parametrize("path", ["/search", "/a/:id"])
def test_path_without_leaf_is_not_a_skill(path: str) -> None:
    with pytest.raises(InvalidValueError, match=r"end it in `/skill\.md`"):
        DriveClient("ws://127.0.0.1:1", id="app", name="App").expose(path, "x")


def _takes_three(_one: object, _two: object, _three: object) -> str:
    return ""


def test_resolver_takes_at_most_request_and_context() -> None:
    client = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    with pytest.raises(InvalidValueError, match="at most the request and the context"):
        client.expose("/a/skill.md", Options(), _takes_three)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ws://127.0.0.1:8765", ServerAddress("ws://127.0.0.1:8765", over_socket=True, local=True)),
        ("wss://skills.example/", ServerAddress("wss://skills.example", over_socket=True, local=False)),
        ("http://localhost:1/mcp", ServerAddress("http://localhost:1", over_socket=False, local=True)),
        ("https://a.example/b/", ServerAddress("https://a.example/b", over_socket=False, local=False)),
    ],
)
def test_scheme_of_the_address_selects_the_transport(url: str, address: ServerAddress) -> None:
    assert ServerAddress.parse(url) == address


@pytest.mark.parametrize("url", ["127.0.0.1:8765", "ftp://a", "ws://", ""])
def test_invalid_server_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidValueError, match="is not a URL such as"):
        DriveClient(url, id="app", name="App")


@pytest.mark.parametrize("name", ["mcp", "a b", ""])
def test_an_id_that_no_server_takes_is_refused_at_once(name: str) -> None:
    with pytest.raises(InvalidValueError, match="client id"):
        DriveClient("ws://127.0.0.1:1", id=name, name="App")


@given(st.integers(1, 10_000))
def test_backoff_grows_up_to_a_maximum(attempt: int) -> None:
    backoff = Backoff(first=0.5, factor=2, most=30)
    assert 0.4 <= backoff.seconds(attempt) <= 36
    assert backoff.seconds(1) <= 0.6


def test_the_drive_client_imports_no_server_and_no_sdk() -> None:
    loaded = loaded_by("import skillwire.drive.client")
    assert {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "yaml"} & loaded == set()


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": (1, -float("inf"))}, 10**30, "\ud800"])
async def test_value_that_is_not_json_fails_only_its_call(transport: str, value: Any) -> None:
    async with drive_server() as drive:
        client = client_of(drive, transport)
        client.expose("/odd/skill.md", Options(description="Odd."), lambda: value)
        client.expose("/good/skill.md", Options(description="Good."), lambda: {"none": None})
        async with client:
            odd = await drive.get("/skills/app/odd")
            assert (odd.status_code, odd.json()["error"]["code"]) == (502, "handler_error")
            assert (await drive.get("/skills/app/good")).json() == {"data": {"none": None}}


@pytest.mark.anyio
async def test_a_value_that_is_nested_too_deep_fails_its_call() -> None:
    value: Any = 1
    for _ in range(99):
        value = [value]
    async with drive_server() as drive:
        client = client_of(drive, "http")
        client.expose("/deep/skill.md", Options(description="Deep."), lambda: value)
        async with client:
            answer = await drive.get("/skills/app/deep")
            assert (answer.status_code, "nested" in answer.json()["error"]["message"]) == (502, True)


def test_lone_surrogate_is_refused_when_exposed() -> None:
    client = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    with pytest.raises(InvalidValueError, match="without lone surrogates"):
        client.expose("/a/skill.md", "# A", description="half \ud800")
    with pytest.raises(InvalidValueError, match="without lone surrogates"):
        client.expose("/a/skill.md", "half \ud800")
    with pytest.raises(InvalidValueError, match="is not JSON"):
        DriveClient("ws://127.0.0.1:1", id="app", name="half \ud800")
    assert client.exposed == []


@pytest.mark.anyio
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_text_with_frontmatter_is_listed_and_readable(transport: str) -> None:
    text = "---\nname: own\ndescription: >-\n  Its own\n  words.\n---\n# Own\n\nA paragraph.\n"
    async with drive_server() as drive:
        client = client_of(drive, transport)
        client.expose("/own/skill.md", text)
        async with client:
            uri = "skill://app/own/SKILL.md"
            await drive.until_library(lambda: uri in drive.library.catalog.entries)
            assert drive.library.catalog.entries[uri].description == "Its own words."
            assert (await drive.library.read(uri)).content.endswith(b"A paragraph.\n")


@pytest.mark.anyio
@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"sessionId": 1}'])
async def test_server_without_session_id_is_a_connection_error(body: bytes) -> None:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=body)

    transport = httpx2.MockTransport(answer)
    async with httpx2.AsyncClient(base_url="http://127.0.0.1:1/", transport=transport) as http:
        with pytest.raises(ConnectionLostError, match="started no session"):
            await LoopTransport(http).begin()


@pytest.mark.parametrize("url", ["http://[", "http://x:port", "ws://x:99999", "http://x:0"])
def test_malformed_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidValueError, match="is not a URL such as"):
        ServerAddress.parse(url)


def drive_log(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.message for each in caplog.records if each.name.startswith("skillwire.drive")]


@pytest.mark.anyio
@pytest.mark.parametrize("result", [None, 5])
async def test_skill_that_is_no_text_is_logged_once(result: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with drive_server() as drive:
        client = client_of(drive, "ws")
        client.expose("/odd/skill.md", Options("Odd."), lambda: result)
        client.expose("/done", Options("An endpoint.", method="POST"), lambda: None)
        async with client:
            for _ in range(2):
                assert (await drive.get("/skills/app/odd")).status_code == 200
    (line,) = drive_log(caplog)
    name = type(result).__name__
    assert line.startswith(f"the resolver of the skill `/odd/skill.md` returned {name}; return Markdown")


@pytest.mark.anyio
async def test_resolver_answers_not_found(caplog: pytest.LogCaptureFixture) -> None:
    async with drive_server() as drive:
        client = client_of(drive, "ws")

        @client.expose("/orders/:number/skill.md", description="An order.")
        def order(request: LiveRequest) -> str:
            raise NotFoundError(f"there is no order {request.params['number']}")

        async with client:
            answer = await drive.get("/skills/app/orders/99")
    assert answer.status_code == 404
    assert answer.json() == {"error": {"code": "not_found", "message": "there is no order 99"}}
    assert drive_log(caplog) == []


@pytest.mark.anyio
async def test_message_of_an_exception_is_sent_on_request() -> None:
    def fail() -> str:
        raise ValueError("no such order")

    async with drive_server() as drive:
        client = client_of(drive, "ws", error_messages=True)
        client.expose("/bad/skill.md", Options("Bad."), fail)
        async with client:
            answer = await drive.get("/skills/app/bad")
    assert answer.json() == {"error": {"code": "handler_error", "message": "ValueError: no such order"}}


def test_function_that_is_replaced_is_logged_and_text_is_not(caplog: pytest.LogCaptureFixture) -> None:
    client = DriveClient("ws://127.0.0.1:1", id="app", name="App")
    for text in ("# One", "# Two"):
        client.expose("/text/skill.md", text)
    client.expose("/a/skill.md", Options("A."), lambda: "# A")
    client.unexpose("/a/skill.md")
    client.expose("/a/skill.md", Options("A."), lambda: "# A")
    assert drive_log(caplog) == []
    client.expose("/a/skill.md", Options("A."), lambda: "# B")
    (line,) = drive_log(caplog)
    assert line.startswith("`/a/skill.md` was already exposed; the earlier function is replaced")


@pytest.mark.anyio
async def test_first_connection_is_not_logged_as_another_one(caplog: pytest.LogCaptureFixture) -> None:
    listening, bound = listen(Address("127.0.0.1", 0))
    listening.close()
    client = DriveClient(f"ws://{bound.authority}", id="app", name="App", backoff=FAST)
    tried = anyio.Event()

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tried.set()

    noting, log = Noting(), logging.getLogger("skillwire.drive.client")
    log.addHandler(noting)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run)
        await tried.wait()
        log.removeHandler(noting)
        async with drive_server(port=bound.port) as drive:
            await drive.until_online("app")
            await client.until_connected()
            assert drive_log(caplog)[-1] == f"connected to `ws://{bound.authority}`"
        tasks.cancel_scope.cancel()


FOREVER = """
import sys
from skillwire import DriveClient
client = DriveClient(sys.argv[1], id="shop", name="Shop")
client.expose("/orders/skill.md", "# Orders")
client.run_forever()
print("ended", flush=True)
"""


@pytest.mark.anyio
async def test_program_that_runs_forever_ends_quietly() -> None:
    async with drive_server() as drive:
        command = [sys.executable, "-c", FOREVER, drive.socket]
        async with await anyio.open_process(command) as process:
            with anyio.fail_after(PATIENCE):
                await drive.until_online("shop")
                process.send_signal(signal.SIGINT)
                assert await process.wait() == 0
                assert process.stdout is not None
                assert process.stderr is not None
                assert [each async for each in process.stdout] == [b"ended\n"]
                assert [each async for each in process.stderr] == []
