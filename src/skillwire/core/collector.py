"""The search for garbage, kept away from what stays for good."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


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
