"""Track whether Skillwire owns this process, and tune the garbage collector if it does.

In a program that imports Skillwire, loggers, limits, signals and memory stay as they are. The `skillwire`
command and `skillwire.serve` own their process while they run.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager

_owners = 0


def is_ours() -> bool:
    """Return whether this process belongs to a Skillwire command or server."""
    return _owners > 0


@contextmanager
def owned() -> Generator[None]:
    """Own the process inside this block. Blocks can be nested."""
    global _owners  # noqa: PLW0603 - the process is global
    _owners += 1
    try:
        yield
    finally:
        _owners -= 1


@contextmanager
def gc_paused() -> Generator[None]:
    """Pause garbage collection while many long-lived values are created.

    Later collections skip all objects that exist when the block ends.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def freeze_survivors() -> None:
    """Exclude all existing objects, such as the catalog, from later garbage collections.

    With many skills, a collection of these objects would delay requests. Young objects are collected first. A
    replaced catalog is freed by its reference count.
    """
    gc.collect(1)
    gc.freeze()
