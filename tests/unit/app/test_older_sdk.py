"""An environment with an older MCP SDK, or none: the import says which version is needed."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
PROGRAM = """
import importlib.metadata, importlib.abc, sys
sys.path.insert(0, sys.argv[1])
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "mcp.server.context":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from skillwire import attach
"""


def fail_with(version: str, folder: Path) -> str:
    """Return what an import of `attach` prints if the installed SDK has this version and lacks a module."""
    info = folder / f"mcp-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mcp\nVersion: {version}\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_older_sdk_is_named_with_the_version_needed(tmp_path: Path) -> None:
    (needed,) = (each for each in PROJECT["dependencies"] if each.startswith("mcp>"))
    oldest = needed.removeprefix("mcp>=").partition(",")[0]
    assert fail_with("1.30.0", tmp_path) == (
        f"ImportError: Skillwire needs mcp {oldest} or newer; this environment has 1.30.0; "
        "install Skillwire and your server in a new environment"
    )


@pytest.mark.slow
def test_other_import_errors_stay_as_they_are(tmp_path: Path) -> None:
    assert fail_with("2.3.0", tmp_path).startswith("ModuleNotFoundError: No module named ")
