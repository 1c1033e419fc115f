"""Systems other than Linux, simulated in a process: each lacks what it lacks, and no one sees a traceback."""

import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.command_line import COMMANDS
from tests.support.paths import ROOT
from tests.support.peers import MODERN, PATIENCE, StdioPeer
from tests.support.skills import write_skill

OTHER_SYSTEM = ROOT / "tests" / "support/other_system.py"
REFUSED = (
    "does not work on Windows: it needs file locks, file permissions and a way to read folders "
    "without following links; use WSL (Windows Subsystem for Linux)"
)


def command(system: str, *arguments: str | Path) -> list[str]:
    return [sys.executable, str(OTHER_SYSTEM), system, *map(str, arguments)]


def ran(system: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(system, *arguments), capture_output=True, text=True, timeout=2 * PATIENCE, check=False
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A file for a program that a test writes."""
    return tmp_path / "program.py"


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    write_skill(tmp_path / "skills", "acme/refunds", {"references/policy.md": "# Policy\n"})
    return tmp_path / "skills"


@pytest.mark.parametrize("system", ["windows", "macos"])
def test_every_module_can_be_imported(program: Path, system: str) -> None:
    program.write_text(
        dedent("""
        import importlib, pkgutil, sys, skillwire
        # The first needs `httptools`, which only POSIX has, and is not used without; the others need extras.
        NOT_HERE = {"skillwire.server.http.httptools_protocol", "skillwire.__main__"}
        OPTIONAL = ("skillwire.adapters.", "skillwire.server.fastmcp")
        count = 0
        for module in pkgutil.walk_packages(skillwire.__path__, "skillwire."):
            if module.name not in NOT_HERE and not module.name.startswith(OPTIONAL):
                importlib.import_module(module.name)
                count += 1
        print(count)
        """)
    )
    done = ran(system, program)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 200


def test_every_command_says_that_windows_needs_wsl(program: Path) -> None:
    program.write_text(
        dedent("""
        from skillwire.cli.main import all_commands, run
        for verb in all_commands():
            print(verb, run([verb, "somewhere"]))
        """)
    )
    done = ran("windows", program)
    assert done.stdout.splitlines() == [f"{verb} 1" for verb in COMMANDS]
    assert " ".join(done.stderr.split()) == " ".join(
        f"error: `skillwire {verb}` {REFUSED}" for verb in COMMANDS
    )


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["serve", "--help"]])
def test_help_works_on_windows(arguments: list[str]) -> None:
    done = ran("windows", "skillwire", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_the_library_says_that_windows_needs_wsl(program: Path) -> None:
    program.write_text(
        dedent("""
        from pathlib import Path
        from skillwire import State
        from skillwire.errors import PlatformError
        from skillwire import FolderSource
        for use in (lambda: FolderSource("."), lambda: State.open(Path("state"))):
            try:
                use()
            except PlatformError as error:
                print(error)
        """)
    )
    done = ran("windows", program)
    assert done.stdout.splitlines() == [
        f"reading a folder of skills {REFUSED}",
        f"storing approvals {REFUSED}",
    ]


def test_skills_in_code_are_served_on_windows(program: Path) -> None:
    program.write_text(
        dedent("""
        import socket, sys
        import anyio
        from mcp import Client
        from mcp.server.mcpserver import MCPServer
        from skillwire import Skill
        from skillwire import DriveClient, attach
        from skillwire.server import Address
        from skillwire.server import listen

        async def main():
            server = MCPServer("host")
            attach(server, Skill("refunds", "---\\nname: refunds\\ndescription: Refunds.\\n---\\nPay back."))
            async with Client(server) as client:
                found = await client.read_resource("skill://refunds/SKILL.md")
            assert "Pay back." in found.contents[0].text

        anyio.run(main)
        assert sys.platform == "win32" and DriveClient
        listening, _ = listen(Address.parse("127.0.0.1:0"))
        with listening:
            # No other program may take the port, which `SO_REUSEADDR` would let it do there.
            assert not listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
            assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE)
        """)
    )
    done = ran("windows", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_macos_checks_and_lists_a_folder(skills: Path) -> None:
    assert ran("macos", "skillwire", "check", skills).returncode == 0
    done = ran("macos", "skillwire", "list", skills)
    assert "skill://acme/refunds/SKILL.md" in done.stdout


def test_macos_serves_a_folder_over_stdio(skills: Path) -> None:
    with StdioPeer(MODERN, command("macos", "skillwire", "serve", skills, "--no-config")) as peer:
        (entry,) = peer.result("skills/list")["skills"]
        assert entry["uri"] == "skill://acme/refunds/SKILL.md"
        (content,) = peer.result("resources/read", {"uri": "skill://acme/refunds/references/policy.md"})[
            "contents"
        ]
        assert content["text"] == "# Policy\n"
        assert peer.close() == 0
        assert "Traceback" not in peer.stderr()


def test_macos_serves_a_folder_over_http_and_ends(skills: Path) -> None:
    process = subprocess.Popen(
        command("macos", "skillwire", "serve", skills, "--no-config", "--http", "127.0.0.1:0"),
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    with process.stderr as told:
        started = any("serving on http://127.0.0.1" in line for line in told)
        process.send_signal(signal.SIGTERM)
        rest = told.read()
    assert (started, process.wait(timeout=PATIENCE)) == (True, 0)
    assert "Traceback" not in rest
