"""Expose one HTTP server to many clients, live changes and attackers for a limited time."""

import argparse
import asyncio
import base64
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.machine import Machine
from benchmarks.trees import FILES, Tree, grow

RESULTS = Path(__file__).parent / "results" / "soak.md"
_VERSION = "2026-07-28"
_META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_LISTENERS = 20
_SILENT, _STALLED, _UNREAD = 200, 50, 20
"""The number of attackers that send nothing, send half a body, or read no answers."""
_PATIENCE = 60.0
_CHANGING = "changed while being read"


@dataclass(slots=True)
class Outcome:
    """The results. Everything in `faults` is a failure."""

    requests: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    waits: list[float] = field(default_factory=list[float])
    """Seconds from each request to its answer."""
    notifications: int = 0
    changes: int = 0
    changing: int = 0
    """Reads refused because the file was changing. The client should list again."""
    memory: dict[str, float] = field(default_factory=dict[str, float])
    """The server's memory in MiB at each moment."""
    stops: list[str] = field(default_factory=list[str])


class Files:
    """The skills on disk, and the digests of all contents that each file ever had."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._written: dict[str, set[bytes]] = {}
        for index in range(tree.size):
            for path in ("SKILL.md", *FILES):
                self._note(tree.uri(index, path), (tree.folder(index) / path).read_bytes())

    @property
    def uris(self) -> Sequence[str]:
        return list(self._written)

    def change(self) -> str:
        """Replace a file of a random skill. Return its URI."""
        index = random.randrange(self.tree.size)
        file = self.tree.folder(index) / FILES[0]
        uri = self.tree.uri(index, FILES[0])
        content = f"# Revision {time.time_ns()}\n".encode() + os.urandom(400).hex().encode()
        self._note(uri, content)
        beside = file.with_name(".next")
        beside.write_bytes(content)
        beside.replace(file)
        return uri

    def holds(self, uri: str, content: bytes) -> bool:
        """Return whether a file ever had this content."""
        return hashlib.sha256(content).digest() in self._written[uri]

    def is_now(self, uri: str, content: bytes) -> bool:
        """Return whether a file has this content now."""
        index = int(uri.split("/")[3].removeprefix("skill-"))
        return (self.tree.folder(index) / uri.split("/", 4)[4]).read_bytes() == content

    def _note(self, uri: str, content: bytes) -> None:
        self._written.setdefault(uri, set()).add(hashlib.sha256(content).digest())


class Server:
    """`skillwire serve` as a process."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-m", "skillwire", "serve", str(root), "--http", "0", "--no-config"]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert self._process.stderr is not None
        found = next(
            filter(
                None,
                (re.search(r"serving on http://127\.0\.0\.1:(\d+)", line) for line in self._process.stderr),
            )
        )
        self.port = int(found[1])
        self._seen = psutil.Process(self._process.pid)

    @property
    def memory(self) -> float:
        return self._seen.memory_info().rss / 1024 / 1024

    def stop(self, sign: signal.Signals) -> tuple[int, float]:
        """Send a signal. Return the exit code, and the seconds until the process ended."""
        begin = time.monotonic()
        self._process.send_signal(sign)
        code = self._process.wait(timeout=_PATIENCE)
        assert self._process.stderr is not None
        self._process.stderr.close()
        return code, time.monotonic() - begin


def _request(method: str, params: dict[str, Any], name: str | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
    message["params"] = {"_meta": _META, **params}
    body = json.dumps(message).encode()
    lines = [
        "POST /mcp HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        f"mcp-protocol-version: {_VERSION}",
        f"mcp-method: {method}",
        *([] if name is None else [f"mcp-name: {name}"]),
        f"content-length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Client:
    """One keep-alive connection that sends one request after the other and checks every answer."""

    def __init__(self, port: int, files: Files, outcome: Outcome) -> None:
        self._port, self._files, self._outcome = port, files, outcome

    async def run(self, until: float) -> None:
        while time.monotonic() < until:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**24)
            except OSError as error:
                self._outcome.faults[f"cannot connect: {error.strerror}"] += 1
                return
            with contextlib.closing(writer):
                await self._talk(reader, writer, until)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, until: float) -> None:
        while time.monotonic() < until:
            method, uri = self._next()
            begin = time.monotonic()
            writer.write(_request(method, {} if uri is None else {"uri": uri}, uri))
            try:
                status, body = await asyncio.wait_for(_answer(reader), _PATIENCE)
            except (asyncio.IncompleteReadError, OSError, TimeoutError) as error:
                self._outcome.faults[f"{method}: {type(error).__name__}"] += 1
                return
            self._outcome.waits.append(time.monotonic() - begin)
            self._outcome.requests[method] += 1
            if fault := self._fault(method, uri, status, body):
                self._outcome.faults[f"{method}: {fault}"] += 1

    def _next(self) -> tuple[str, str | None]:
        uri = random.choice(self._files.uris)
        chosen = random.random()
        if chosen < 0.8:
            return "resources/read", uri
        if chosen < 0.95:
            return "skills/get", f"{'/'.join(uri.split('/')[:4])}/SKILL.md"
        return "skills/list", None

    def _fault(self, method: str, uri: str | None, status: int, body: bytes) -> str | None:
        if status != 200:
            return f"status {status}"
        message = json.loads(body)
        if _CHANGING in message.get("error", {}).get("message", ""):
            self._outcome.changing += 1
            return None
        if "result" not in message:
            return f"error {message.get('error', {}).get('message')}"
        if method == "resources/read" and uri is not None:
            return None if self._files.holds(uri, _content(message)) else "wrong body"
        return None


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return int(head.split(b" ", 2)[1]), await reader.readexactly(int(length[1]) if length else 0)


def _content(message: dict[str, Any]) -> bytes:
    block = message["result"]["contents"][0]
    return block["text"].encode() if "text" in block else base64.b64decode(block["blob"])


async def _listen(port: int, files: Files, outcome: Outcome) -> None:
    """Count the notifications of one subscription stream."""
    notifications = {"resourcesListChanged": True, "resourceSubscriptions": list(files.uris)[:1000]}
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    with contextlib.closing(writer):
        writer.write(_request("subscriptions/listen", {"notifications": notifications}))
        async for line in reader:
            outcome.notifications += b"notifications/resources/updated" in line


async def _change(files: Files, outcome: Outcome, until: float) -> None:
    while time.monotonic() < until:
        files.change()
        outcome.changes += 1
        await asyncio.sleep(0.1)


async def _attack(port: int, seconds: float) -> None:
    """Hold connections that send nothing, send half a body, or read nothing."""
    half = _request("skills/list", {}).replace(b"content-length: ", b"content-length: 9", 1)
    unread = _request("skills/list", {}) * 50
    sent = [b""] * _SILENT + [half] * _STALLED + [unread] * _UNREAD
    writers: list[asyncio.StreamWriter] = []
    for each in sent:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.write(each)
            writers.append(writer)
    await asyncio.sleep(seconds)
    for writer in writers:
        writer.close()


async def _steady(server: Server, files: Files, outcome: Outcome, clients: int, seconds: float) -> None:
    """Run the clients for the whole time, and attackers in the middle third."""
    until = time.monotonic() + seconds
    listeners = [
        asyncio.create_task(_listen(server.port, files, outcome))
        for _ in range(min(_LISTENERS, clients // 4))
    ]
    asking = [
        asyncio.create_task(Client(server.port, files, outcome).run(until))
        for _ in range(clients - len(listeners))
    ]
    changing = asyncio.create_task(_change(files, outcome, until))
    await asyncio.sleep(seconds / 3)
    outcome.memory["after a third"] = server.memory
    await _attack(server.port, seconds / 3)
    outcome.memory["after the attackers"] = server.memory
    await asyncio.gather(*asking, changing)
    outcome.memory["at the end"] = server.memory
    outcome.faults["a stream of changes ended early"] += sum(each.done() for each in listeners)
    for each in listeners:
        each.cancel()
    await asyncio.gather(*listeners, return_exceptions=True)
    await asyncio.sleep(3)
    outcome.memory["after all have left"] = server.memory


async def _interrupted(
    server: Server, files: Files, sign: signal.Signals, seconds: float
) -> tuple[int, float]:
    """End the server with a signal while clients send requests and files change."""
    ignored = Outcome()
    until = time.monotonic() + seconds
    tasks = [asyncio.create_task(Client(server.port, files, ignored).run(until)) for _ in range(50)]
    tasks.append(asyncio.create_task(_change(files, ignored, until)))
    await asyncio.sleep(seconds / 2)
    ended = await asyncio.to_thread(server.stop, sign)
    await asyncio.gather(*tasks)
    return ended


async def _served_right(server: Server, files: Files, outcome: Outcome) -> None:
    """Check that a server serves the contents on disk."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**24)
    with contextlib.closing(writer):
        for uri in random.sample(files.uris, min(200, len(files.uris))):
            writer.write(_request("resources/read", {"uri": uri}, uri))
            status, body = await _answer(reader)
            if status != 200 or not files.is_now(uri, _content(json.loads(body))):
                outcome.faults["wrong body after kill -9"] += 1


async def _soak(files: Files, clients: int, seconds: float, kills: int) -> Outcome:
    root, outcome = files.tree.root, Outcome()
    server = Server(root)
    outcome.memory["at the start"] = server.memory
    await _steady(server, files, outcome, clients, seconds)
    code, took = await _interrupted(server, files, signal.SIGTERM, 2)
    outcome.stops.append(f"SIGTERM with 50 clients: exit code {code} after {took:.2f} s")
    if code != 0:
        outcome.faults[f"exit code {code} after SIGTERM"] += 1
    for _ in range(kills):
        server = Server(root)
        await _interrupted(server, files, signal.SIGKILL, 1)
        again = Server(root)
        await _served_right(again, files, outcome)
        again.stop(signal.SIGTERM)
    outcome.stops.append(f"kill -9 under load, {kills} times: the next server served the files on disk")
    return outcome


def _lines(outcome: Outcome, clients: int, seconds: float, size: int, before: Machine) -> Iterator[str]:
    faults = {fault: count for fault, count in outcome.faults.items() if count}
    yield "# Soak\n"
    yield (
        f"Written by `scripts/soak` on {time.strftime('%Y-%m-%d')}. {clients:,} clients use one\n"
        f"`skillwire serve --http` with {size:,} skills for {seconds:g} s. One skill changes every 0.1 s.\n"
        f"In the middle third, {_SILENT} connections send nothing, {_STALLED} send half a body, and\n"
        f"{_UNREAD} read no answers. Every body is compared with all contents that its file ever had.\n"
    )
    yield f"{before}\n"
    yield "| what | figure |\n| --- | ---: |"
    for method, count in sorted(outcome.requests.items()):
        yield f"| answers to `{method}` | {count:,} |"
    yield f"| answers in a second | {sum(outcome.requests.values()) / seconds:,.0f} |"
    waits = sorted(outcome.waits)
    for name, share in (("median", 0.5), ("99 of 100", 0.99), ("999 of 1,000", 0.999), ("slowest", 1.0)):
        yield f"| time to an answer: {name} | {waits[int(share * (len(waits) - 1))]:.2f} s |"
    yield f"| changes on disk | {outcome.changes:,} |"
    yield f"| reads refused because the file was changing | {outcome.changing:,} |"
    yield f"| notifications to {min(_LISTENERS, clients // 4)} listeners | {outcome.notifications:,} |"
    for moment, megabytes in outcome.memory.items():
        yield f"| memory {moment} | {megabytes:.0f} MiB |"
    yield f"| wrong bodies, failed requests, lost connections | {sum(faults.values())} |\n"
    for stop in outcome.stops:
        yield f"- {stop}."
    for fault, count in faults.items():
        yield f"- **{count} times: {fault}**"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--clients", type=int, default=900)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--skills", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--output", type=Path, default=RESULTS, help="where to write the result")
    chosen = parser.parse_args(arguments)
    before = Machine.here()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "skills"
        root.mkdir()
        outcome = asyncio.run(
            _soak(Files(grow(root, chosen.skills)), chosen.clients, chosen.seconds, chosen.kills)
        )
    text = "\n".join(_lines(outcome, chosen.clients, chosen.seconds, chosen.skills, before)) + "\n"
    print(text)
    chosen.output.write_text(text, "utf-8")
    return 1 if sum(outcome.faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
