"""Silence in the logs: the SDK repeats there, with tracebacks, whatever a server sent."""

import logging
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def quiet() -> Generator[None]:
    """Let nothing be logged meanwhile. What matters of it is a finding or an error."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
