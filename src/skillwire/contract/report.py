"""Print problems in the text format of `skillwire check --contract`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from skillwire.core.problem import Problem
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible
from skillwire.terminal.output import COLOURS, stdout_console


def print_contract_text(problems: Sequence[Problem], _library: Library) -> None:
    """Print the problems on stdout, in the format of `print_contract_problems`."""
    print_contract_problems(stdout_console(), problems)


def print_contract_problems(console: Console, problems: Iterable[Problem]) -> None:
    """Print each problem as `path: field: message (severity: rule, line 7)`, followed by its hint.

    Paths are relative to the root of the source. With several sources, they begin with the source's label.
    """
    for problem in problems:
        place, _, rest = escape_invisible(str(replace(problem, line=None))).partition(": ")
        line = "" if problem.line is None else f", line {problem.line}"
        kind = (f"{problem.severity}: {problem.rule}{line}", COLOURS[problem.severity])
        console.print(Text.assemble((place, "bold"), f": {rest} (", kind, ")"))
        if problem.hint:
            console.print(Text.assemble(("hint", "cyan"), f": {escape_invisible(problem.hint)}"))
