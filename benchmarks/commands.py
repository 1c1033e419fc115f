"""Measure the start-up time of a command: one that does almost no work."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.costs import Cost
from benchmarks.results import Growth, Series, Table, series_of

_WITH_SDK = "import mcp, sys; from skillwire.cli.main import run; sys.exit(run(sys.argv[1:]))"
_LOADED = (
    "import sys; from skillwire.cli.main import run; code = run(sys.argv[1:]); "
    "print('mcp' in sys.modules or 'mcp_types' in sys.modules); sys.exit(code)"
)


def measure(skill: Path, rounds: int) -> list[Series]:
    """Measure on a folder with a single skill."""
    python = sys.executable
    check = ["check", str(skill)]
    commands = {
        "`python -c pass`": [python, "-c", "pass"],
        "`skillwire check` of one skill": [python, "-m", "skillwire", *check],
        '`python -c "import mcp"`': [python, "-c", "import mcp"],
        "`skillwire check` of one skill, with the SDK loaded first": [python, "-c", _WITH_SDK, *check],
    }
    tables = {name: Table() for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            tables[name].add(1, _run(command))
    return [series for name, table in tables.items() for series in series_of(name, table, Growth.NONE)]


def check_loads_sdk(skill: Path) -> bool:
    """Return whether checking a folder loads the MCP SDK."""
    command = [sys.executable, "-c", _LOADED, "check", str(skill)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return printed.stdout.split()[-1] == b"True"


def _run(command: Sequence[str]) -> Cost:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(wall, usage.ru_utime + usage.ru_stime)
