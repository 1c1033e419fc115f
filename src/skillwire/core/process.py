"""Whether this process is Skillwire's own, and what may then be done to the whole of it.

A program that imports Skillwire keeps its loggers, limits, signals and memory as they are. The `skillwire`
command and `skillwire.serve` own their process for as long as they run.
"""

from collections.abc import Generator
from contextlib import contextmanager

_owners = 0


def is_ours() -> bool:
    """Return whether this process belongs to a command, or to a server that fills it."""
    return _owners > 0


@contextmanager
def owned() -> Generator[None]:
    """Own the process meanwhile. Several may, one inside the other."""
    global _owners  # noqa: PLW0603 - the process is global
    _owners += 1
    try:
        yield
    finally:
        _owners -= 1
