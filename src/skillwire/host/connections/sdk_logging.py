"""Silence the SDK's loggers, which log data from servers with tracebacks."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

from skillwire.core.process import is_ours

_NOISY_LOGGERS = ("client", "mcp.client", "mcp.shared", "mcp.os", "httpx2", "httpcore2")
"""Loggers that log text from servers. The loggers of the SDK's server side stay on."""


class _Silence:
    """Silences the loggers while at least one block is active."""

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
    """Silence the SDK's loggers in this block, if Skillwire owns the process.

    Blocks may overlap. The loggers work again when the last block ends. Nothing is silenced in other programs
    that use the library. Everything that users must know is reported as a problem or an error.
    """
    if not is_ours():
        yield
        return
    _silence.begin()
    try:
        yield
    finally:
        _silence.end()
