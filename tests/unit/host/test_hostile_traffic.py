"""A server cannot exhaust a host: not with one answer, not with many pages, not with a flood."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from skillwire import Target
from skillwire.errors import UnavailableError, VerificationError
from skillwire.host.connections.connect import connected
from skillwire.host.connections.traffic import (
    AnswerLimits,
    AnswerTooLargeError,
    JsonValueCounter,
    Meter,
    TrafficLimits,
)
from skillwire.host.servers.link import ServerLink
from tests.support.paths import ROOT
from tests.support.peers import PATIENCE, StdioPeer, skillwire
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

SERVER = ROOT / "tests" / "support/hostile_server.py"
MOST_MEMORY = 250 * 1024
"""KiB. The attacks took 1.7 GiB and more."""
SMALL = TrafficLimits(unsolicited_messages=200, unsolicited_messages_per_second=1, write_seconds=0.2)


@contextmanager
def hostile(attack: str, transport: str) -> Generator[Target]:
    """Yield how to reach a server that attacks in that way, over `stdio`, `http` or `events`."""
    if transport == "stdio":
        yield Target("hostile", command=(sys.executable, str(SERVER), attack, "stdio"))
        return
    command = [sys.executable, SERVER, attack, "http", transport]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield Target("hostile", url=f"http://127.0.0.1:{int(process.stdout.readline())}/mcp")
        finally:
            process.kill()


def arguments(target: Target) -> list[str]:
    return ["--", *target.command] if target.url is None else [f"mcp+{target.url}"]


class Peak:
    """The most memory that a process has had. (What `wait4` reports includes the process that forked it.)"""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self.kilobytes = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        with suppress(OSError):
            while "VmHWM:" in (status := self._status.read_text()):
                self.kilobytes = int(status.split("VmHWM:")[1].split()[0])
                time.sleep(0.005)


@pytest.mark.rule("H25")
@pytest.mark.parametrize(
    ("attack", "transport", "told"),
    [
        ("brackets", "stdio", "skills/list: the answer has more than 300,000 JSON values"),
        ("brackets", "http", "skills/list: the answer has more than 300,000 JSON values"),
        ("brackets", "events", "skills/list: the answer has more than 300,000 JSON values"),
        ("pages", "stdio", "more than 67,108,864 bytes"),
        ("pages", "http", "more than 67,108,864 bytes"),
        ("resources", "stdio", "skill://index.json: the answer has more than 20,000 JSON values"),
    ],
)
def test_listing_a_hostile_server_takes_little_memory(attack: str, transport: str, told: str) -> None:
    code, _, said, kilobytes = list_skills(attack, transport)
    assert code == 1
    assert told in said
    assert 0 < kilobytes < MOST_MEMORY


@pytest.mark.rule("H25")
@pytest.mark.parametrize("transport", ["stdio", "http", "events"])
def test_huge_list_of_templates_hides_no_skill(transport: str) -> None:
    code, listed, said, kilobytes = list_skills("templates", transport)
    assert code == 0
    assert listed.endswith(":x\tskill://x/SKILL.md\tX.\n")
    assert "resources/templates/list: the " in said  # over stdio, the connection ends
    assert 0 < kilobytes < MOST_MEMORY


def list_skills(attack: str, transport: str) -> tuple[int, str, str, int]:
    """Run `skillwire list` for a hostile server. Return its exit code, output, errors and memory in KiB."""
    with (
        hostile(attack, transport) as target,
        subprocess.Popen(
            skillwire("list", *arguments(target)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        patience = threading.Timer(PATIENCE, process.kill)
        patience.start()
        peak = Peak(process.pid)
        listed, said = process.communicate()
        patience.cancel()
    return process.returncode, listed.decode(), said.decode(), peak.kilobytes


@pytest.mark.rule("H25")
@pytest.mark.parametrize(
    ("attack", "transport", "told"),
    [
        ("long", "http", "the answer has more than 16,777,216 bytes"),
        ("long", "stdio", "sends a line of more than 16,777,216 bytes"),
        ("error", "http", "the answer has more than 16,777,216 bytes"),
        ("error", "stdio", "sends a line of more than 16,777,216 bytes"),
        ("objects", "stdio", "the answer has more than 300,000 JSON values"),
        ("hidden", "events", "the answer has more than 300,000 JSON values"),
        ("instructions", "http", "the answer has more than 1,048,576 bytes"),
        ("instructions", "stdio", "sends a line of more than 1,048,576 bytes"),
        ("capabilities", "http", "the answer has more than 20,000 JSON values"),
        ("charset", "http", "the answer is not UTF-8"),
        ("charset", "events", ""),
    ],
)
async def test_oversized_answer_is_refused(attack: str, transport: str, told: str) -> None:
    with hostile(attack, transport) as target:
        async with ServerLink(target) as link:
            with pytest.raises((UnavailableError, VerificationError)) as refused:
                await link.list()
    assert told in str(refused.value)


@pytest.mark.parametrize(
    "attack",
    ["pings", "sampling", "roots", "elicitation", "changes", "logs", "progress", "unknown", "responses"],
)
async def test_a_flood_on_stdio_ends_the_connection(attack: str) -> None:
    with hostile(attack, "stdio") as target:
        async with ServerLink(target, traffic=SMALL) as link:
            with pytest.raises(
                UnavailableError, match="`hostile` was disconnected: the server sends more than"
            ):
                await link.list()
            # It is not started again at once, however often it is asked.
            with pytest.raises(UnavailableError, match="next attempt in"):
                await link.list()


@pytest.mark.parametrize("attack", ["garbage", "blank", "line"])
async def test_noise_on_stdio_ends_the_connection(attack: str) -> None:
    with hostile(attack, "stdio") as target:
        async with ServerLink(target, traffic=SMALL) as link:
            with pytest.raises(UnavailableError, match="`hostile` was disconnected: the server sends"):
                await link.list()


@pytest.mark.parametrize("attack", ["pings", "changes", "blank", "line"])
async def test_flood_on_an_http_stream_ends_the_connection(attack: str) -> None:
    with hostile(attack, "http") as target:
        dropped = anyio.Event()
        reasons: list[str] = []

        def end(reason: str) -> None:
            reasons.append(reason)
            dropped.set()

        with pytest.raises(UnavailableError, match="was disconnected: the server sends more than"):  # noqa: PT012
            async with connected(target, on_end=end, limits=SMALL):
                with anyio.fail_after(PATIENCE):
                    await dropped.wait()
    assert reasons[0].startswith("the server sends more than")


async def test_flood_within_an_answer_stream_ends_the_connection() -> None:
    with hostile("interrupting", "events") as target:
        async with ServerLink(target, traffic=SMALL) as link:
            with pytest.raises(UnavailableError, match="was disconnected: the server sends more than 64"):
                await link.list()


async def test_server_that_does_not_read_its_input_is_disconnected() -> None:
    with hostile("deaf", "stdio") as target:
        async with ServerLink(target, traffic=SMALL) as link:
            with pytest.raises(UnavailableError, match="does not read what is sent to it"):
                await link.get(f"skill://{'x' * 1_000_000}/SKILL.md")


async def test_endless_stderr_does_not_prevent_listing() -> None:
    with hostile("stderr", "stdio") as target:
        async with ServerLink(target) as link:
            assert (await link.list()).skills == []


async def test_disconnected_server_is_reconnected_after_a_delay() -> None:
    starts: list[float] = []
    with hostile("pings", "stdio") as target:

        @asynccontextmanager
        async def connect(**callbacks: Any) -> AsyncGenerator[Client]:
            starts.append(anyio.current_time())
            made: AbstractAsyncContextManager[Client] = connected(target, limits=SMALL, **callbacks)
            async with made as client:
                yield client

        async with ServerLink(target, traffic=SMALL, connect=connect) as link:
            with anyio.fail_after(PATIENCE):
                async for _ in link.wait_for_changes():
                    if len(starts) == 2:
                        break
    assert starts[1] - starts[0] >= 1


async def test_closing_does_not_wait_for_an_unresponsive_server() -> None:
    with hostile("farewell", "http") as target, anyio.fail_after(PATIENCE):
        async with connected(target):
            pass


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_bridge_serves_other_servers_during_a_flood(tmp_path: Path, transport: str) -> None:
    write_skill(tmp_path / "skills", "refunds")
    honest = json.dumps(
        {"mcpServers": {"honest": {"command": sys.executable, "args": [*skillwire("serve")[1:], "skills"]}}}
    )
    (tmp_path / ".claude.json").write_text(honest, "utf-8")
    env: Mapping[str, str] = {**os.environ, "HOME": str(tmp_path), "SKILLWIRE_STATE_DIR": str(tmp_path / "s")}
    with hostile("pings", transport) as target:
        at = arguments(target) if target.url is None else [target.url]
        command = ["env", "-C", str(tmp_path), *skillwire("bridge", "honest", *at)]
        with StdioPeer("2025-11-25", command, env) as peer:
            while not (told := problems(peer)) or "the server sends more than" not in told:
                peer.result("ping")
            listed = peer.result("skills/list", {})["skills"]
            assert [each["uri"] for each in listed] == ["skill://honest/refunds/SKILL.md"]
            status = Path(f"/proc/{peer.process.pid}/status").read_text("utf-8")
            assert int(status.split("VmHWM:")[1].split()[0]) < MOST_MEMORY
            peer.process.send_signal(signal.SIGTERM)
            assert peer.process.wait(timeout=PATIENCE) == 0


def problems(peer: StdioPeer) -> str:
    return peer.result("resources/read", {"uri": "skillwire://problems"})["contents"][0]["text"]


def test_json_values_are_counted_across_arbitrary_chunks() -> None:
    chance = random.Random(7)
    texts = ['a"b', "\\", '\\"', ",[{", "é\u2028", "", "x" * 50]

    def value(depth: int) -> Any:
        kind = chance.randrange(4 if depth else 2)
        if kind == 0:
            return chance.choice(texts)
        if kind == 1:
            return chance.random()
        inner = [value(depth - 1) for _ in range(chance.randrange(4))]
        return inner if kind == 2 else {f"{chance.choice(texts)}{at}": each for at, each in enumerate(inner)}

    for number in range(300):
        document = value(5)
        text = json.dumps(document, ensure_ascii=bool(number % 2)).encode()
        counter, rest = JsonValueCounter(), text
        while rest:
            size = chance.randrange(1, 9)
            counter.feed(rest[:size])
            rest = rest[size:]
        assert counter.values == marks(document)


def marks(value: Any) -> int:
    """Return how many brackets open, and commas stand, in JSON."""
    if not isinstance(value, (list, dict)):
        return 0
    inner: list[Any] = list(value.values() if isinstance(value, dict) else value)  # pyright: ignore[reportUnknownArgumentType]
    return 1 + max(len(inner) - 1, 0) + sum(map(marks, inner))


def test_backslashes_split_across_chunks_are_counted_correctly() -> None:
    counter = JsonValueCounter()
    counter.feed(b'"')
    for _ in range(2000):
        counter.feed(b"\\" * 1001)
    assert counter.feed(b'",[[') == 3


def test_large_honest_lists_are_within_the_limits() -> None:
    limits = TrafficLimits()
    digest = f"sha256:{'a' * 64}"
    for skills, files in ((100, 512), (5_000, 10), (20_000, 1)):
        entry = {
            "uri": "skill://team/some-name/SKILL.md",
            "frontmatter": {"name": "some-name", "description": "Describes, at length, [what] it does. " * 5},
            "resources": [
                {"uri": f"skill://team/some-name/references/file-{at}.md", "digest": digest, "size": 12_345}
                for at in range(files)
            ],
        }
        text = json.dumps(entry).encode()
        meter = Meter(AnswerLimits(limits.page_bytes, limits.page_values))
        for start in range(skills):
            meter.feed(text + b"," if start else text)


def test_small_chunks_count_as_more_than_their_bytes() -> None:
    meter = Meter(AnswerLimits(1_000_000, 10))
    for _ in range(3_000):
        meter.feed(b"x")
    with pytest.raises(AnswerTooLargeError, match="more than 1,000,000 bytes"):
        deque(map(meter.feed, [b"x"] * 3_000))
