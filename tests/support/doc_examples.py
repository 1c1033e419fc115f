"""Run the examples of a documentation page as a reader would: in order, pasted into an empty folder."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

FENCE = re.compile(
    r"^(?P<indent> *)(?:<!-- run: (?P<run>[^\n]*?) -->\n+ *)?"
    r"```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
TITLE = re.compile(r'title="([^"]+)"')
SERVER = re.compile(r"^(skillwire (serve|bridge)\b.*--http|python \S+.* # server$|python \S+ ws://)")
"""How the last command of a fence looks that starts a server or a Drive program, in a terminal of its own."""
READY = re.compile("serving on|connected to")
PORT = re.compile(r"\b876[5-9]\b")
"""The ports in examples. Free ones take their place."""
SECONDS = 60
_PARSERS = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}


@dataclass(frozen=True, slots=True)
class Fence:
    """One example of a page."""

    line: int
    language: str
    title: str | None
    run: str
    """What the page says of running it: empty, `exit 1`, or `no, because …`."""
    body: str

    @property
    def is_skipped(self) -> bool:
        return self.run.startswith("no, ")

    @property
    def exit_code(self) -> int:
        return int(self.run.removeprefix("exit ")) if self.run.startswith("exit ") else 0


def fences(text: str) -> Iterator[Fence]:
    """Yield the examples of a page, in their order."""
    for found in FENCE.finditer(text):
        indent = len(found["indent"])
        body = "".join(line[indent:] for line in found["body"].splitlines(keepends=True))
        title = TITLE.search(found["info"])
        line = text.count("\n", 0, found.start()) + 1
        yield Fence(line, found["language"], title[1] if title else None, found["run"] or "", body)


class Reader:
    """A reader of one page: a folder, a home and open terminals, all empty at first."""

    def __init__(self, folder: Path, program_folder: Path = Path(sys.executable).parent) -> None:
        """`program_folder` has `skillwire` and `python`, as the reader installed them."""
        self._folder, home = folder / "work", folder / "home"
        self._folder.mkdir()
        home.mkdir()
        self._ports: dict[str, str] = {}
        self._servers: dict[str, subprocess.Popen[str]] = {}
        self._environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join([str(program_folder), os.environ["PATH"]]),
            "LANG": "C.UTF-8",
            "COLUMNS": "80",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.com",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers.values():
            _stop(server)

    def try_out(self, fence: Fence) -> None:
        """Do with an example what a reader does. Raises `AssertionError` if it does not work."""
        body = PORT.sub(lambda port: self._ports.setdefault(port[0], _free_port()), fence.body)
        if fence.title is not None:
            path = self._folder / fence.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        if fence.language == "python":
            compile(body, fence.title or "example", "exec")
        if fence.language in _PARSERS:
            _PARSERS[fence.language](body)
        elif fence.is_skipped or (fence.title is not None and fence.language != "sh"):
            return
        elif fence.language == "sh":
            self._paste(body, fence.exit_code)
        elif fence.language == "python":
            self._run(["python", "-c", body], fence.exit_code)

    def _paste(self, body: str, exit_code: int) -> None:
        last = body.rstrip().replace("\\\n", " ").splitlines()[-1]
        if not SERVER.match(last):
            self._run(["bash", "-ec", body], exit_code)
            return
        port = next((port for port in self._ports.values() if port in last and "ws://" not in last), "")
        if (earlier := self._servers.pop(port, None)) is not None:
            _stop(earlier)  # as the reader does, to use its port again
        server = self._servers[port] = self._start(["bash", "-ec", body])
        shown: list[str] = []
        assert server.stdout is not None
        deadline = threading.Timer(SECONDS, os.killpg, (server.pid, signal.SIGKILL))
        deadline.start()
        try:
            for line in server.stdout:
                shown.append(line)
                if READY.search(line):
                    return
        finally:
            deadline.cancel()
        raise AssertionError(f"the server ended with exit code {server.wait()}:\n{''.join(shown)}")

    def _run(self, command: list[str], exit_code: int) -> None:
        process = self._start(command)
        try:
            shown, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            shown, _ = process.communicate()
            raise AssertionError(f"{shlex.join(command)} did not end:\n{shown}") from None
        assert process.returncode == exit_code, f"exit code {process.returncode}:\n{shown}"

    def _start(self, command: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def _stop(server: subprocess.Popen[str]) -> None:
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGKILL)
    server.communicate()


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return str(listening.getsockname()[1])
