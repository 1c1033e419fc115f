"""Servers and tools that we did not write: how each is started, with nothing of ours in it."""

import fcntl
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_BESIDE = Path(__file__).parent
_INSTALL = """
set -euo pipefail
. "$1/setup.sh"
. "$1/judges.sh"
need_npm
install_node
install_typescript_server
install_mcpb
printf '%s\\n' "$NODE" "$TYPESCRIPT_SERVER" "$MCPB"
"""


def typescript(folder: Path) -> tuple[str, ...]:
    """Return the command that serves a folder with the official TypeScript SDK."""
    node, packages, _ = _installed()
    return node, str(_BESIDE / "typescript_server.mjs"), packages, str(folder)


def typescript_entries(entries: Path) -> tuple[str, ...]:
    """Return the command that lists those entries of a file that the TypeScript SDK accepts."""
    node, packages, _ = _installed()
    return node, str(_BESIDE / "typescript_entries.mjs"), packages, str(entries)


def mcpb() -> tuple[str, ...]:
    """Return the command of the official tool for MCPB bundles."""
    node, _, tool = _installed()
    return node, tool


def fastmcp(folder: Path) -> tuple[str, ...]:
    """Return the command that serves a folder with FastMCP and its Skills extension."""
    return sys.executable, str(_BESIDE / "fastmcp_server.py"), "extension", str(folder)


def fastmcp_manifests(folder: Path) -> tuple[str, ...]:
    """Return the command that serves a folder as FastMCP does without the extension."""
    return sys.executable, str(_BESIDE / "fastmcp_server.py"), "manifests", str(folder)


@cache
def _installed() -> tuple[str, str, str]:
    """Return Node, the folder of the TypeScript SDK and the MCPB tool. Installs what is missing."""
    folder = ROOT / ".cache/judges"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # two test processes install one after the other
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["bash", "-c", _INSTALL, "install", str(ROOT / "scripts/lib")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.fail(f"the npm packages could not be installed:\n{done.stderr}")
    node, packages, tool = done.stdout.split("\n")[:3]
    return node, packages, tool
