"""Running a command line, in this process or on a terminal, and seeing what it did."""

import errno
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillwire.cli.main import all_commands, run
from tests.support.peers import PATIENCE, skillwire

__all__ = ["ANSI", "BLOB", "COMMANDS", "PROBLEM_KEYS", "Cli", "CommandResult", "on_terminal", "run"]

COMMANDS = all_commands()
BLOB = bytes(range(256))
PROBLEM_KEYS = ["path", "line", "field", "rule", "severity", "message", "hint"]
ANSI = re.compile(rb"\x1b\[")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command line did."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


Cli = Callable[..., CommandResult]


def on_terminal(*arguments: str | Path, columns: int = 100, typed: bytes = b"") -> tuple[int, bytes]:
    """Run a command line on a terminal of its own, where somebody has `typed` something.

    Return its exit code, and all that it showed.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(skillwire(*arguments), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, typed)
    try:
        shown = b"".join(_chunks(ours))
        return process.wait(timeout=PATIENCE), shown
    finally:
        os.close(ours)
        process.kill()


def _chunks(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # how Linux says that the other side is closed
                return
            raise
        if not chunk:
            return
        yield chunk
