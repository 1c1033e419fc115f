"""Print results on stdout and messages on stderr, in colour on a terminal. Ask yes-or-no questions."""

import json
import re
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from skillwire.core.json_text import json_bytes
from skillwire.core.mime import is_text
from skillwire.core.problem import Problem, Severity
from skillwire.safe_text import escape_invisible, quoted

_NOT_PLAIN = re.compile(r"[^\x00-\x7e]")
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}
_YES = frozenset({"y", "yes"})


class _Console(Console):
    """A console that raises `BrokenPipeError` if the pipe is closed, instead of ending the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def stdout_console() -> Console:
    """Return the console for results. Lines are never wrapped, because another program may read them."""
    return _Console(soft_wrap=True, highlight=False, markup=False)


def stderr_console() -> Console:
    """Return the console for messages, such as errors, questions and summaries. Lines are never wrapped."""
    return _Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


def help_console() -> Console:
    """Return the console for `--help`, which wraps lines and uses colours."""
    return _Console()


def print_line(text: str) -> None:
    """Print one line of a result unchanged, including tabs."""
    sys.stdout.write(f"{text}\n")


def print_json(value: object) -> None:
    """Print a result as JSON. Characters that a terminal could interpret are written as JSON escapes."""
    dumped = json_bytes(value, indented=True)
    if not dumped.isascii() or b"\x7f" in dumped:
        dumped = _NOT_PLAIN.sub(_escaped, dumped.decode()).encode()
    sys.stdout.buffer.write(dumped)
    sys.stdout.buffer.flush()


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    return (
        character
        if escape_invisible(character) == character
        else json.dumps(character)[1:-1].replace("\x7f", "\\u007f")
    )


def print_error(message: str, hint: str = "") -> None:
    """Print an error and its hint on stderr."""
    console = stderr_console()
    console.print(Text.assemble(("error", "bold red"), f": {escape_invisible(message)}"))
    if hint:
        console.print(Text.assemble(("hint", "bold cyan"), f": {escape_invisible(hint)}"))


def print_problems(console: Console, problems: Iterable[Problem]) -> None:
    """Print each problem as `path:line: field: message (severity: rule)`, followed by its hint."""
    for problem in problems:
        place, _, rest = escape_invisible(str(problem)).partition(": ")
        kind = (f"{problem.severity}: {problem.rule}", COLOURS[problem.severity])
        console.print(Text.assemble((place, "bold"), f": {rest} (", kind, ")"))
        if problem.hint:
            console.print(Text.assemble(("hint", "cyan"), f": {escape_invisible(problem.hint)}"))


def is_interactive() -> bool:
    """Return whether users can see and answer questions, because stdin and stderr are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str) -> bool:
    """Ask a yes-or-no question. Return whether the answer is `y` or `yes`.

    Without a terminal, return False without asking.
    """
    if not is_interactive():
        return False
    stderr_console().print(f"{question} [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in _YES


def ask(question: str, others: str = "") -> str:
    """Ask a question. Return `y`, one of the letters in `others`, or `n` for any other answer.

    Without a terminal, return `n` without asking.
    """
    if not is_interactive():
        return "n"
    letters = "/".join(["y", "N", *others])
    stderr_console().print(f"{question} [{letters}] ", end="")
    answer = sys.stdin.readline().strip().lower()
    return "y" if answer in _YES else answer if answer and answer in others else "n"


def print_content(content: bytes, path: str, kind: str, *, raw: bool) -> int:
    """Print a file and return the exit code.

    On a terminal, unless `raw` is set, invisible characters are escaped and binary files are an error.
    """
    if not raw and sys.stdout.isatty() and not is_text(content):
        print_error(
            f"{quoted(path)} is not text ({kind}, {len(content):,} bytes)",
            hint="add `--raw` and send it to a file",
        )
        return 1
    if not raw and sys.stdout.isatty():  # a terminal would interpret control characters
        print_line("\n".join(escape_invisible(line, keep="\t") for line in _lines(content)))
        return 0
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    return 0


def _lines(content: bytes) -> list[str]:
    return content.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
