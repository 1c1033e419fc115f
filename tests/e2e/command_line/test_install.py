"""A person with a folder of skills and a client: one command, and the client can use the skills."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client, StdioServerParameters

from tests.support.command_line import on_terminal
from tests.support.skills import write_skill

PROGRAM = Path(sys.executable).with_name("skillwire")
FILES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "vscode": ".config/Code/User/mcp.json",
    "cursor": ".cursor/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "goose": ".config/goose/config.yaml",
    "windsurf": ".config/devin/mcp_config.json",
}
TABLES = ("mcpServers", "servers", "mcp_servers", "extensions")
PARSERS = {".json": json.loads, ".toml": tomllib.loads, ".yaml": yaml.safe_load}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses the clients' paths on Linux")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def argv_in(path: Path) -> list[str]:
    """Return the command in the only entry of a client's file, as its documentation describes it."""
    document: Mapping[str, Any] = PARSERS[path.suffix](path.read_text("utf-8"))
    (entry,) = next(document[table] for table in TABLES if table in document).values()
    return [entry.get("command") or entry["cmd"], *entry["args"]]


@pytest.mark.anyio
async def test_every_client_with_an_empty_home_gets_the_skills(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    write_skill(tmp_path / "my skills", "refunds")
    done = run(tmp_path, "install", "./my skills", "--client", ",".join(FILES), "--yes")
    assert done.returncode == 0, done.stderr
    commands = {client: argv_in(tmp_path / "home" / path) for client, path in FILES.items()}
    read: dict[str, str] = {}

    async def use(client: str, command: list[str]) -> None:
        server = StdioServerParameters(
            command=command[0], args=command[1:], env={"HOME": str(tmp_path / "home")}, cwd="/"
        )
        async with Client(server) as connected:
            result = await connected.read_resource("skill://refunds/SKILL.md")
            read[client] = str(getattr(result.contents[0], "text", ""))

    async with anyio.create_task_group() as tasks:
        for client, command in commands.items():
            tasks.start_soon(use, client, command)
    assert set(read) == set(FILES)
    assert all("name: refunds" in text for text in read.values())

    before = {path: (tmp_path / "home" / path).read_bytes() for path in FILES.values()}
    again = run(tmp_path, "install", "./my skills", "--client", "all")
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("is already installed") == len(FILES)
    assert {path: (tmp_path / "home" / path).read_bytes() for path in before} == before

    gone = run(tmp_path, "uninstall", "--client", "all", "--yes")
    assert gone.returncode == 0, gone.stderr
    assert [path for path in FILES.values() if (tmp_path / "home" / path).exists()] == []


def test_a_person_is_asked_before_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_skill(tmp_path / "skills", "refunds")
    command = ("install", tmp_path / "skills", "--client", "cursor")
    code, shown = on_terminal(*command, typed=b"n\n")
    assert code == 0
    assert b"change 1 file? [y/N]" in shown
    assert b"+" in shown
    assert not (tmp_path / ".cursor").exists()
    code, shown = on_terminal(*command, typed=b"y\n")
    assert code == 0
    assert argv_in(tmp_path / ".cursor/mcp.json")[1:] == ["serve", str(tmp_path / "skills")]
