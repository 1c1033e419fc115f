"""Show long output in a pager, if a person is at the terminal."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

from rich.console import Console

from skillwire.terminal.messages import print_notice

PAGERS = ("SKILLWIRE_PAGER", "PAGER")
"""Environment variables that name the pager, most important first."""
_DEFAULT = "less"
_LESS = "FRX"
"""Options of `less`: end if the text fits on the screen, pass colors through, keep the text on the screen."""


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """Return the words of the pager's command, or none for output without a pager.

    An empty variable, `cat` and a command that is not installed mean no pager.
    """
    written = next((environment[name] for name in PAGERS if name in environment), _DEFAULT)
    try:
        words = shlex.split(written)
    except ValueError as error:
        print_notice(f"the pager in `{PAGERS[0]}` or `{PAGERS[1]}` cannot be used: {error}")
        return []
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return []
    return words


def print_paged(console: Console, text: str, *, pager: bool = True) -> None:
    """Print text that `console` has rendered.

    Uses a pager if stdin and stdout are terminals, and the text is longer than the screen.
    """
    fits = text.count("\n") < console.height
    if not pager or fits or not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stdout.write(text)
        return
    command = pager_command(os.environ)
    if not command or not _page(command, text):
        sys.stdout.write(text)


def _page(command: list[str], text: str) -> bool:
    """Show the text in the pager. Return False if it cannot be started. A pager may end at any time."""
    environment = {"LESS": _LESS, **os.environ}
    sys.stdout.flush()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:  # noqa: S603 - the user's own pager
            with suppress(BrokenPipeError):
                process.communicate(text.encode(errors="replace"))
            process.wait()
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
