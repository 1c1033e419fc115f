"""Runs a program as on another operating system: without what Linux has and that system lacks.

other_system.py windows|macos PROGRAM [ARGUMENT…]

What is not part of Skillwire is loaded first, as it is: only Skillwire meets the other system.
"""

import importlib
import os
import resource
import runpy
import signal
import socket
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

LOADED_FIRST = (
    "anyio._backends._asyncio",
    "cyclopts",
    "httpcore2",
    "httpx2",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.os.win32.utilities",
    "mcp.server.mcpserver",
    "mcp.server.stdio",
    "platformdirs",
    "rich.console",
    "rich.progress",
    "rich.traceback",
    "shutil",
    "sqlite3",
    "starlette.applications",
    "tempfile",
    "uvicorn.protocols.http.h11_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "watchfiles",
    "websockets.asyncio.client",
    "webbrowser",
)
MODULES = {"fcntl", "grp", "httptools", "posix", "pty", "pwd", "resource", "termios", "tty", "uvloop"}
"""Modules that Windows does not have."""
OF_OS = (
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK"),
    *("chown", "fchmod", "fork", "geteuid", "getgid", "getpgid", "getuid", "killpg", "makedev", "mkfifo"),
    *("sched_getaffinity", "setsid", "statvfs", "sysconf", "uname"),
)


class NoSuchModule(MetaPathFinder):
    """Finds nothing where Windows has nothing."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname in MODULES:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def become_windows() -> None:
    for name in MODULES:
        sys.modules.pop(name, None)
        sys.modules[name] = None  # pyright: ignore[reportArgumentType] - as `import` understands it
    sys.meta_path.insert(0, NoSuchModule())
    for name in OF_OS:
        if hasattr(os, name):
            delattr(os, name)
    os.supports_dir_fd = set()  # pyright: ignore[reportAttributeAccessIssue]
    os.supports_fd = set()  # pyright: ignore[reportAttributeAccessIssue]
    for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD"):
        delattr(signal, name)
    del socket.TCP_INFO
    socket.SO_EXCLUSIVEADDRUSE = socket.SO_KEEPALIVE  # pyright: ignore[reportAttributeAccessIssue] - a switch that can be read back
    sys.platform = "win32"


def become_macos() -> None:
    del resource.prlimit
    del socket.TCP_INFO
    sys.platform = "darwin"
    real_open = os.open

    def without_proc(path: Any, *arguments: Any, **named: Any) -> int:
        if str(path).startswith("/proc/"):
            raise FileNotFoundError(2, "No such file or directory", path)
        return real_open(path, *arguments, **named)

    os.open = without_proc
    os.supports_dir_fd = {without_proc if each is real_open else each for each in os.supports_dir_fd}
    read_text = Path.read_text

    def text_without_proc(self: Path, *arguments: Any, **named: Any) -> str:
        if str(self).startswith("/proc/"):
            raise FileNotFoundError(2, "No such file or directory", str(self))
        return read_text(self, *arguments, **named)

    Path.read_text = text_without_proc


def main(system: str, program: str, *arguments: str) -> None:
    for name in LOADED_FIRST:
        importlib.import_module(name)
    {"windows": become_windows, "macos": become_macos}[system]()
    sys.argv = [program, *arguments]
    if program == "skillwire":
        runpy.run_module("skillwire", run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
