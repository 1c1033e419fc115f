"""The process itself: what it loads, and how it ends."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cached_answers import modern
from tests.support.command_line import Cli
from tests.support.peers import PATIENCE, skillwire
from tests.support.skills import write_skill


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "skills"],
        ["check", "skills", "--json"],
        ["list", "skills"],
        ["show", "./skills/odd"],
        ["read", "./skills/odd"],
        ["visibility", "./skills/odd"],
        ["check", "skills", "--contract"],
        ["project", "skills", "--out", "upload"],
        ["graph", "skills"],
        ["new", "fresh", "--contract"],
        ["schema", "--contract"],
        ["show", "nothing", "--from", "skills"],
        ["servers"],
        ["revoke", "acme:nothing"],
        ["cache"],
        ["--help"],
        ["check", "--help"],
        ["no-such-verb"],
    ],
    ids=" ".join,
)
def test_only_serving_and_asking_servers_loads_the_mcp_sdk(here: Path, arguments: list[str]) -> None:
    program = (
        "import sys; from skillwire.cli.main import run; run(sys.argv[1:]);"
        "loaded = {name.partition('.')[0] for name in sys.modules};"
        "sys.exit(str(loaded & {'mcp', 'mcp_types', 'pydantic', 'uvicorn', 'starlette', 'httpx2'}))"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert done.stderr.splitlines()[-1] == b"set()"


FOR_OTHERS = {
    "difflib",  # a slip of the finger
    "importlib.resources",  # pages
    "mcp",
    "platformdirs",  # no place was named
    "pydantic",
    "rich",  # colours
    "skillwire.authoring",  # skills in code
    "skillwire.contract",
    "skillwire.drive",
    "skillwire.app.http",  # HTTP
    "skillwire.terminal.output",
    "skillwire.config.toml_edit",  # changes of the configuration
    "skillwire.host",  # other servers
    "skillwire.server.http.address",
    "skillwire.sources.fetched",  # what is fetched
    "skillwire.features.archives",
    "skillwire.protocol.discovery",  # publishers
    "skillwire.protocol.packing",
    "tarfile",
    "tomlkit",
    "tomllib",
    "uvicorn",
    "yaml",  # a frontmatter that is not plain
    "secrets",  # marks around files that look like several
    "skillwire.protocol.claims",  # what other servers list
    "zipfile",
    "skillwire.frontmatter.body",  # the text of a skill, which only `check` judges
    "skillwire.config.body_check",
}
"""What a server of a plain folder on stdio has no use for. Each takes time and memory at every start."""


def test_a_server_on_stdio_loads_only_what_it_uses(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "refunds")
    program = (
        "import sys; from skillwire.cli.main import run; code = run(sys.argv[1:]);"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "serve", str(tmp_path / "skills"), "--config", "none.toml"],
        input=json.dumps(modern("skills/list")).encode() + b"\n",
        env={**os.environ, "SKILLWIRE_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    (skill,) = json.loads(done.stdout)["result"]["skills"]
    assert skill["uri"] == "skill://refunds/SKILL.md"
    loaded = set(done.stderr.decode().splitlines()[-1].split())
    assert "skillwire.server.response_cache" in loaded
    assert loaded & FOR_OTHERS == set()


@pytest.mark.parametrize(
    "arguments", [["check", "skills", "--json"], ["list", "skills"], ["--help"]], ids=" ".join
)
def test_a_reader_that_had_enough_gets_no_traceback(here: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            skillwire(*arguments), stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
        )
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("verb", ["check", "serve"])
def test_closed_standard_streams_do_no_harm(good: Path, verb: str, closed: str) -> None:
    command = shlex.join(skillwire(verb, "good"))
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {command} {closed}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


def test_an_error_cannot_make_a_terminal_obey(good: Path, cli: Cli) -> None:
    for arguments in (["check", "good", "--\x1b]0;pwned\x07"], ["list", "./\x1b[2J"], ["show", "./\x1b[2J"]):
        done = cli(*arguments)
        assert done.code == 2
        assert "\x1b" not in done.err
