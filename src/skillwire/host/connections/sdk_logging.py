"""Silence in the logs of our own processes: the SDK repeats there, with tracebacks, what a server sent."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

from skillwire.core.process import is_ours

_NOISY_LOGGERS = ("client", "mcp.client", "mcp.shared", "mcp.os", "httpx2", "httpcore2")
"""Who repeats the words of servers. What we serve ourselves is logged elsewhere, and goes on meanwhile."""


class _Silence:
    """Holds the loud ones silent, for as long as anybody wants that."""

    def __init__(self) -> None:
        self._users = 0
        self._handler = logging.NullHandler()

    def begin(self) -> None:
        self._users += 1
        for logger in map(logging.getLogger, _NOISY_LOGGERS):
            logger.propagate = False
            logger.addHandler(self._handler)

    def end(self) -> None:
        self._users -= 1
        if not self._users:
            for logger in map(logging.getLogger, _NOISY_LOGGERS):
                logger.propagate = True
                logger.removeHandler(self._handler)


_silence = _Silence()


@contextmanager
def silence_sdk_logging() -> Generator[None]:
    """Let nothing of that be logged meanwhile, if the process is ours. What matters is a problem or an error.

    Several may overlap, and end in any order: with the last one the logs speak again. In a process of others
    the loggers stay as they are.
    """
    if not is_ours():
        yield
        return
    _silence.begin()
    try:
        yield
    finally:
        _silence.end()
