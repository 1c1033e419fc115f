"""Measure programs that offer live skills, and how much one that never answers slows the others."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

import httpx2
import psutil

from benchmarks.distributions import Distribution, Statistic
from benchmarks.drive_report import DriveReport
from benchmarks.machine import Machine
from benchmarks.plan import Plan
from benchmarks.programs import SKILLS_EACH, crowd
from benchmarks.results import Unit
from benchmarks.talk import say
from skillwire.server.http.connections import raise_file_limit

_PATIENCE = 120.0
_VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
_MUTE = "mute"
_MUTE_CALLS = 64
"""The number of calls that one program may leave unanswered."""
_TIMES = (Statistic.MEDIAN, Statistic.P99, Statistic.WORST)
_Samples = dict[str, dict[int, list[float]]]


def run(plan: Plan) -> DriveReport:
    """Measure every number of programs in `plan`."""
    machine = Machine.here()
    begin = time.monotonic()
    raise_file_limit(2 * max(plan.clients) + 1024)
    samples: _Samples = {}
    for number in plan.clients:
        say(f"{number:,} programs")
        asyncio.run(_measure(number, plan, samples))
    times = [
        Distribution(name, Unit.SECONDS, found, _shown(found))
        for name, found in samples.items()
        if name != _MEMORY
    ]
    memory = Distribution(_MEMORY, Unit.BYTES, samples[_MEMORY], (Statistic.MEDIAN,))
    return DriveReport(machine, time.monotonic() - begin, SKILLS_EACH, times, memory)


_MEMORY = "memory (RSS) of the server"


def _shown(found: dict[int, list[float]]) -> tuple[Statistic, ...]:
    return _TIMES if max(map(len, found.values())) > 1 else (Statistic.MEDIAN,)


async def _measure(number: int, plan: Plan, samples: _Samples) -> None:
    with _server() as (process, base):
        async with (
            crowd(base.replace("http", "ws", 1)) as programs,
            httpx2.AsyncClient(base_url=base, timeout=_PATIENCE, trust_env=False) as http,
        ):
            # One program less: the last one never answers.
            names = [f"program-{at:04}" for at in range(number - 1)]

            async def listed(**arguments: Any) -> int:
                return len((await _call(http, "listPaths", arguments))["paths"])

            async def read(at: int) -> None:
                answer = await http.get(f"/skills/{names[at % len(names)]}/state/part-{at % SKILLS_EACH}")
                assert answer.status_code == 200, answer.text

            async def read_over_mcp(at: int) -> None:
                uri = f"skill://{names[at % len(names)]}/state/part-{at % SKILLS_EACH}/SKILL.md"
                await _ask(http, "resources/read", {"uri": uri}, uri)

            def note(name: str, found: list[float]) -> None:
                samples.setdefault(name, {})[number] = found

            began = time.perf_counter()
            await programs.join(names)
            await programs.join([_MUTE], mute=True)
            note("all programs register", [time.perf_counter() - began])
            while await _skills(http) < number * SKILLS_EACH:
                pass
            note(
                "all programs register, until all their skills are in the catalog",
                [time.perf_counter() - began],
            )
            times, few = plan.batches * plan.batch, max(2, plan.batch // 2)
            assert await listed() == number * SKILLS_EACH
            note("`listPaths` of all programs", await _timed(lambda _: listed(), few))
            note("`listPaths` of one program", await _timed(lambda _: listed(clientId=names[0]), times))
            note("a read over HTTP", await _timed(read, times))
            note("a read over MCP", await _timed(read_over_mcp, times))
            waiting = [
                asyncio.create_task(http.get(f"/skills/{_MUTE}/state/part-0")) for _ in range(_MUTE_CALLS)
            ]
            await programs.until_mute_ones_are_asked(_MUTE_CALLS)
            note("a read over HTTP, while one program leaves 64 calls unanswered", await _timed(read, times))
            note(
                "a read over MCP, while one program leaves 64 calls unanswered",
                await _timed(read_over_mcp, times),
            )
            note(_MEMORY, [float(psutil.Process(process.pid).memory_info().rss)])
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)


async def _timed(work: Callable[[int], Awaitable[object]], times: int) -> list[float]:
    """Call `work` repeatedly and return the seconds of each call, without the first."""
    await work(0)
    found: list[float] = []
    for at in range(1, times + 1):
        began = time.perf_counter()
        await work(at)
        found.append(time.perf_counter() - began)
    return found


async def _skills(http: httpx2.AsyncClient) -> int:
    """Return the number of skills in the catalog."""
    index = await _ask(http, "resources/read", {"uri": "skill://index.json"}, "skill://index.json")
    return index["contents"][0]["text"].count('"url"')


async def _call(http: httpx2.AsyncClient, tool: str, arguments: dict[str, Any]) -> Any:
    result = await _ask(http, "tools/call", {"name": tool, "arguments": arguments}, tool)
    return result["structuredContent"]


async def _ask(http: httpx2.AsyncClient, method: str, params: dict[str, Any], name: str) -> Any:
    meta = {
        f"{_META}protocolVersion": _VERSION,
        f"{_META}clientInfo": {"name": "benchmark", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": _VERSION,
        "mcp-method": method,
        "mcp-name": name,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    answer = (await http.post("/mcp", json=message, headers=headers)).json()
    assert "result" in answer, answer
    return answer["result"]


@contextmanager
def _server() -> Generator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "skillwire", "serve", "--http", "0", "--drive", "--no-config"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(line for line in process.stderr if line.startswith("serving on "))
        yield process, url.removeprefix("serving on ").strip().removesuffix("/mcp")
    finally:
        process.terminate()
        process.communicate(timeout=_PATIENCE)
