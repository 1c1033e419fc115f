"""Silence in the logs: the SDK repeats there, with tracebacks, whatever a server sent."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

_LOUD = ("client", "mcp.client", "mcp.shared", "mcp.os", "httpx2", "httpcore2")
"""Who repeats the words of servers. What we serve ourselves is logged elsewhere, and goes on meanwhile."""


class _Silence:
    """Holds the loud ones silent, for as long as anybody wants that."""

    def __init__(self) -> None:
        self._wanted_by = 0
        self._handler = logging.NullHandler()

    def begin(self) -> None:
        self._wanted_by += 1
        for logger in map(logging.getLogger, _LOUD):
            logger.propagate = False
            logger.addHandler(self._handler)

    def end(self) -> None:
        self._wanted_by -= 1
        if not self._wanted_by:
            for logger in map(logging.getLogger, _LOUD):
                logger.propagate = True
                logger.removeHandler(self._handler)


_silence = _Silence()


@contextmanager
def quiet() -> Generator[None]:
    """Let nothing of that be logged meanwhile. What matters of it is a finding or an error.

    Several may overlap, and end in any order: with the last one the logs speak again.
    """
    _silence.begin()
    try:
        yield
    finally:
        _silence.end()
