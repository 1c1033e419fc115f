"""npm `yaml`, the YAML 1.2 implementation that most MCP clients are built with, as a second opinion."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

VERSION = "2.9.1"

_ROOT = Path(__file__).parents[3]
_CACHE = _ROOT / ".cache"
_SCRIPT = Path(__file__).with_name("yaml_oracle.mjs")


class NpmYaml:
    """A running oracle: one question, one answer."""

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        self._questions, self._answers = questions, answers

    def read(self, text: str) -> dict[str, Any]:
        """Return `{"ok": value}` or `{"error": message}`."""
        self._questions.write(json.dumps({"text": text}) + "\n")
        self._questions.flush()
        answer = self._answers.readline()
        assert answer, "the npm `yaml` oracle ended: see its message on stderr"
        return json.loads(answer)


@contextmanager
def running() -> Generator[NpmYaml]:
    """Run the oracle; it ends with the block."""
    command = [_program("node"), "--no-warnings", str(_SCRIPT), str(_installed())]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin
        assert process.stdout
        yield NpmYaml(process.stdin, process.stdout)
        process.stdin.close()


def _installed() -> Path:
    """Return the folder that holds the package, after installing it where it is not there yet."""
    folder = _CACHE / "oracles" / f"yaml-{VERSION}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Installed aside and moved in one step: another test process never sees half of it.
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    _npm_install(fresh)
    try:
        fresh.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(fresh)
    return folder


def _npm_install(folder: Path) -> None:
    command = [_program("npm"), "install", "--prefix", str(folder), f"yaml@{VERSION}"]
    # The cache is named so that npm needs no home folder.
    env = {**os.environ, "npm_config_cache": str(_CACHE / "npm"), "npm_config_update_notifier": "false"}
    done = subprocess.run(
        [*command, "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        pytest.fail(f"npm could not install `yaml@{VERSION}`:\n{done.stderr}")


def _program(name: str) -> str:
    found = shutil.which(name)
    return found or pytest.fail(
        f"`{name}` is not on the PATH: install Node.js 20 or later, it brings node and npm"
    )
