"""A server on pipes: how it ends, and that stdout carries the protocol and nothing else."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.peers import MODERN, PATIENCE, StdioPeer, skillwire
from tests.support.skills import write, write_skill

REQUESTS = 200


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good skill, and a broken one to complain about."""
    root = tmp_path_factory.mktemp("stdio")
    write_skill(root, "refunds", {"large.txt": "x" * 500_000})
    write(root / "broken", {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    return root


def request(identity: int, method: str, **params: object) -> bytes:
    prefix = "io.modelcontextprotocol/"
    meta = {
        f"{prefix}protocolVersion": MODERN,
        f"{prefix}clientInfo": {"name": "pipe", "version": "1"},
        f"{prefix}clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": {**params, "_meta": meta}}
    return json.dumps(message).encode() + b"\n"


def messages(lines: bytes | Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the messages on stdout, having seen that every line is one."""
    if isinstance(lines, bytes):
        assert lines == b"" or lines.endswith(b"\n"), lines[-80:]
        lines = lines.splitlines()
    parsed: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert all(message["jsonrpc"] == "2.0" for message in parsed)
    return parsed


def serve(
    tree: Path, *, said: bytes | None = None, stdin: IO[bytes] | int | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        skillwire("serve", tree),
        input=said,
        stdin=stdin,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )


def test_server_answers_pending_requests_then_exits_at_eof(tree: Path) -> None:
    large = [request(number, "resources/read", uri="skill://refunds/large.txt") for number in range(20)]
    small = [request(number, "skills/list") for number in range(20, REQUESTS)]
    done = serve(tree, said=b"".join([*large, *small]))
    assert done.returncode == 0
    answers = messages(done.stdout)
    assert sorted(answer["id"] for answer in answers) == list(range(REQUESTS))
    assert all("result" in answer for answer in answers)
    assert b"Traceback" not in done.stderr


def test_the_last_line_needs_no_newline(tree: Path) -> None:
    done = serve(tree, said=request(1, "skills/list").rstrip(b"\n"))
    assert done.returncode == 0
    assert [answer["id"] for answer in messages(done.stdout)] == [1]


def test_a_client_that_says_nothing_leaves_a_server_that_ends(tree: Path) -> None:
    done = serve(tree, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    assert done.stdout == b""
    assert b"1 skill\n" in done.stderr
    assert f"1 error, 0 warnings; `skillwire check {tree}` shows them".encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_requests_may_come_from_a_file(tree: Path, tmp_path: Path) -> None:
    script = tmp_path / "requests.jsonl"
    script.write_bytes(b"".join(request(number, "skills/list") for number in range(3)))
    with script.open("rb") as stdin:
        done = serve(tree, stdin=stdin)
    assert done.returncode == 0
    assert [answer["id"] for answer in messages(done.stdout)] == [0, 1, 2]


def test_answers_may_go_to_a_file(tree: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    with answers.open("wb") as stdout:
        done = subprocess.run(
            skillwire("serve", tree),
            input=request(1, "skills/list"),
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 0
    assert [answer["id"] for answer in messages(answers.read_bytes())] == [1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_it_cleanly_while_the_client_still_listens(tree: Path, number: signal.Signals) -> None:
    with StdioPeer(MODERN, skillwire("serve", tree)) as peer:
        assert peer.result("skills/list")["skills"]
        peer.process.send_signal(number)
        assert peer.process.wait(timeout=PATIENCE) == 0
        assert peer.rest() == []
    assert "Traceback" not in peer.stderr()


def test_a_signal_amid_answers_breaks_no_line(tree: Path) -> None:
    with StdioPeer(MODERN, skillwire("serve", tree)) as peer:
        for number in range(50):
            peer.send_line(request(number, "resources/read", uri="skill://refunds/large.txt").rstrip())
        assert peer.receive()["result"]["contents"]
        peer.process.terminate()
        assert peer.process.wait(timeout=PATIENCE) == 0
        messages(peer.rest())
    assert "Traceback" not in peer.stderr()


def test_client_that_stops_reading_causes_no_traceback(tree: Path) -> None:
    process = subprocess.Popen(
        skillwire("serve", tree), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(request(1, "skills/list"))
    process.stdin.flush()
    assert process.stdout.readline()
    process.stdout.close()
    process.stdin.write(request(2, "skills/list"))
    process.stdin.flush()  # and stays open: only the answer that cannot be delivered ends the server
    assert process.wait(timeout=PATIENCE) == 0
    said = process.stderr.read()
    process.stderr.close()
    process.stdin.close()
    assert b"Traceback" not in said
    assert b"Exception ignored" not in said


def test_client_leaving_before_first_answer_causes_no_traceback(tree: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            skillwire("serve", tree),
            input=request(1, "skills/list"),
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("end", ["eof", "signal"])
def test_a_client_that_reads_nothing_cannot_keep_the_server_alive(tree: Path, end: str) -> None:
    process = subprocess.Popen(
        skillwire("serve", tree), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdin, process.stdout, process.stderr:
        process.stdin.write(request(1, "resources/read", uri="skill://refunds/large.txt"))
        process.stdin.flush()
        started, _, _ = select.select([process.stdout], [], [], PATIENCE)
        assert started, "no answer was begun"  # and it is larger than any pipe: the server waits for a reader
        if end == "eof":
            process.stdin.close()
        else:
            process.terminate()
        try:
            code = process.wait(timeout=PATIENCE)
        finally:
            process.kill()
            process.wait(timeout=PATIENCE)
        said = process.stderr.read()
        assert code == (1 if end == "eof" else 0)
        assert (b"bytes of responses unread\n" in said) is (end == "eof")
        assert b"Traceback" not in said


CHATTY = """
import os, subprocess, sys
import anyio
from skillwire import Library
from skillwire.server import skills_server
from skillwire.server import serve_stdio
from skillwire.sources import MemorySkill, MemorySource

document = b"---\\nname: chatty\\ndescription: x\\n---\\n"
serving = False

async def talk():
    if not serving:
        return document
    print("a stray print", flush=True)
    os.write(1, b"a stray write")
    subprocess.run([sys.executable, "-c", "print('a stray child')"], check=True)
    assert sys.stdin.read() == ""
    return document

async def main():
    global serving
    library = Library([MemorySource([MemorySkill("chatty", {"SKILL.md": talk})])])
    await library.load()
    serving = True
    await serve_stdio(skills_server(library))

anyio.run(main)
"""


def test_what_a_skill_prints_never_reaches_the_client() -> None:
    said = request(1, "resources/read", uri="skill://chatty/SKILL.md")
    done = subprocess.run(
        [sys.executable, "-c", CHATTY], input=said, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    (answer,) = messages(done.stdout)
    assert answer["result"]["contents"][0]["text"].startswith("---\nname: chatty")
    for stray in (b"a stray print", b"a stray write", b"a stray child"):
        assert stray in done.stderr


def test_flooded_server_ends_with_its_client(tree: Path) -> None:
    process = subprocess.Popen(
        skillwire("serve", tree), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdin, process.stdout, process.stderr:
        for number in range(200):
            process.stdin.write(request(number, "resources/read", uri="skill://refunds/large.txt"))
        process.stdin.close()
        assert process.wait(timeout=PATIENCE) == 1
        said = process.stderr.read()
        assert b"bytes of responses unread\n" in said
        assert b"Traceback" not in said


@pytest.mark.parametrize("options", [(), ("--no-cache",)], ids=["lane", "SDK"])
def test_a_client_that_reads_late_gets_every_answer_whole(tree: Path, options: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        skillwire("serve", tree, *options), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        for number in range(6):
            process.stdin.write(request(number, "resources/read", uri="skill://refunds/large.txt"))
        process.stdin.close()
        started, _, _ = select.select([process.stdout], [], [], PATIENCE)
        assert started, "no answer was begun"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=2)  # it waits for us
        answers = messages(process.stdout.read())
        assert process.wait(timeout=PATIENCE) == 0
    assert sorted(answer["id"] for answer in answers) == list(range(6))


def test_a_client_may_use_sockets_in_place_of_pipes(tree: Path) -> None:
    """As Node does: what is read, written and polled is then a socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            skillwire("serve", tree), stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL
        )
        theirs.close()
        ours.settimeout(PATIENCE)
        asked = [request(number, "resources/read", uri="skill://refunds/large.txt") for number in range(8)]
        ours.sendall(b"".join([*asked, request(8, "server/discover"), request(9, "skills/list")]))
        received = b""
        while received.count(b"\n") < 10:
            received += ours.recv(1 << 16)
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(PATIENCE) == 0
    assert sorted(answer["id"] for answer in messages(received)) == list(range(10))


def test_the_shared_pipes_of_a_client_stay_as_they_are(tree: Path) -> None:
    """Whoever started the server may hold the same pipe, and must not find that it no longer waits."""
    source, to = os.pipe()
    came, sink = os.pipe()
    process = subprocess.Popen(skillwire("serve", tree), stdin=source, stdout=sink, stderr=subprocess.DEVNULL)
    os.write(to, request(1, "skills/list"))
    with open(came, "rb") as answers:  # noqa: PTH123 - a descriptor
        assert messages([answers.readline()])[0]["id"] == 1
        assert os.get_blocking(source)
        assert os.get_blocking(sink)
        os.close(to)
        assert process.wait(PATIENCE) == 0
    os.close(source)
    os.close(sink)


def test_uncached_requests_work_after_cached_ones(tree: Path) -> None:
    said = [
        request(1, "skills/list"),
        request(2, "tools/list"),
        request(3, "skills/list"),
        request(4, "no/such"),
    ]
    done = serve(tree, said=b"".join(said))
    answers = {answer["id"]: answer for answer in messages(done.stdout)}
    assert done.returncode == 0
    assert answers[1]["result"] == answers[3]["result"]
    assert answers[2]["result"]["tools"]
    assert "error" in answers[4]
    assert len(answers) == 4  # nothing that the server asked of itself
