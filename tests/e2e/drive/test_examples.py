"""The programs that the documentation shows, started for real and read as a newcomer would."""

import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client

from tests.support.paths import ROOT
from tests.support.peers import PATIENCE, HttpServer, skillwire


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with HttpServer("--http", "0", "--drive", "--no-config") as running:
        yield running


@contextmanager
def started(script: Path, url: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, script, url], stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def said(process: subprocess.Popen[str]) -> str:
    """Return the first line that a program says."""
    stream, lines = process.stderr, list[str]()
    assert stream is not None
    reader = threading.Thread(target=lambda: lines.append(stream.readline()))
    reader.start()
    reader.join(timeout=PATIENCE)
    assert lines, "it said nothing"
    return lines[0]


def until(server: HttpServer, path: str, text: str) -> str:
    """Read until a live text says what a test waits for: it changes as the program works."""
    with httpx2.Client(base_url=server.base, trust_env=False, timeout=PATIENCE) as http:
        for _ in range(10_000):
            answer = http.get(path)
            if answer.status_code == 200 and text in answer.text:
                return answer.text
    raise AssertionError(f"{path} never said `{text}`")


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_the_live_example_is_read_over_http_and_mcp(server: HttpServer, scheme: str) -> None:
    with started(ROOT / "examples/live_state.py", server.base.replace("http", scheme, 1)) as process:
        assert said(process).startswith("exposed on ")
        text = until(server, "/skills/queue/jobs", "- 1 failed")
        assert "/jobs/failed/skill.md" in text
        assert "451" in until(server, "/queue/skills/jobs/failed", "send-invoices")
        assert "It is done." in until(server, "/skills/queue/jobs/import-orders", "# import-orders")
        anyio.run(_read_over_mcp, server.url)
        tree = subprocess.run(
            skillwire("drive", "list", server.url),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        ).stdout
        assert tree.splitlines() == [
            "queue           Job queue",
            "└── jobs        What the job queue is doing now. Begin here.",
            "    ├── failed  Jobs that failed, and what to do.",
            "    └── :name   One job of the queue, by its name.",
        ]


async def _read_over_mcp(url: str) -> None:
    async with Client(url) as host:
        with anyio.fail_after(PATIENCE):
            listed: set[str] = set()
            while "skill://queue/jobs/failed/SKILL.md" not in listed:
                result = await host.list_resources(cache_mode="bypass")
                listed = {each.uri for each in result.resources}
        (block,) = (await host.read_resource("skill://queue/jobs/failed/SKILL.md")).contents
        assert "the mail server answered 451" in str(block)
        (block,) = (await host.read_resource("skill://queue/jobs/send-invoices/SKILL.md")).contents
        assert "It is failed." in str(block)
        called = await host.call_tool(
            "callPath", {"clientId": "queue", "method": "GET", "path": "/jobs/nope/skill.md"}
        )
        assert called.is_error is True
        assert "there is no job `nope`" in str(called.structured_content)


def test_the_program_of_the_page_runs(server: HttpServer) -> None:
    with started(ROOT / "docs/snippets/live_program.py", server.base.replace("http", "ws", 1)):
        assert "17: paid" in until(server, "/skills/shop/orders", "# Orders")
        assert "waiting for stock" in until(server, "/skills/shop/orders/18", "# Order 18")


def test_the_live_example_without_arguments_prints_its_usage() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples/live_state.py"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert "usage: " in done.stderr
