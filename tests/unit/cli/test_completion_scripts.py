"""`skillwire completion`: its scripts know every command and option, and work in real shells."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from skillwire.cli.main import known_arguments
from tests.support.command_line import COMMANDS, Cli
from tests.support.paths import ROOT
from tests.support.peers import PATIENCE

SHELLS = ("bash", "zsh", "fish")
TYPED = {
    "skillwire sou": "skillwire sources",
    "skillwire sources upd": "skillwire sources update",
    "skillwire help che": "skillwire help check",
    "skillwire --vers": "skillwire --version",
    "skillwire check --form": "skillwire check --format",
    "skillwire check --format sar": "skillwire check --format sarif",
    "skillwire check --format=sar": "skillwire check --format=sarif",
    "skillwire check --strict my-s": "skillwire check --strict my-skills",
    "skillwire serve --http my-s": "skillwire serve --http my-skills",
    "skillwire serve --config my-f": "skillwire serve --config my-file",
    "skillwire publish --out my-": "skillwire publish --out my-skills",
    "skillwire serve --token-env SKILLWIRE_TES": "skillwire serve --token-env SKILLWIRE_TESTED",
    "skillwire uninstall --client win": "skillwire uninstall --client windsurf",
    "skillwire cache list xyz": "skillwire cache list xyz",
}
"""What is typed before the tab key, and what stands on the line after it."""


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_names_everything(cli: Cli, shell: str) -> None:
    done = cli("completion", shell)
    assert (done.code, done.err) == (0, "")
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", done.out)
        for argument in known_arguments(command):
            name = argument.name
            spelled = f"-l {name[2:]} " if shell == "fish" and name.startswith("--") else name
            assert spelled in done.out or (shell != "zsh" and not name.startswith("--"))


def test_the_scripts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/sync-completion", "--check"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "run `scripts/sync-docs`"


def test_printing_a_script_loads_no_sources_and_no_servers() -> None:
    code = "import sys; from skillwire.cli.main import run; run(['completion', 'bash']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "skillwire.cli.completion" in loaded
    heavy = {"mcp", "mcp_types", "pydantic", "httpx2", "starlette", "uvicorn", "rich.console"}
    assert not loaded & {*heavy, "skillwire.app.gateway", "skillwire.host.host", "skillwire.cli.serve"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my-skills").mkdir()
    (tmp_path / "my-file").write_text("", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("shell", "setup"),
    [
        (["bash", "--norc", "--noprofile", "-i"], "source {}"),
        (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source {}"),
    ],
    ids=SHELLS[:2],
)
def test_the_tab_key_completes_a_command_line(shell: list[str], setup: str, folder: Path, cli: Cli) -> None:
    (script := folder / "script").write_bytes(cli("completion", shell[0]).raw)
    typed = [f"{setup.format(script)}; PS1='> '", *(f"{line}\t\x01echo '<\x05>'" for line in TYPED), "exit"]
    shown = on_a_terminal(shell, folder, typed)
    lines = [
        line.decode().strip().removesuffix("/") for line in re.findall(rb"^<(.*)>\r?$", shown, re.MULTILINE)
    ]
    assert lines == [*TYPED.values()]


def on_a_terminal(shell: list[str], folder: Path, typed: list[str]) -> bytes:
    """Return all that an interactive shell shows while these lines are typed."""
    ours, theirs = pty.openpty()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "SKILLWIRE_TESTED": "1"}
    process = subprocess.Popen(
        shell, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=env, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    try:
        for line in typed:
            os.write(ours, line.encode() + b"\r")
        while chunk := os.read(ours, 1 << 16):
            shown += chunk
    except OSError:  # the shell has ended
        pass
    finally:
        os.close(ours)
        process.wait(timeout=PATIENCE)
    return shown


def test_fish_completes_a_command_line(folder: Path, cli: Cli) -> None:
    (script := folder / "script").write_bytes(cli("completion", "fish").raw)
    asks = "".join(f"echo '{line}' '=>' (complete -C '{line}');" for line in TYPED)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; {asks}"],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "SKILLWIRE_TESTED": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    for line, (typed, after) in zip(done.stdout.splitlines(), TYPED.items(), strict=True):
        offered = line.partition("=>")[2].split("\t")[0].strip().removesuffix("/")
        expected = after.rpartition(" ")[2]
        assert offered == ("" if after == typed else expected), typed
