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
ECHO, ROUTE, RAW = "raw line echo", "Starlette route", "raw ASGI"
STAT = "one `stat`, repeated"
"""Not a program: the system call that a read needs and an echo does not."""
STDIO, HTTP = "stdio", "HTTP"

FASTMCP_MOST = 1_000
"""The most skills for FastMCP, because it hashes every file again for every page."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A program to measure. Without a folder it serves no skills."""

    name: str
    command: Callable[[str, Path | None], Sequence[str]]
    """Returns the command line, given `stdio` or a port, and the folder (for a floor: the answer)."""
    transports: tuple[str, ...] = (STDIO, HTTP)
    most: int = 1_000_000
    """The most skills to measure it with."""

    @property
    def is_floor(self) -> bool:
        return self.name in {ECHO, ROUTE, RAW}


def contestants() -> list[Contestant]:
    """Return all programs that are installed."""
    found = [
        Contestant(OURS, _ours),
        Contestant(WITHOUT_CACHE, lambda where, root: [*_ours(where, root), "--no-cache"]),
        Contestant(
            BARE, lambda where, root: _python("bare_sdk", where, *([] if root is None else [str(root)]))
        ),
        Contestant(FASTMCP, lambda where, root: _python("fast_mcp", where, str(root)), most=FASTMCP_MOST),
        Contestant(ECHO, lambda where, answer: _python("floors", "echo", where, str(answer)), (STDIO,)),
        Contestant(ROUTE, lambda where, answer: _python("floors", "route", where, str(answer)), (HTTP,)),
        Contestant(RAW, lambda where, answer: _python("floors", "raw", where, str(answer)), (HTTP,)),
    ]
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
