"""The features that Skillwire requires from the operating system, and the error if one is missing.

Skillwire opens files without following symbolic links, shares state under file locks, and creates files that
only one user can read. Linux and macOS support all of these features. Windows does not; use WSL on Windows.
"""

import os
import sys
from importlib.util import find_spec

from skillwire.errors import PlatformError

WINDOWS = "win32"


_AVAILABLE_FEATURES = {
    "file locks": find_spec("fcntl") is not None,
    "file permissions": hasattr(os, "geteuid"),
    "a way to read folders without following links": (
        {os.open, os.stat} <= os.supports_dir_fd
        and os.scandir in os.supports_fd
        and hasattr(os, "O_NOFOLLOW")
    ),
}
"""Each required feature, and whether this system has it."""


def missing_features() -> list[str]:
    """Return the required features that this system lacks. Windows counts as lacking all of them."""
    return [what for what, there in _AVAILABLE_FEATURES.items() if sys.platform == WINDOWS or not there]


def require_posix(what: str) -> None:
    """Raise `PlatformError` if this system lacks a required feature. The message begins with `what`."""
    if not (missing := missing_features()):
        return
    name, remedy = (sys.platform, "use Linux or macOS")
    if sys.platform == WINDOWS:
        name, remedy = ("Windows", "use WSL (Windows Subsystem for Linux)")
    *first, last = missing
    needs = f"{', '.join(first)} and {last}" if first else last
    raise PlatformError(f"{what} does not work on {name}: it needs {needs}; {remedy}")
