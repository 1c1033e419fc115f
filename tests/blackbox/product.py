"""The product as a person meets it: a command, its options, its files and its environment.

The command is `python -m skillwire`, or what `SKILLWIRE_COMMAND` says, so that any build can be tested. Names
that the product may change are spelled here, and nowhere else in this suite.
"""

import json
import os
import queue
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

COMMAND = shlex.split(os.environ.get("SKILLWIRE_COMMAND", "")) or [sys.executable, "-m", "skillwire"]

UNCACHED = "--no-cache"
"""The option of `serve` with which every answer is made anew."""
NO_CONFIG = "--no-config"
NO_DRAFTS = "--no-drafts"
STATE_VARIABLE, CACHE_VARIABLE = "SKILLWIRE_STATE_DIR", "SKILLWIRE_CACHE_DIR"
LIMITS = {"files": "SKILLWIRE_MAX_SKILL_FILES", "bytes": "SKILLWIRE_MAX_SKILL_BYTES"}
IGNORE_FILE = ".skillwireignore"
PROBLEMS = "skillwire://problems"
LOAD_TOOL, FILE_TOOL = "load-skill", "skill-resource"
SERVER_META = "dev.skillwire/server"
"""The key under which `read --json` names the server of a file."""

PATIENCE = 60.0
"""Seconds until a test gives up. Never a measure of speed."""
_ADDRESS = re.compile(r"serving on (http://\S+)")
_OURS = re.compile(r"SKILL|CLAUDE|CODEX|XDG_|GH_TOKEN|GITHUB_TOKEN|.*_proxy$", re.IGNORECASE)


def command(*arguments: str | Path) -> list[str]:
    """Return the command line of the product with these arguments."""
    return [*COMMAND, *map(str, arguments)]


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @cached_property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Person:
    """A user with a home folder of their own, and no state yet."""

    home: Path

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def work(self) -> Path:
        """The folder in which commands run."""
        return self.home / "work"

    def environment(self, variables: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of this person's processes: none of the settings of this machine."""
        self.work.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local"),
            STATE_VARIABLE: str(self.state),
            CACHE_VARIABLE: str(self.home / "cache"),
            "NO_COLOR": "1",
            **(variables or {}),
        }

    def run(self, *arguments: str | Path, variables: Mapping[str, str] | None = None) -> Done:
        """Run a command to its end, without a terminal."""
        done = subprocess.run(
            command(*arguments),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env=self.environment(variables),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
        )
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def has_servers(self, **servers: str | Sequence[str]) -> None:
        """Name servers in this person's own file of another client: each a URL, or a command."""
        named = {
            label: {"url": server}
            if isinstance(server, str)
            else {"command": server[0], "args": list(server[1:])}
            for label, server in servers.items()
        }
        file = self.home / ".cursor/mcp.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"mcpServers": named}), "utf-8")


# A small process between: the peak of a process counts that of the one which started it.
_MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss // 1024)
"""


def peak_memory(arguments: Sequence[str], person: Person) -> tuple[int, int, str]:
    """Run a command to its end; return its exit code, its peak memory in MiB, and what it said on stderr."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _MEASURE, *command(*arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=person.environment(),
        cwd=person.work,
        timeout=PATIENCE,
        check=True,
    )
    code, memory = map(int, done.stdout.split())
    return code, memory, done.stderr.decode()


class HttpService:
    """A process of the product that listens on a port of its own choosing."""

    def __init__(
        self,
        person: Person,
        *arguments: str | Path,
        verb: str = "serve",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            command(verb, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=person.environment(variables),
            cwd=person.work,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()
        try:
            self.url = self.line(_ADDRESS)[1]
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    @property
    def memory(self) -> int:
        """How many MiB of memory the process has now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20

    def line(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Wait for a line on stderr that matches."""
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            if (found := pattern.search(line)) is not None:
                return found
        raise AssertionError(f"the server ended: {self.said}")

    def stop(self) -> int:
        """Ask it to end; return its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(timeout=PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self._thread.join(timeout=PATIENCE)
            assert self.process.stderr is not None
            self.process.stderr.close()

    def _pump(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.decode())
            self._lines.put(self.said[-1])
        self._lines.put(None)


def eventually(holds: Callable[[], bool], wait: threading.Event | None = None) -> None:
    """Ask again and again whether something holds, within bounds."""
    pause, asked = wait or threading.Event(), 0
    while not holds():
        asked += 1
        assert asked < PATIENCE / 0.05, "it never came"
        pause.wait(0.05)
