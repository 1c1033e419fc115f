"""The results of scripts/matrix: load, merge and render them as a page."""

import json
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from matrix_entries import PARTS, PINNED, Entry


@dataclass(slots=True)
class Outcome:
    """The result of one entry."""

    entry: str
    about: str
    date: str
    status: str
    """`passed`, `failed` or `not installed`."""
    python: str = ""
    part: str = ""
    note: str = ""
    """Why it could not be installed, or why its run of pytest failed."""
    versions: dict[str, str] = field(default_factory=dict[str, str])
    """The version of every direct dependency."""
    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list[str])
    second_try: list[str] = field(default_factory=list[str])
    """Tests that failed among the others and passed alone."""
    left_out: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """For each module that is not installed, the test files that need it."""
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Ran:
    """The names of the tests in one run of pytest, by result."""

    passed: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    """Tests with a failure or an error, and files that could not be collected (names without `::`)."""


def read_junit(text: str) -> Ran:
    """Parse a JUnit report of pytest."""
    ended: dict[str, set[str]] = {"passed": set(), "skipped": set(), "failed": set()}
    for case in ElementTree.fromstring(text).iter("testcase"):
        kinds = {child.tag for child in case}
        kind = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        ended[kind].add("::".join(part for part in (case.get("classname"), case.get("name")) if part))
    failed = frozenset(ended["failed"])
    return Ran(frozenset(ended["passed"]) - failed, frozenset(ended["skipped"]) - failed, failed)


def second_try(first: Ran, again: Ran) -> tuple[list[str], list[str]]:
    """Return the failed tests that passed in the second run, and all others that failed in the first."""
    return sorted(first.failed & again.passed), sorted(first.failed - again.passed)


def merged(before: Iterable[Outcome], new: Iterable[Outcome], known: Iterable[str]) -> list[Outcome]:
    """Return the latest outcome of each entry, in the order of the entries."""
    latest = {each.entry: each for each in (*before, *new)}
    return [latest[name] for name in known if name in latest]


def load(path: Path) -> list[Outcome]:
    return (
        [Outcome(**each) for each in json.loads(path.read_text(encoding="utf-8"))["outcomes"]]
        if path.is_file()
        else []
    )


def report(outcomes: Sequence[Outcome], known: Sequence[Entry], missing: Sequence[str]) -> str:
    """Return the report as Markdown. `missing` has a sentence for each version that was not found."""
    lines = [
        "# Versions",
        "",
        "Written by `scripts/matrix`. An entry is one Python with one set of dependencies.",
        f"{platform.system()} {platform.machine()}.",
        "",
        "| entry | dependencies | Python | tests | passed | skipped | failed | result | date |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    known_bad = {name for one in outcomes if one.entry == PINNED for name in one.failures}
    lines += [
        f"| `{one.entry}` | {one.about} | {one.python or '—'} | {one.part} | {one.passed:,} | {one.skipped} "
        f"| {len(one.failures)} | {_result(one, known_bad)} | {one.date} |"
        for one in outcomes
    ]
    lines += ["", "## Not found, not run", ""]
    lines += [f"- {each}" for each in missing]
    lines += [
        f"- `{one.entry}`: not installed. {one.note}" for one in outcomes if one.status == "not installed"
    ]
    ran = {one.entry for one in outcomes}
    lines += [f"- `{each.name}`: not run yet." for each in known if each.name not in ran]
    lines += _complaints(outcomes, known_bad)
    lines += ["", "## What ran", ""]
    lines += [_part_line(part) for part in PARTS if any(one.part == part and one.python for one in outcomes)]
    lines += _left_out_lines(outcomes)
    lines += ["", "## Versions of the direct dependencies", ""]
    for one in outcomes:
        if one.versions:
            versions = ", ".join(f"{name} {version}" for name, version in one.versions.items())
            lines += [f"- `{one.entry}`: {versions}."]
    return "\n".join(lines) + "\n"


def _result(outcome: Outcome, known_bad: set[str]) -> str:
    """Return the status, or "as `pinned`" if every failed test also fails with the pinned versions."""
    if (
        outcome.status != "failed"
        or outcome.note
        or outcome.entry == PINNED
        or set(outcome.failures) - known_bad
    ):
        return outcome.status
    return f"as `{PINNED}`"


def _complaints(outcomes: Sequence[Outcome], known_bad: set[str]) -> Iterator[str]:
    again = [one for one in outcomes if one.second_try]
    failed = [one for one in outcomes if one.status == "failed"]
    if failed:
        yield from ("", "## Failed", "")
    if known_bad and any(one.entry != PINNED for one in failed):
        yield from (f"Tests that also fail in `{PINNED}` are listed only there.", "")
    for one in failed:
        hidden = set[str]() if one.entry == PINNED else known_bad
        yield from (f"- `{one.entry}`: `{name}`" for name in one.failures if name not in hidden)
        if one.note:
            yield f"- `{one.entry}`: {one.note}."
    if again:
        yield from ("", "## Passed on the second try", "")
        yield "These tests failed among the others and passed alone."
        yield ""
        for one in again:
            yield from (f"- `{one.entry}`: `{name}`" for name in one.second_try)


def _part_line(part: str) -> str:
    runs, never = PARTS[part]
    without = f", without {', '.join(f'`{name}`' for name in never)}" if never else ""
    return f"- {part}: {', '.join(f'`{name}`' for name in runs)}{without}."


def _left_out_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    same: dict[str, list[str]] = {}
    for one in outcomes:
        for module, names in one.left_out.items():
            reason = (
                f"need `{module}`, which is not installed there: {', '.join(f'`{name}`' for name in names)}"
            )
            same.setdefault(reason, []).append(f"`{one.entry}`")
    if same:
        yield from ("", "Also left out:", "")
        yield from (f"- {', '.join(names)}: these {reason}." for reason, names in same.items())
