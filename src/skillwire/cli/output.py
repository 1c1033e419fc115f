"""What people see: data on stdout, talk on stderr, colours only where there is a terminal."""

import json
import re
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from skillwire.model.display import visible
from skillwire.model.json_text import json_bytes
from skillwire.model.problem import Problem, Severity

_NOT_PLAIN = re.compile(r"[^\x00-\x7e]")
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


class _Console(Console):
    """Leaves it to the command line what a reader that went away means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def data() -> Console:
    """Return the console for results. Lines are never wrapped: another program may read them."""
    return _Console(soft_wrap=True, highlight=False, markup=False)


def talk() -> Console:
    """Return the console for everything that is not a result."""
    return _Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


def manual() -> Console:
    """Return the console for `--help`, which is wrapped and has colours."""
    return _Console()


def print_line(text: str) -> None:
    """Print one line of a result as it is, tabs included."""
    sys.stdout.write(f"{text}\n")


def print_json(value: object) -> None:
    """Print a result for programs. Whatever a terminal could obey is escaped; its meaning stays the same."""
    dumped = json_bytes(value, indented=True)
    if not dumped.isascii() or b"\x7f" in dumped:
        dumped = _NOT_PLAIN.sub(_escaped, dumped.decode()).encode()
    sys.stdout.buffer.write(dumped)
    sys.stdout.buffer.flush()


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    return (
        character
        if visible(character) == character
        else json.dumps(character)[1:-1].replace("\x7f", "\\u007f")
    )


def print_error(message: str, hint: str = "") -> None:
    """Say what went wrong, and what to do about it."""
    console = talk()
    console.print(Text.assemble(("error", "bold red"), f": {visible(message)}"))
    if hint:
        console.print(Text.assemble(("hint", "bold cyan"), f": {visible(hint)}"))


def print_problems(console: Console, problems: Iterable[Problem]) -> None:
    """Print each problem as `path:line: field: message`, and its hint below."""
    for problem in problems:
        place, _, rest = visible(str(problem)).partition(": ")
        kind = (f"{problem.severity}: {problem.rule}", COLOURS[problem.severity])
        console.print(Text.assemble((place, "bold"), f": {rest} (", kind, ")"))
        if problem.hint:
            console.print(Text.assemble(("hint", "cyan"), f": {visible(problem.hint)}"))
