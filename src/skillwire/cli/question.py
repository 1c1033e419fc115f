"""A question to whoever sits at the terminal. Nobody there means no."""

import sys

from skillwire.cli.output import talk

_YES = frozenset({"y", "yes"})


def somebody_is_there() -> bool:
    """Whether a question can be seen, and answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str) -> bool:
    """Ask a question that is answered with yes or no; anything but a clear yes is a no."""
    if not somebody_is_there():
        return False
    talk().print(f"{question} [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in _YES
