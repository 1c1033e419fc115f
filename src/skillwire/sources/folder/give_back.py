"""Memory that was needed for a moment, given back to the system."""

import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def _trimmer() -> Callable[[int], Any]:
    """Return what makes the C library give back what it holds, where it is one that can."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            return ctypes.CDLL(None).malloc_trim
    return lambda _: 0


_trim = _trimmer()


def give_back() -> None:
    """Let the system have what this process holds and does not use. Takes milliseconds: not for hot paths."""
    _trim(0)
