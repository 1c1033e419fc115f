"""Fixtures: folders to work in, and a command line to work with."""

import os
from pathlib import Path

import pytest

from tests.support.command_line import BLOB, Cli, CommandResult, run
from tests.support.skills import write, write_skill


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Runs a command line in this process, its output in a pipe."""

    def call(*arguments: str | Path) -> CommandResult:
        code = run([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        return CommandResult(code, captured.out, captured.err.decode())

    return call


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Isolate the tests from the settings of the user who runs them."""
    for variable in [name for name in os.environ if name.startswith("SKILLWIRE_")]:
        monkeypatch.delenv(variable)
    for variable in (
        "SKILLS_DIR",
        "MAX_FILE_SIZE_MB",
        "FORCE_COLOR",
        "NO_COLOR",
        "TTY_COMPATIBLE",
        "COLUMNS",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    nobody = tmp_path_factory.mktemp("home")
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(nobody))
    monkeypatch.setenv("SKILLWIRE_STATE_DIR", str(nobody / "state"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a folder `skills`: one good skill, one odd, one broken, two of a name."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "skills"
    write_skill(root, "acme/refunds", {"references/policy.md": "# Policy\n", "logo.png": BLOB})
    write_skill(root, "odd", name="other")
    write_skill(root, "twins/one/twin")
    write_skill(root, "twins/two/twin")
    write(root / "broken", {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    return tmp_path


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which contains a valid skill folder `good`."""
    monkeypatch.chdir(tmp_path)
    write_skill(tmp_path / "good", "refunds")
    write_skill(tmp_path / "good", "returns")
    return tmp_path
