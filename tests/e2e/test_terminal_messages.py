"""The terminal of `serve` and `bridge` shows what breaks while they run."""

import os
import re
import time
from pathlib import Path

import anyio
import httpx2
import pytest

from skillwire import DriveClient
from tests.support.command_line import run
from tests.support.peers import PATIENCE, HttpServer
from tests.support.skills import write_skill


def wait_for_line(server: HttpServer, text: str, after: int = 0) -> int:
    """Wait until a line contains `text`, and return how many lines there are then."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for at, line in enumerate(server.log[after:], after):
            if text in line:
                return at + 1
        time.sleep(0.05)
    raise AssertionError(f"no line has {text!r}: {server.log}")


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        **more,
    }


def test_broken_skill_and_missing_folder_are_printed_and_solved(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    path = write_skill(root, "refunds") / "SKILL.md"
    good = path.read_text()
    with HttpServer(root, "--http", "0", "--no-config", env=environment(tmp_path)) as server:
        path.write_text("---\nname: [\n---\n")
        seen = wait_for_line(server, "warning: refunds/SKILL.md")
        path.write_text(good)
        seen = wait_for_line(server, "solved: refunds/SKILL.md", seen)
        root.rename(tmp_path / "away")
        seen = wait_for_line(server, "warning: the source `skills` is missing", seen)
        (tmp_path / "away").rename(root)
        seen = wait_for_line(server, "solved: the source `skills` is missing", seen)
        path.write_text("---\nname: [\n---\n")
        wait_for_line(server, "warning: refunds/SKILL.md", seen)
        assert not [line for line in server.log if "poll" in line or "Traceback" in line]


def test_server_that_goes_down_is_printed_by_the_bridge(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "refunds")
    env = environment(tmp_path)
    with (
        HttpServer(tmp_path / "skills", "--http", "0", "--no-config", env=env) as server,
        HttpServer(server.url, "--http", "0", env=env, command="bridge") as bridge,
    ):
        assert server.stop() == 0
        line = bridge.log[wait_for_line(bridge, "error: ") - 1]
        assert "127.0.0.1" in line


@pytest.mark.anyio
async def test_programs_that_connect_and_leave_are_printed(tmp_path: Path) -> None:
    env = environment(tmp_path)
    with HttpServer("--http", "0", "--drive", "--no-config", env=env) as server:
        for _ in range(2):
            before = len(server.log)
            client = DriveClient(server.base, id="shop", name="Shop")
            client.expose("/orders/skill.md", "# Orders")
            with anyio.fail_after(PATIENCE):
                async with client:
                    pass
            seen = await anyio.to_thread.run_sync(
                wait_for_line, server, "program `shop` connected with 1 path", before
            )
            await anyio.to_thread.run_sync(
                wait_for_line, server, "program `shop` is not connected any more", seen
            )


def test_access_log_has_a_line_per_request_without_secrets(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "refunds")
    env = environment(tmp_path, SKILLS_TOKEN="token-of-the-test")
    options = ("--http", "0", "--no-config", "--token-env", "SKILLS_TOKEN", "--access-log")
    with HttpServer(tmp_path / "skills", *options, env=env) as server:
        headers = {"authorization": "Bearer token-of-the-test"}
        with httpx2.Client(base_url=server.base, trust_env=False) as http:
            before = len(server.log)
            assert http.get("/healthz?key=hunter2").status_code == 200
            assert http.post("/mcp", json={}, headers={"authorization": "Bearer wrong"}).status_code == 401
            assert http.get("/nothing%20here%1b[31m", headers=headers).status_code == 404
            seen = wait_for_line(server, "GET /nothing%20here%1b[31m 404 ", before)
        lines = server.log[before:seen]
        assert [line.split()[1:5] for line in lines] == [
            ["127.0.0.1", "GET", "/healthz", "200"],
            ["127.0.0.1", "POST", "/mcp", "401"],
            ["127.0.0.1", "GET", "/nothing%20here%1b[31m", "404"],
        ]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ .* \d+\.\dms\n", lines[0])
        assert not [line for line in server.log if "hunter2" in line or "token-of" in line or "wrong" in line]


def test_access_log_needs_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", str(tmp_path), "--access-log"]) == 2
    assert "`--access-log` needs `--http`" in capsys.readouterr().err
