"""`skillwire serve --drive`: nothing is open unless it is asked for, and then a program can come and go."""

import json
import os
import socket
from contextlib import suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.command_line import run
from tests.support.drive import registration, skills
from tests.support.peers import PATIENCE, HttpServer
from tests.support.skills import write_skill

TOKEN_VARIABLE = "SKILLWIRE_TEST_TOKEN"


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["--drive"], "`--drive` needs `--http`", "add `--http 8765`"),
        (
            ["--drive", "--http", "0", "--static"],
            "`--drive` and `--static` contradict each other",
            "leave one",
        ),
        (["--drive", "--http", "0.0.0.0:0"], "can be reached from other machines", "`--token-env VARIABLE`"),
        (
            ["--drive", "--http", "0.0.0.0:0", "--allow-public"],
            "`--drive` lets programs in",
            "`--token-env VARIABLE`",
        ),
    ],
)
def test_what_would_open_too_much_is_refused(
    arguments: list[str], message: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", str(tmp_path), *arguments]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert hint in shown


@pytest.mark.anyio
async def test_without_drive_there_is_no_way_in(tmp_path: Path) -> None:
    write_skill(tmp_path, "refunds")
    with HttpServer(tmp_path, "--http", "0") as server:
        with pytest.raises((InvalidStatus, ConnectionClosed, OSError, EOFError)) as caught:
            await connect(server.base.replace("http", "ws", 1), proxy=None)
        answered = getattr(getattr(caught.value, "response", None), "status_code", 404)
        assert answered in {200, 404}  # at most the page that browsers get there, and never a connection
        async with httpx2.AsyncClient(base_url=server.base, trust_env=False) as http:
            for path in ("/mdp/meta", "/skills/app/a", "/app/skills/a", "/mdp/http-loop/poll"):
                assert (await http.get(path)).status_code == 404, path
            for path in ("/mdp/auth", "/mdp/http-loop/connect"):
                assert (await http.post(path)).status_code == 404, path
            assert (await http.get("/healthz")).status_code == 200
        async with Client(server.url) as host:
            names = {tool.name for tool in (await host.list_tools()).tools}
        assert names == {"load-skill", "skill-resource", "search-skills", "skill-config", "skill-display"}


@pytest.mark.anyio
async def test_a_connected_program_is_read_and_the_server_stops_promptly(tmp_path: Path) -> None:
    write_skill(tmp_path, "refunds")
    environment = {**os.environ, TOKEN_VARIABLE: "secret"}
    with HttpServer(
        tmp_path, "--http", "0", "--drive", "--token-env", TOKEN_VARIABLE, env=environment
    ) as server:
        assert any(line.startswith("programs connect to ws://127.0.0.1:") for line in server.log)
        headers = {"authorization": "Bearer secret"}
        async with (
            connect(
                server.base.replace("http", "ws", 1), proxy=None, additional_headers=headers
            ) as connection,
            httpx2.AsyncClient(
                base_url=server.base, headers=headers, trust_env=False, timeout=PATIENCE
            ) as http,
            anyio.create_task_group() as tasks,
        ):
            registered = anyio.Event()

            async def answer() -> None:
                with suppress(ConnectionClosed):
                    async for frame in connection:
                        said = json.loads(frame)
                        if said["type"] == "pong":
                            registered.set()
                        elif said["type"] == "callClient":
                            result = {"requestId": said["requestId"], "ok": True, "data": "# Now"}
                            await connection.send(json.dumps({"type": "callClientResult", **result}))

            await connection.send(json.dumps(registration("app", skills("/orders/skill.md"))))
            tasks.start_soon(answer)
            await connection.send(json.dumps({"type": "ping", "timestamp": 1}))
            with anyio.fail_after(PATIENCE):
                await registered.wait()
            called = {
                "name": "callPath",
                "arguments": {"clientId": "app", "method": "GET", "path": "/orders/skill.md"},
            }
            assert (await http.get("/skills/app/orders")).text == "# Now"
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**called, "_meta": meta}}
            sent = {
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "callPath",
            }
            answered = (await http.post("/mcp", json=message, headers=sent)).json()
            assert answered["result"]["structuredContent"] == {"ok": True, "data": "# Now"}
            waiting = (await http.post("/mdp/http-loop/connect")).json()["sessionId"]
            tasks.start_soon(_poll, http, waiting)
            server.process.terminate()  # with a socket and a poll open
            with anyio.fail_after(10):
                assert await anyio.to_thread.run_sync(server.process.wait) == 0
            tasks.cancel_scope.cancel()
        assert [line for line in server.log if "ERROR" in line or "Traceback" in line] == []


async def _poll(http: httpx2.AsyncClient, session: str) -> None:
    with suppress(httpx2.TransportError):
        await http.get(f"/mdp/http-loop/poll?sessionId={session}")


def test_a_port_without_sources_serves_live_skills_alone() -> None:
    with HttpServer("--http", "0", "--drive", "--no-config", env={**os.environ, "SKILLS_DIR": ""}) as server:
        assert "0 skills\n" in server.log
        assert not any("no skills here" in line for line in server.log)
        host, _, port = server.base.removeprefix("http://").rpartition(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE):
            pass
