"""The report of a check in every format: a table of functions, so that the next format is a line in it."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from skillwire import __version__
from skillwire.catalog.library import Library
from skillwire.cli.contract.folders import places
from skillwire.cli.output import COLOURS, data, print_json, print_line, print_problems
from skillwire.config.kinds import is_local
from skillwire.contract.report import github, sarif
from skillwire.model.display import visible
from skillwire.model.problem import Problem

Print = Callable[[Sequence[Problem], Library], None]


def print_text(problems: Sequence[Problem], library: Library) -> None:
    """Print each problem as `path:line: field: message`, with paths as the person would write them."""
    print_problems(data(), located(problems, library))


def print_contract_text(problems: Sequence[Problem], _library: Library) -> None:
    """Print each problem as `path: field: message`, with paths below the folder that was given."""
    print_contract_problems(data(), problems)


def print_contract_problems(console: Console, problems: Iterable[Problem]) -> None:
    """Print each problem as the contract spells it, and its hint below."""
    for problem in problems:
        place, _, rest = visible(str(replace(problem, line=None))).partition(": ")
        line = "" if problem.line is None else f", line {problem.line}"
        kind = (f"{problem.severity}: {problem.rule}{line}", COLOURS[problem.severity])
        console.print(Text.assemble((place, "bold"), f": {rest} (", kind, ")"))
        if problem.hint:
            console.print(Text.assemble(("hint", "cyan"), f": {visible(problem.hint)}"))


def _print_json(problems: Sequence[Problem], _library: Library) -> None:
    print_json([problem.to_json() for problem in problems])


def _print_sarif(problems: Sequence[Problem], library: Library) -> None:
    print_json(sarif(list(_from_here(located(problems, library))), __version__))


def _print_github(problems: Sequence[Problem], library: Library) -> None:
    for line in github(_from_here(located(problems, library))):
        print_line(line)


FORMATS: Mapping[str, Print] = {
    "text": print_text,
    "json": _print_json,
    "sarif": _print_sarif,
    "github": _print_github,
}


def located(problems: Iterable[Problem], library: Library) -> Iterator[Problem]:
    """Yield the problems with paths as the person at the terminal would write them."""
    known = places(library)
    for problem in problems:
        prefix = next((each for each in known if problem.path.startswith(each)), "")
        yield replace(problem, path=_joined(known.get(prefix, ""), problem.path.removeprefix(prefix)))


def _from_here(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems with paths relative to the current folder, which others take for the repository."""
    for problem in problems:
        here = os.path.relpath(problem.path) if os.path.isabs(problem.path) else problem.path  # noqa: PTH117
        yield problem if here.startswith("..") else replace(problem, path=here)


def _joined(place: str, path: str) -> str:
    if path == ".":
        return place
    if not is_local(place):
        return f"{place.rstrip('/')}/{path}"
    return os.path.normpath(os.path.join(place, path))  # noqa: PTH118
