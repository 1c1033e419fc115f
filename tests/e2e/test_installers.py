"""uv and pipx install Skillwire from the checkout, into an empty home."""

import subprocess
from pathlib import Path

import pytest

from skillwire import __version__
from tests.support.installers import PROGRAMS, installer_environment
from tests.support.paths import ROOT
from tests.support.skills import write_skill

SECONDS = 240


def run(folder: Path, *command: str | Path) -> str:
    """Run a command in the checkout; return what it prints on stdout. Only the home `folder` is its own."""
    done = subprocess.run(
        [str(each) for each in command],
        cwd=ROOT,
        env=installer_environment(folder, PROGRAMS),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("command", ["uv tool install .", "pipx install ."])
def test_the_installed_program_works_and_can_be_removed(command: str, tmp_path: Path) -> None:
    installer, *arguments = command.split()
    run(tmp_path, PROGRAMS / installer, *arguments)
    program = tmp_path / ".local/bin/skillwire"
    skills = write_skill(tmp_path, "skills/refunds").parent
    assert run(tmp_path, program, "--version").strip() == __version__
    assert "refunds" in run(tmp_path, program, "list", skills)
    bundle = tmp_path / "acme.mcpb"
    assert run(tmp_path, program, "pack", skills, "--mcpb", bundle, "--json")
    assert bundle.stat().st_size > 1_000_000
    run(tmp_path, PROGRAMS / installer, *(word for word in arguments[:-2]), "uninstall", "skillwire")
    assert not program.exists()


def test_uvx_runs_the_checkout_without_installing_it(tmp_path: Path) -> None:
    shown = run(tmp_path, PROGRAMS / "uvx", "--from", ".", "skillwire", "--version")
    assert shown.strip() == __version__
    assert not (tmp_path / ".local/bin").exists()
