"""Print the report of a check as text, JSON, SARIF or GitHub annotations."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from skillwire import __version__
from skillwire.config.source_kinds import is_local
from skillwire.contract.folders import places
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.library.library import Library
from skillwire.safe_text import visible
from skillwire.terminal.output import COLOURS, data, print_json, print_line, print_problems

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def sarif(problems: Sequence[Problem], version: str) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log of one run. Paths are relative to wherever the check ran."""
    rules = list(dict.fromkeys(problem.rule for problem in problems))
    positions = {rule: at for at, rule in enumerate(rules)}
    driver = {
        "name": "skillwire",
        "semanticVersion": version,
        "rules": [{"id": rule.value, "shortDescription": {"text": _told(rule)}} for rule in rules],
    }
    results = [_result(problem, positions[problem.rule]) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def github(problems: Iterable[Problem]) -> Iterable[str]:
    """Yield a workflow command for each problem, which GitHub shows beside the line in a pull request."""
    for problem in problems:
        at = {
            "file": problem.path,
            **({} if problem.line is None else {"line": str(problem.line)}),
            "title": problem.rule.value,
        }
        where = ",".join(f"{name}={_property(value)}" for name, value in at.items())
        yield f"::{_LEVELS[problem.severity]} {where}::{_data(_text(problem))}"


def _result(problem: Problem, rule_index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.path)}}
    if problem.line is not None:
        place["region"] = {"startLine": problem.line}
    return {
        "ruleId": problem.rule.value,
        "ruleIndex": rule_index,
        "level": _LEVELS[problem.severity],
        "message": {"text": _text(problem)},
        "locations": [{"physicalLocation": place}],
    }


def _told(rule: Rule) -> str:
    return rule.value.replace("-", " ")


def _text(problem: Problem) -> str:
    field = f"{problem.field}: " if problem.field else ""
    hint = f"\nhint: {visible(problem.hint)}" if problem.hint else ""
    return visible(f"{field}{problem.message}") + hint


def _uri(path: str) -> str:
    return quote(path, safe="/", errors="replace")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")


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
