"""`verify` and programs that misbehave: slow, loud, or talking nonsense; and what a program is given."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from skillwire.host.connections.stdio import StderrTail
from skillwire.sources import Rule
from tests.support.peers import HttpServer, skillwire
from tests.support.posting import PostingSite

SERVER = """
from skillwire import Skill
from skillwire import SkillServer
server = SkillServer("s").add(Skill("x", "---\\nname: x\\ndescription: X.\\n---\\n"))
server.run()
"""
TOKEN = "s3cret-t0ken"


def run(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    given = {**os.environ, **(env or {})}
    return subprocess.run(
        skillwire("verify", *arguments), capture_output=True, timeout=60, check=False, env=given
    )


def program(tmp_path: Path, before: str = "", server: str = SERVER) -> list[str]:
    file = tmp_path / "server.py"
    file.write_text(f"import os, sys\n{before}\n{server}", "utf-8")
    return ["--", sys.executable, str(file)]


def test_program_inherits_environment_variables(tmp_path: Path) -> None:
    command = program(tmp_path, 'assert os.environ["SKILLS_OF"] == "me", "not given"')
    assert run(*command, env={"SKILLS_OF": "me"}).returncode == 0
    assert b"not given" in run(*command, env={"SKILLS_OF": "you"}).stderr


@pytest.mark.parametrize(
    "line",
    [
        "b'\\x1b[31mnot JSON'",
        "b'[' * 100_000",
        "b'\\xff\\xfe'",
        'b\'{"jsonrpc": "2.0", "id": "?", "result": 7}\'',
    ],
)
def test_invalid_program_output_is_not_printed(tmp_path: Path, line: str) -> None:
    done = run(*program(tmp_path, f"sys.stdout.buffer.write({line} + b'\\n'); sys.stdout.flush()"))
    assert done.returncode == 0
    assert done.stderr == b"verified: 1 of 1 skill as listed; 0 findings\n"


def test_large_stderr_output_does_not_block_the_program(tmp_path: Path) -> None:
    shout = "for _ in range(300): sys.stderr.write('x' * 10_000)\nsys.stderr.flush()"
    assert run(*program(tmp_path, shout)).returncode == 0


def test_only_the_tail_of_stderr_is_kept() -> None:
    with StderrTail() as words:
        words.file.write("a\n" * 1_000_000 + "the \x1b[31mend\n")
        assert words.last_lines() == ["a", "a", "the \\x1b[31mend"]
        kept: bytes = words._tail  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - it is the point
    assert len(kept) <= 2000


SLOW = """
import json
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "server/discover":
        answer = {"error": {"code": -32601, "message": "Method not found"}}
    elif asked["method"] == "initialize":
        answer = {"result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"extensions": {"io.modelcontextprotocol/skills": {}}},
            "serverInfo": {"name": "slow", "version": "1"},
        }}
    elif asked["method"] == "skills/list":
        entry = {"uri": "skill://x/SKILL.md", "frontmatter": {"name": "x", "description": "X."}}
        answer = {"result": {"skills": [{**entry, "resources": "dynamic"}]}}
    elif asked["method"] == "skills/get":
        answer = {"error": {"code": -32602, "message": "never heard of it"}}
    else:
        continue  # and never answer
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


def test_findings_before_the_timeout_are_reported(tmp_path: Path) -> None:
    done = run("--timeout", "3", "--json", *program(tmp_path, server=SLOW))
    assert done.returncode == 8, done.stderr
    told = json.loads(done.stdout)
    assert told["outcome"] == "incomplete"
    assert [finding["fault"] for finding in told["findings"]] == [Rule.READ_FAILED, Rule.TIMEOUT]
    assert told["findings"][1]["message"] == "verification stopped after 3 seconds, before it was complete"


def test_an_answer_that_breaks_the_protocol_is_a_finding(tmp_path: Path) -> None:
    answering = 'answer = {"result": {"contents": {"\x1b[31m": 7}}}'
    done = run(*program(tmp_path, server=SLOW.replace("continue  # and never answer", answering)))
    assert done.returncode == 7, done.stderr
    assert b"skill://x/SKILL.md: the answer does not follow the protocol, at `" in done.stdout
    assert done.stderr == b"nonconformant: 0 of 1 skill as listed; 2 findings\n"


def test_silent_program_times_out(tmp_path: Path) -> None:
    done = run("--timeout", "0.5", *program(tmp_path, server="sys.stdin.read()"))
    assert done.returncode == 4
    assert b"no answer within 0.5 seconds" in done.stderr
    assert b"hint: wait longer with `--timeout`" in done.stderr


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_invalid_timeout_is_wrong_usage(seconds: str) -> None:
    done = run(f"--timeout={seconds}", "http://127.0.0.1:1/mcp")
    assert done.returncode == 2
    assert b"--timeout" in done.stderr


def test_a_server_behind_a_token_is_verified(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/SKILL.md").write_bytes(b"---\nname: x\ndescription: X.\n---\n")
    env = {**os.environ, "OURS": TOKEN}
    with HttpServer(
        tmp_path, "--no-config", "--http", "127.0.0.1:0", "--token-env", "OURS", env=env
    ) as server:
        assert run(server.url).returncode == 4
        done = run(server.url, "--token-env", "OURS", env=env)
    assert done.returncode == 0, done.stderr
    assert TOKEN.encode() not in done.stdout + done.stderr


def test_a_token_is_never_sent_elsewhere_nor_printed() -> None:
    with PostingSite() as elsewhere, PostingSite(status=307, location=elsewhere.url) as site:
        done = run(site.url, "--token-env", "OURS", env={"OURS": TOKEN})
    assert done.returncode == 4
    assert {each["authorization"] for each in site.headers} == {f"Bearer {TOKEN}"}
    assert all("authorization" not in each for each in elsewhere.headers)
    assert TOKEN.encode() not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "value", "told"),
    [
        (["http://127.0.0.1:1/mcp"], "", b"is empty or not set"),
        (["http://127.0.0.1:1/mcp"], "a b", b"characters that are not allowed in a header"),
        (["--", "python"], TOKEN, b"a bearer token is for a URL"),
    ],
)
def test_a_token_that_cannot_be_sent_is_wrong_usage(arguments: list[str], value: str, told: bytes) -> None:
    done = run("--token-env", "OURS", *arguments, env={"OURS": value})
    assert done.returncode == 2
    assert told in done.stderr
