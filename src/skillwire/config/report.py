"""The result of a check, and its output as text, JSON, SARIF or GitHub annotations."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from urllib.parse import quote

from skillwire import __version__
from skillwire.config.choice import ConfigChoice
from skillwire.config.faults import join_place
from skillwire.config.library import load_library, show_progress
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible
from skillwire.terminal.output import print_json, print_line, print_problems, stdout_console

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {Severity.ERROR: "error", Severity.WARNING: "warning"}
Print: TypeAlias = Callable[[Sequence[Problem], Library], None]


def sarif(problems: Sequence[Problem], version: str) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log of one run. Paths are percent-encoded, but not made relative."""
    rules = list(dict.fromkeys(problem.rule for problem in problems))
    positions = {rule: at for at, rule in enumerate(rules)}
    driver = {
        "name": "skillwire",
        "semanticVersion": version,
        "rules": [{"id": rule.value, "shortDescription": {"text": _title(rule)}} for rule in rules],
    }
    results = [_result(problem, positions[problem.rule]) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def github(problems: Iterable[Problem]) -> Iterable[str]:
    """Yield a workflow command for each problem. GitHub shows the problem at its file and line."""
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


def _title(rule: Rule) -> str:
    return rule.value.replace("-", " ")


def _text(problem: Problem) -> str:
    field = f"{problem.field}: " if problem.field else ""
    hint = f"\nhint: {escape_invisible(problem.hint)}" if problem.hint else ""
    return escape_invisible(f"{field}{problem.message}") + hint


def _uri(path: str) -> str:
    return quote(path, safe="/", errors="replace")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(escape_invisible(text)).replace(":", "%3A").replace(",", "%2C")


def print_text(problems: Sequence[Problem], library: Library) -> None:
    """Print each problem with its hint. Paths begin with the source as the operator wrote it."""
    print_problems(stdout_console(), located(problems, library))


def _print_json(problems: Sequence[Problem], _library: Library) -> None:
    print_json([problem.to_json() for problem in problems])


def _print_sarif(problems: Sequence[Problem], library: Library) -> None:
    print_json(sarif(list(_relative_to_cwd(located(problems, library))), __version__))


def _print_github(problems: Sequence[Problem], library: Library) -> None:
    for line in github(_relative_to_cwd(located(problems, library))):
        print_line(line)


FORMATS: Mapping[str, Print] = {
    "text": print_text,
    "json": _print_json,
    "sarif": _print_sarif,
    "github": _print_github,
}


def _all(problems: Sequence[Problem], _library: Library) -> Sequence[Problem]:
    return problems


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """The skills or sources to check, and how to open them."""

    paths: Sequence[str]
    """The skills or sources to check; empty for the default sources."""
    follow_links: bool = False
    config: ConfigChoice | None = None
    """What to take from the configuration file; None for the default."""
    select: Callable[[Sequence[Problem], Library], Sequence[Problem]] = _all
    """Returns the problems to report: those of selected rules that are not in the baseline."""

    def load(self) -> Library:
        """Scan the sources and return their library. Raises `UsageError`."""
        return load_library(self.paths, follow_links=self.follow_links, config=self.config)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The problems that a check found, and how to print them."""

    library: Library
    problems: Sequence[Problem]
    """Sorted by file and line."""
    good: int
    """Number of skills that pass the check."""
    verdict: tuple[str, str] = ("can be served", "can be served")
    """The words after the number of skills in the summary: singular and plural."""
    select: Callable[[Iterable[Problem]], Iterable[Problem]] = iter
    """Removes the problems of skills that are not reported."""
    with_contract: bool = False
    """Whether the rules of the repository contract were checked."""
    fixed: int | None = None
    """With `--fix`, the number of files that were written or removed. None if nothing was to be fixed."""
    since: str | None = None
    """The commit since which skills must have changed to be reported. If None, all are reported."""
    selected: int = 0
    """With `since`, the number of skills that changed, or that depend on one that did."""
    unchanged: int = 0
    """Number of skills that are left out, because they have not changed."""

    @property
    def complete(self) -> bool:
        """Whether the problems of all skills are reported."""
        return self.since is None

    @property
    def is_empty(self) -> bool:
        """Whether there is no skill at all, not even one that cannot be served."""
        catalog = self.library.catalog
        errors = any(problem.severity is Severity.ERROR for problem in catalog.problems)
        return not (catalog.entries or catalog.templates or errors)

    def covers(self, rule: Rule) -> bool:
        """Return whether all problems with this rule are in the result."""
        return self.complete and (self.with_contract or not rule.startswith("contract-"))

    async def with_bodies(self) -> "CheckResult":
        """Return a copy that also contains the problems in the texts of the skills."""
        from skillwire.config.body_check import body_problems  # noqa: PLC0415 - only `check` needs it

        total = len(self.library.catalog.entries)
        with show_progress("checking texts", "skills", total) as progress:
            more = self.select(await body_problems(self.library, progress))
        return replace(self, problems=by_place((*self.problems, *more)))

    @classmethod
    def of(cls, library: Library) -> "CheckResult":
        """Return the result with the problems in the catalog of `library`."""
        return cls(library, by_place(library.catalog.problems), len(library.catalog.entries))


def by_place(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems sorted by file and line."""
    return sorted(problems, key=lambda problem: (problem.path, problem.line or 0))


def places(library: Library) -> dict[str, str]:
    """Return the location of each source, by the prefix of the paths in that source's problems."""
    several = len(library.sources) > 1
    return {f"{source.label}/" if several else "": source.place for source in library.sources}


def located(problems: Iterable[Problem], library: Library) -> Iterator[Problem]:
    """Yield the problems with paths that start with the source as the operator wrote it."""
    known = places(library)
    for problem in problems:
        prefix = next((each for each in known if problem.path.startswith(each)), "")
        yield replace(problem, path=join_place(known.get(prefix, ""), problem.path.removeprefix(prefix)))


def _relative_to_cwd(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems with paths relative to the current folder. Paths outside it are unchanged."""
    for problem in problems:
        here = os.path.relpath(problem.path) if os.path.isabs(problem.path) else problem.path  # noqa: PTH117
        yield problem if here.startswith("..") else replace(problem, path=here)
