"""The compared programs: our server, other servers, and the floors."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_JUDGES = ROOT / ".cache" / "judges"
_TYPESCRIPT = Path(__file__).parent / "servers" / "typescript.mjs"
_SERVERS = "benchmarks.speed.servers"

OURS, WITHOUT_CACHE = "skillwire", "skillwire --no-cache"
FASTMCP, TYPESCRIPT, BARE = "FastMCP", "TypeScript SDK", "bare SDK"
AGENTSKILLS = "agentskills-mcp-server"
ECHO, ROUTE, RAW = "raw line echo", "Starlette route", "raw ASGI"
FILE_ROUTE = "Starlette file route"
"""Reads and hashes the requested file, and encodes the same answer."""
FILE = "stat, open, read, hash, encode"
"""Not a program: what every read of a file must do, in one process without a request."""
STAT = "one `stat`, repeated"
"""Not a program: the system call that a read needs and an echo does not."""
STDIO, HTTP = "stdio", "HTTP"

SLOW_MOST = 1_000
"""The most skills for FastMCP, which hashes every file again for each page, and `agentskills-mcp-server`,
which takes seconds to start.
"""
SLOW_STARTS = 3
"""The most rounds in which a slow server is started anew."""


FLOORS = frozenset({ECHO, ROUTE, FILE_ROUTE, RAW, FILE})


@dataclass(frozen=True, slots=True)
class Contestant:
    """A program to measure. Without a folder it serves no skills."""

    name: str
    command: Callable[[str, Path | None], Sequence[str]]
    """Returns the command line, given `stdio` or a port, and the folder, or the answer if it `sends_answer`.
    """
    transports: tuple[str, ...] = (STDIO, HTTP)
    most: int = 1_000_000
    """The most skills to measure it with."""

    @property
    def is_floor(self) -> bool:
        return self.name in FLOORS

    @property
    def sends_answer(self) -> bool:
        """Whether the program sends one given answer to every request, and does not look at the folder."""
        return self.is_floor and self.name != FILE_ROUTE

    @property
    def is_slow(self) -> bool:
        return self.most == SLOW_MOST

    def answers(self, method: str) -> bool:
        """Return whether the program can answer this method."""
        return self.name != FILE_ROUTE or method == "resources/read"


def contestants() -> list[Contestant]:
    """Return all programs that are installed."""
    found = [
        Contestant(OURS, _ours),
        Contestant(WITHOUT_CACHE, lambda where, root: [*_ours(where, root), "--no-cache"]),
        Contestant(
            BARE, lambda where, root: _python("bare_sdk", where, *([] if root is None else [str(root)]))
        ),
        Contestant(FASTMCP, lambda where, root: _python("fast_mcp", where, str(root)), most=SLOW_MOST),
        Contestant(ECHO, lambda where, answer: _python("floors", "echo", where, str(answer)), (STDIO,)),
        Contestant(ROUTE, lambda where, answer: _python("floors", "route", where, str(answer)), (HTTP,)),
        Contestant(FILE_ROUTE, lambda where, root: _python("floors", "file", where, str(root)), (HTTP,)),
        Contestant(RAW, lambda where, answer: _python("floors", "raw", where, str(answer)), (HTTP,)),
    ]
    if (python := _newest("agentskills-*/bin/python")) is not None:
        module = [str(python), "-m", f"{_SERVERS}.agentskills"]
        found.append(Contestant(AGENTSKILLS, lambda where, root: [*module, where, str(root)], most=SLOW_MOST))
    node = _newest("node-*/node_modules/node/bin/node")
    packages = _newest("typescript-sdk-*/package.json")
    if node is not None and packages is not None:
        start = [str(node), str(_TYPESCRIPT), str(packages.parent)]
        found.append(Contestant(TYPESCRIPT, lambda where, root: [*start, where, str(root)]))
    return found


def _ours(where: str, root: Path | None) -> list[str]:
    transport = [] if where == "stdio" else ["--http", where]
    return [sys.executable, "-m", "skillwire", "serve", str(root), "--no-config", *transport]


def _python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"{_SERVERS}.{module}", *arguments]


def _newest(pattern: str) -> Path | None:
    return max(_JUDGES.glob(pattern), default=None)
