"""Track whether Skillwire owns this process, and tune its garbage collector.

The `skillwire` command and `skillwire.serve` own their process while they run. In any other program,
Skillwire leaves loggers, limits, signals and the garbage collector unchanged.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager

_owners = 0
_kept: list[object] | None = None
"""Values that are not freed, or None if the process may go on after the command."""


def is_ours() -> bool:
    """Return whether a Skillwire command or server owns this process."""
    return _owners > 0


@contextmanager
def owned() -> Generator[None]:
    """Make `is_ours` return True inside this block. Blocks can be nested."""
    global _owners  # noqa: PLW0603 - the process is global
    _owners += 1
    try:
        yield
    finally:
        _owners -= 1


@contextmanager
def gc_paused() -> Generator[None]:
    """Pause garbage collection while many long-lived values are created, and enable it afterwards.

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

    With many skills, a collection of these objects would delay requests. Young objects are collected before
    the others are excluded. A replaced catalog is still freed, by its reference count.
    """
    gc.collect(1)
    gc.freeze()


def end_after_command() -> None:
    """Declare that the process ends with the command that runs now. See `keep_until_end`."""
    global _kept  # noqa: PLW0603 - the process is global
    _kept = []


def keep_until_end(value: object) -> None:
    """Do not free a large value before the process ends. Does nothing if the process may go on.

    Freeing the objects of 100,000 skills one by one would delay the end by a second.
    """
    if _kept is not None:
        _kept.append(value)
