"""Whether this process is Skillwire's own, and what may then be done to the whole of it.

A program that imports Skillwire keeps its loggers, limits, signals and memory as they are. The `skillwire`
command and `skillwire.serve` own their process for as long as they run.
"""

import gc
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


@contextmanager
def gc_paused() -> Generator[None]:
    """Put the search off while many values are made and no garbage, and never look at these values again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def freeze_survivors() -> None:
    """Spare the catalogue the search for garbage: with many skills it would hold up every request.

    What is young is searched before it is set aside; a catalogue that is replaced goes by itself.
    """
    gc.collect(1)
    gc.freeze()
