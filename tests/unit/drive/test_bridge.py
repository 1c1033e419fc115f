"""The four tools over live skills, against what was recorded with the reference."""

import json
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult

from skillwire import Library, ServeOptions
from skillwire.drive import DriveLimits
from skillwire.drive import tools as bridge
from skillwire.drive.command import listed_paths, tree_lines
from skillwire.drive.hub import Hub
from skillwire.drive.transports import ServerAddress
from skillwire.errors import ConflictError
from skillwire.server.serve_options import all_features
from tests.support.clients import ERAS, text_of
from tests.support.drive import drive_server, echo, program, registration, silent, skills
from tests.support.recorded import frames, recorded, recorded_answers, registrations

pytestmark = pytest.mark.anyio

IGNORED = {"connectedAt", "lastSeenAt"}
RECORDS = recorded("bridge")
BEFORE_THE_END = RECORDS[:21]
"""What was asked while the first two clients were there as they had registered."""


def answer_of(result: CallToolResult) -> Any:
    """Return what a tool answered, having seen that its text says the same."""
    assert json.loads(text_of(result)) == result.structured_content
    assert text_of(result).startswith("{\n  ")
    return result.structured_content


def without_times(value: Any) -> Any:
    return json.loads(
        json.dumps(value), object_hook=lambda each: {k: v for k, v in each.items() if k not in IGNORED}
    )


def meaning_of_text(record: dict[str, Any]) -> str:
    """Return the code under which we tell what the reference only says in words."""
    words = {"not connected": "not_found", "not found": "not_found", "No matching": "not_found"}
    words |= {"validation error": "bad_request", "timed out": "timeout", "disconnected": "transport_error"}
    return next(code for word, code in words.items() if word in record["text"])


@pytest.mark.parametrize("mode", ERAS)
async def test_recorded_calls_give_the_same_results(mode: Any) -> None:
    first, _, _, second = registrations()
    async with AsyncExitStack() as stack:
        drive = await stack.enter_async_context(drive_server(limits=DriveLimits(answer_seconds=1.0)))
        for each in (first, second):
            await stack.enter_async_context(program(drive, each, recorded_answers()))
        client = await stack.enter_async_context(Client(drive.mcp, mode=mode))
        assert len([each for each in BEFORE_THE_END if "structuredContent" in each]) > 10
        for record in BEFORE_THE_END:
            result = await client.call_tool(record["tool"], record["arguments"])
            answer = answer_of(result)
            if "ghost" in record["arguments"].get("clientIds", []):
                # Different on purpose: one that is not there fails alone.
                assert [each["ok"] for each in answer["results"]] == [True, False]
                assert result.is_error is False
                continue
            assert result.is_error is record["isError"], record
            if "structuredContent" not in record:
                assert answer["error"]["code"] == meaning_of_text(record), record
                assert answer["ok"] is False
                continue
            assert without_times(_by_mode(answer)) == without_times(_by_mode(record["structuredContent"])), (
                record
            )


async def test_recorded_calls_after_an_update_give_the_same_results() -> None:
    first, _, _, second = registrations()
    update = next(each for each in frames("client->server") if each["type"] == "updateClientCatalog")
    async with (
        drive_server(limits=DriveLimits(answer_seconds=0.5)) as drive,
        program(drive, first, recorded_answers()) as client,
        program(drive, second, recorded_answers()),
        Client(drive.mcp) as host,
    ):
        await client.say(update)
        await drive.until(lambda: drive.hub.find("client-01", "GET", "/workspace/new/skill.md") is not None)
        searched, slow = RECORDS[21:23]
        found = answer_of(await host.call_tool(searched["tool"], searched["arguments"]))
        assert found == searched["structuredContent"]
        late = answer_of(await host.call_tool(slow["tool"], slow["arguments"]))
        assert late["error"]["code"] == meaning_of_text(slow)


def _by_mode(answer: Any) -> Any:
    """Both clients are on sockets here; one of the recorded ones was on the HTTP loop."""
    return json.loads(json.dumps(answer).replace('"http-loop"', '"ws"'))


async def test_recorded_call_reaches_the_client_unchanged() -> None:
    by_bridge = [
        each
        for each in frames("server->client")
        if each["clientId"] == "client-01" and "host" not in each.get("headers", {})
    ]
    async with drive_server() as drive, program(drive, registrations()[0], recorded_answers()) as client:
        async with Client(drive.mcp) as host:
            for record in BEFORE_THE_END:
                if record["tool"] == "callPath" and record["arguments"]["clientId"] == "client-01":
                    await host.call_tool("callPath", record["arguments"])
        told = [{**each, "requestId": ""} for each in client.calls]
    expected = [{**each, "requestId": ""} for each in by_bridge]
    assert told
    assert all(each in expected for each in told)


async def test_tools_declare_their_arguments() -> None:
    async with drive_server() as drive, Client(drive.mcp) as host:
        tools = {tool.name: tool.input_schema for tool in (await host.list_tools()).tools}
    taken = {name: list(schema["properties"]) for name, schema in tools.items()}
    request = ["method", "path", "query", "body", "headers", "auth"]
    assert taken["listClients"] == ["search"]
    assert taken["listPaths"] == ["clientId", "search", "depth"]
    assert taken["callPath"] == ["clientId", *request]
    assert taken["callPaths"] == ["clientIds", *request]
    assert tools["callPath"]["required"] == ["clientId", "method", "path"]
    assert all(
        schema["additionalProperties"] is False
        for name, schema in tools.items()
        if name in taken and "-" not in name
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("listPaths", {"depth": 0}, "depth: must be a whole number above zero"),
        ("listPaths", {"depth": True}, "depth: must be"),
        ("listPaths", {"client": "a"}, "unknown field `client`; use `clientId`, `search`, `depth`"),
        ("listClients", {"search": 1}, "search: must be text"),
        ("callPath", {"method": "GET", "path": "/a"}, "clientId: must be text"),
        ("callPath", {"clientId": "a", "method": "HEAD", "path": "/a"}, "method: must be one of `GET`"),
        (
            "callPath",
            {"clientId": "app", "method": "GET", "path": "/A"},
            "the program `app` has no path `/A`",
        ),
        (
            "callPath",
            {"clientId": "app", "method": "GET", "path": "/users/:id/skill.md"},
            "replace `:id` with a value",
        ),
        ("callPath", {"clientId": "b", "method": "GET", "path": "/a"}, "no program `b` is connected"),
        ("callPaths", {"clientIds": [1], "method": "GET", "path": "/a"}, "clientIds: must be a list of text"),
        ("callPaths", {"method": "GET", "path": "/nowhere"}, "no connected program has `/nowhere`"),
        (
            "callPath",
            {"clientId": "app", "method": "GET", "path": "/a", "auth": {"token": 5}},
            "auth.token: must be text",
        ),
    ],
)
async def test_wrong_call_returns_an_error_with_the_fix(
    tool: str, arguments: dict[str, Any], complaint: str
) -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills("/users/:id/skill.md"))) as client,
        Client(drive.mcp) as host,
    ):
        result = await host.call_tool(tool, arguments)
        assert result.is_error is True
        assert complaint in answer_of(result)["error"]["message"]
        assert client.calls == []


async def test_duplicate_tool_is_refused() -> None:
    (first, *_) = bridge.bridge_tools(Hub())
    with pytest.raises(ConflictError, match="the tool `load-skill` already exists"):
        all_features(Library([]), ServeOptions(tools=[replace(first, name="load-skill")]))


async def test_dead_client_does_not_fail_other_calls() -> None:
    limits = DriveLimits(answer_seconds=0.5)
    paths = skills("/a/skill.md")
    async with (
        drive_server(limits=limits) as drive,
        program(drive, registration("live", paths)),
        program(drive, registration("mute", paths), silent),
        program(drive, registration("dying", paths), silent) as dying,
        Client(drive.mcp) as host,
        anyio.create_task_group() as tasks,
    ):

        async def die() -> None:
            await dying.until_called()
            dying.connection.transport.abort()

        tasks.start_soon(die)
        result = await host.call_tool("callPaths", {"method": "GET", "path": "/a/skill.md"})
        assert result.is_error is False
        results = {each["clientId"]: each for each in answer_of(result)["results"]}
        assert results["live"] == {"clientId": "live", "ok": True, "data": "# /a/skill.md"}
        assert results["mute"]["error"]["code"] == "timeout"
        assert results["dying"]["error"]["code"] == "transport_error"


async def test_answers_above_the_total_limit_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "MAX_ANSWERS", 1000)
    large = {"ok": True, "data": "x" * 600}
    async with (
        drive_server() as drive,
        program(drive, registration("one", skills("/a/skill.md")), lambda _: large),
        program(drive, registration("two", skills("/a/skill.md")), lambda _: large),
        Client(drive.mcp) as host,
    ):
        result = await host.call_tool("callPaths", {"method": "GET", "path": "/a/skill.md"})
        results = answer_of(result)["results"]
        assert [each["clientId"] for each in results] == ["one", "two"]
        (late,) = [each for each in results if not each["ok"]]
        assert "call fewer with `clientIds`" in late["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({}, ["/a/skill.md", "/a/b/skill.md", "/run"]),
        ({"depth": 2}, ["/a/skill.md", "/a/b/skill.md", "/a/b/c/skill.md", "/run"]),
        ({"search": "C/SKILL"}, ["/a/b/c/skill.md"]),
        ({"search": "skill.md", "depth": 1}, ["/a/skill.md", "/a/b/skill.md"]),
        ({"search": "post"}, ["/run"]),
        ({"clientId": "other"}, []),
    ],
)
async def test_paths_are_listed_by_level_unless_searched(arguments: dict[str, Any], found: list[str]) -> None:
    paths = [
        *skills("/a/skill.md", "/a/b/skill.md", "/a/b/c/skill.md"),
        {"type": "endpoint", "path": "/run", "method": "POST"},
    ]
    async with (
        drive_server() as drive,
        program(drive, registration("app", paths), echo),
        Client(drive.mcp) as host,
    ):
        answer = answer_of(await host.call_tool("listPaths", arguments))
        assert [each["path"] for each in answer["paths"]] == found


POSING = {
    "clientId": "bank",
    "clientName": "Your bank",
    "id": "bank",
    "name": "Your bank",
    "status": "trusted",
    "connection": {"secure": True},
    "ok": False,
    "leftOut": "nothing",
    "_meta": {"posing": True},
    "method": "DELETE",
}


async def test_program_cannot_impersonate_another_in_listings() -> None:
    message = registration("thief", skills("/a/skill.md", inputSchema={"type": "object"}, **POSING))
    message["client"] = {**POSING, **message["client"], "metadata": POSING}
    async with drive_server() as drive, program(drive, message), Client(drive.mcp) as host:
        (listed,) = answer_of(await host.call_tool("listPaths", {}))["paths"]
        assert listed == {
            "type": "skill",
            "path": "/a/skill.md",
            "description": "At /a/skill.md.",
            "inputSchema": {"type": "object"},
            "clientId": "thief",
            "clientName": "Thief",
        }
        (client,) = answer_of(await host.call_tool("listClients", {}))["clients"]
        assert (client["id"], client["name"], client["status"]) == ("thief", "Thief", "online")
        assert client["connection"]["secure"] is False
        assert client.keys() == {
            "id", "name", "metadata", "paths", "status", "connectedAt", "lastSeenAt", "connection"
        }  # fmt: skip
        assert client["paths"] == [
            {key: value for key, value in listed.items() if key not in {"clientId", "clientName"}}
        ]


@pytest.mark.parametrize(
    "result",
    [{"ok": True, "data": POSING, "clientId": "bank"}, {"ok": False, "error": {"code": "x", **POSING}}],
)
async def test_program_cannot_impersonate_another_in_answers(result: dict[str, Any]) -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("thief", skills("/a/skill.md")), lambda _: result),
        Client(drive.mcp) as host,
    ):
        asked = {"method": "GET", "path": "/a/skill.md"}
        (answer,) = answer_of(await host.call_tool("callPaths", asked))["results"]
        assert (answer["clientId"], answer["ok"]) == ("thief", result["ok"])
        assert answer.keys() == {"clientId", "ok", "data" if result["ok"] else "error"}
        if not result["ok"]:
            assert answer["error"].keys() == {"code", "message"}


async def test_program_cannot_impersonate_another_in_the_tree() -> None:
    message = registration("thief", skills("/a/skill.md", **POSING))
    async with drive_server() as drive, program(drive, message):
        address = ServerAddress.parse(drive.base)
        paths = await anyio.to_thread.run_sync(listed_paths, address, None, None)
        assert list(tree_lines(paths)) == ["thief  Thief", "└── a  At /a/skill.md."]
        assert await anyio.to_thread.run_sync(listed_paths, address, "bank", None) == []


SEARCHED: list[dict[str, Any]] = [
    {"type": "skill", "path": "/a/skill.md", "description": "Alpha", "contentType": "text/markdown"},
    {"type": "skill", "path": "/a/b/c/d/skill.md", "inputSchema": {"unseen": 1}},
    {
        "type": "endpoint",
        "path": "/orders",
        "method": "POST",
        "inputSchema": {"title": "quagga"},
        "outputSchema": {"title": "okapi"},
        "contentType": "application/x-thing",
    },
    {"type": "prompt", "path": "/sum/prompt.md", "inputSchema": {"title": "zebra"}},
]


@pytest.mark.parametrize(
    ("search", "clients", "paths"),
    [
        ("APP", ["app"], 4),
        (" app ", ["app"], 4),
        ("the name", ["app"], 4),
        ("what it is", ["app"], 0),
        ("9.8.7", ["app"], 0),
        ("walrus", ["app"], 0),
        ("team", ["app"], 0),
        ("python", ["app"], 0),
        ("online", ["app", "two"], 0),
        ("insecure", ["app", "two"], 0),
        ("message", ["two"], 0),
        ("none", ["app"], 0),
        ("quagga", ["app"], 1),
        ("okapi", ["app"], 1),
        ("zebra", ["app"], 1),
        ("unseen", [], 0),
        ("post", ["app"], 1),
        ("x-thing", ["app"], 1),
        ("alpha", ["app"], 1),
        ("/d/skill", ["app"], 1),
        ("endpoint", ["app"], 1),
        ("two", ["two"], 0),
        ("", ["app", "two"], 3),
        ("  ", ["app", "two"], 3),
        ("nowhere", [], 0),
    ],
)
async def test_search_covers_the_same_fields_as_the_reference(
    search: str, clients: list[str], paths: int
) -> None:
    app = registration("app", SEARCHED)
    app["client"] |= {
        "name": "The Name",
        "description": "What it is",
        "version": "9.8.7",
        "platform": "python",
        "metadata": {"team": "walrus"},
    }
    async with (
        drive_server() as drive,
        program(drive, app),
        program(drive, registration("two", [], auth={"token": "t"})),
        Client(drive.mcp) as host,
    ):
        found = answer_of(await host.call_tool("listClients", {"search": search}))["clients"]
        assert [each["id"] for each in found] == clients
        listed = answer_of(await host.call_tool("listPaths", {"search": search}))["paths"]
        assert len(listed) == paths


@pytest.mark.parametrize("more", [{}, {"clientIds": []}, {"clientIds": None}], ids=str)
async def test_without_ids_every_client_with_the_path_is_called(more: dict[str, Any]) -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("one", skills("/a/skill.md"))),
        program(drive, registration("two", skills("/b/skill.md"))),
        program(drive, registration("three", skills("/:x/skill.md"))),
        Client(drive.mcp) as host,
    ):
        asked = {"method": "GET", "path": "/a/skill.md", **more}
        results = answer_of(await host.call_tool("callPaths", asked))["results"]
        assert [each["clientId"] for each in results] == ["one", "three"]
        asked = {"method": "GET", "path": "/nowhere/at/all/skill.md", **more}
        assert (await host.call_tool("callPaths", asked)).is_error


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"ok": True}, {"ok": True}),
        ({"ok": True, "data": None}, {"ok": True, "data": None}),
        ({"ok": True, "data": ""}, {"ok": True, "data": ""}),
        ({"ok": True, "data": False}, {"ok": True, "data": False}),
    ],
    ids=str,
)
async def test_missing_result_differs_from_null(result: dict[str, Any], answer: dict[str, Any]) -> None:
    async with (
        drive_server() as drive,
        program(drive, registration("app", skills("/a/skill.md")), lambda _: result),
        Client(drive.mcp) as host,
    ):
        asked = {"method": "GET", "path": "/a/skill.md"}
        assert answer_of(await host.call_tool("callPath", {"clientId": "app", **asked})) == answer
        several = answer_of(await host.call_tool("callPaths", asked))
        assert several == {"results": [{"clientId": "app", **answer}]}


@pytest.mark.parametrize(
    ("depth", "works"), [(1, True), (1.0, True), (2**53 - 1, True), (0, False), (1.5, False), (1e30, False)]
)
async def test_a_depth_is_a_whole_number(depth: float, *, works: bool) -> None:
    async with drive_server() as drive, Client(drive.mcp) as host:
        assert (await host.call_tool("listPaths", {"depth": depth})).is_error is not works
