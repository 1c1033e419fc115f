"""The verb as a process: a client on stdio, a server on the web, a program, a person who approves."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.peers import MODERN, PATIENCE, HttpPeer, HttpServer, StdioPeer, skillwire
from tests.support.skills import write_skill

SERVER = """
from skillwire import Skill
from skillwire import SkillServer
SkillServer("s").add(Skill("made", "---\\nname: made\\ndescription: Made.\\n---\\n# Made\\n")).run()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def env(home: Path) -> Mapping[str, str]:
    """The environment of a person of whom nothing is remembered yet."""
    return {**os.environ, "HOME": str(home), "SKILLWIRE_STATE_DIR": str(home / "state")}


@pytest.fixture(scope="module")
def upstream(home: Path) -> Iterator[HttpServer]:
    write_skill(home / "skills", "refunds", {"references/policy.md": "# Policy\n"})
    write_skill(home / "skills", "returns")
    with HttpServer(home / "skills", "--no-config", "--http", "127.0.0.1:0") as server:
        yield server


def label_of(server: HttpServer) -> str:
    return server.url.removeprefix("http://").replace(":", "-").replace("/", "-")


def run(*arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        skillwire(*arguments),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=dict(env),
        stdin=subprocess.DEVNULL,
    )


def test_bridge_says_at_the_start_what_a_draft_server_lacks(env: Mapping[str, str], tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "refunds")
    command = ("--", sys.executable, "-m", "tests.support.older_server", str(tmp_path / "skills"))
    done = run("bridge", *command, env=env)  # it ends with its client, which is gone
    told = done.stderr.decode()
    assert done.returncode == 0, told
    assert "the server uses draft-b; skills passed on: 0 of 1; 1 more once unpacked from archives" in told
    assert "it is not passed on: its files are in an archive (`draft-b`)" in told
    assert "look at it, then approve it: `skillwire approve" in told
    label = told.partition("`skillwire approve ")[2].partition(":")[0]
    trusted = run("bridge", "--trust", label, *command, env=env)
    assert b"its archive is being fetched" in trusted.stderr


def test_stdio_bridge_lists_all_skills_and_loads_approved_ones(
    upstream: HttpServer, env: Mapping[str, str], tmp_path: Path
) -> None:
    label = label_of(upstream)
    server = tmp_path / "server.py"
    server.write_text(SERVER, "utf-8")
    command = skillwire("bridge", upstream.url, "http://127.0.0.1:1/mcp", "--", sys.executable, server)
    with StdioPeer("2025-11-25", command, env) as peer:
        listed = {each["uri"] for each in peer.result("skills/list", {})["skills"]}
        (program,) = (uri for uri in listed if uri.endswith("/made/SKILL.md"))
        assert listed == {program, f"skill://{label}/refunds/SKILL.md", f"skill://{label}/returns/SKILL.md"}
        policy = {"uri": f"skill://{label}/refunds/references/policy.md"}
        assert peer.result("resources/read", policy)["contents"][0]["text"] == "# Policy\n"
        problems = peer.result("resources/read", {"uri": "skillwire://problems"})["contents"][0]["text"]
        approve = f"skillwire approve {label}:refunds --from {upstream.url}"
        assert f"`{approve}`" in problems
        assert "`127.0.0.1-1-mcp` does not answer" in problems
        loading = {"name": "load-skill", "arguments": {"name": "refunds"}}
        assert peer.result("tools/call", loading)["isError"] is True
        done = run(*approve.split()[1:], "--yes", env=env)  # exactly as it was said
        assert done.returncode == 0, done.stderr
        while peer.receive().get("method") != "notifications/prompts/list_changed":
            pass
        loaded = peer.result("tools/call", loading)
        assert loaded["isError"] is False
        assert "from the server `127.0.0.1-" in loaded["content"][0]["text"]
        other = {"name": "load-skill", "arguments": {"name": "returns"}}
        assert peer.result("tools/call", other)["isError"] is True
        assert peer.close() == 0
        assert "Traceback" not in peer.stderr()


def test_http_bridge_requires_the_token_and_serves_trusted_skills(
    upstream: HttpServer, env: Mapping[str, str]
) -> None:
    label = label_of(upstream)
    process = subprocess.Popen(
        skillwire(
            "bridge", upstream.url, "--trust", label, "--http", "127.0.0.1:0", "--token-env", "BRIDGE_TOKEN"
        ),
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**env, "BRIDGE_TOKEN": "t0ken"},
    )
    assert process.stderr is not None
    try:
        told: list[str] = []
        while not told or "serving on " not in told[-1]:
            told.append(process.stderr.readline().decode())
            assert told[-1], told
        url = told[-1].split("serving on ")[1].strip()
        assert told[0] == "2 skills of 1 server; 2 offered to models and people\n"
        peer = HttpPeer(MODERN, url, "t0ken")
        listed = peer.result("skills/list", {})
        assert (len(listed["skills"]), listed["cacheScope"]) == (2, "private")
        loaded = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": "refunds"}})
        assert loaded["isError"] is False
        refused = peer.http.post(url, headers={"authorization": "Bearer wrong"}, content=b"{}")
        assert refused.status_code == 401
        peer.close()
        process.terminate()
        assert process.wait(timeout=PATIENCE) == 0
        assert "Traceback" not in process.stderr.read().decode()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_bridge_loop_stops_and_is_reported(env: Mapping[str, str], tmp_path: Path) -> None:
    """A file that names a bridge whose server is that very bridge: each would start the next."""
    bridge = {"command": sys.executable, "args": ["-m", "skillwire", "bridge", "loop", "--allow", "loop"]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"loop": bridge}}), "utf-8")
    process = subprocess.Popen(
        skillwire("bridge", "loop", "--allow", "loop"),
        cwd=tmp_path,
        env={**env, "SKILLWIRE_BRIDGES": "+++"},  # so that the next one is the last
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=PATIENCE) == 0
    assert process.stdout is not None
    assert process.stderr is not None
    told = process.stderr.read()
    assert b"0 skills of 1 server" in told
    assert b"`loop` does not answer" in told
    assert b"leads back to it" in told  # which the last one said
    process.stdout.close()
    process.stderr.close()


def _no_space() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
def test_a_bridge_serves_without_state_when_the_disk_is_full(
    upstream: HttpServer, env: Mapping[str, str], tmp_path: Path, *, known: bool
) -> None:
    env = {**env, "SKILLWIRE_STATE_DIR": str(tmp_path / "state")}
    label = label_of(upstream)
    if known:
        assert run("approve", "--json", env=env).returncode == 0  # which makes the folder
    command = skillwire("bridge", upstream.url, "--trust", label)
    with StdioPeer("2025-11-25", command, env, before=_no_space) as peer:
        assert len(peer.result("skills/list", {})["skills"]) == 2
        loaded = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": "refunds"}})
        assert loaded["isError"] is False
        assert (
            '"rule": "state-failed"'
            in peer.result("resources/read", {"uri": "skillwire://problems"})["contents"][0]["text"]
        )
        assert peer.close() == 0
        assert "stored approvals and cached files are not used" in peer.stderr()


def test_bridge_serves_without_state_when_its_folder_is_unavailable(
    upstream: HttpServer, env: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    env = {**env, "SKILLWIRE_STATE_DIR": str(tmp_path / "file/state")}
    with StdioPeer("2025-11-25", skillwire("bridge", upstream.url), env) as peer:
        assert len(peer.result("skills/list", {})["skills"]) == 2
        # What no one can have approved is offered to no model.
        loading = {"name": "load-skill", "arguments": {"name": "refunds"}}
        assert peer.result("tools/call", loading)["isError"] is True
        assert peer.close() == 0
        assert "stored approvals and cached files are not used" in peer.stderr()
