"""How many connections this process may keep open."""

from contextlib import suppress
from importlib.util import find_spec

_OTHERS = 1024
"""Files and connections besides."""


def allow_connections(number: int) -> None:
    """Ask the system for as many open files as `number` connections need; it may say no."""
    if find_spec("resource") is None:  # Windows has no such limit
        return
    import resource  # noqa: PLC0415 - not on every system

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number + _OTHERS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
