"""Generate docs/promises.md from docs/promises.toml: points of other systems, and tests that show them."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

_INTRODUCTION = """# What other systems promise

Skillwire replaces the five systems below, and this page lists every point that they promise. Each works, or
differs for a reason, and the tests show it; their files are below `tests/`.
"""
_HEADER = "| | point | status | tests |\n|---:|---|---|---|\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One point that a system promises."""

    number: int
    system: str
    title: str
    status: str
    tests: list[str]
    because: str = ""
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Promises:
    """All points, and the name of each system that they come from."""

    systems: dict[str, str]
    points: list[Promise]


def read(text: str) -> Promises:
    """Return the content of docs/promises.toml. Raises `TypeError` if fields are unknown or missing."""
    document = tomllib.loads(text)
    return Promises(document["systems"], [Promise(**fields) for fields in document["promises"]])


def page(text: str) -> str:
    """Return the page for the content of docs/promises.toml."""
    found = read(text)
    sections = (_section(found, system, name) for system, name in found.systems.items())
    return _INTRODUCTION + "".join(sections)


def _section(found: Promises, system: str, name: str) -> str:
    rows = (_row(point) for point in found.points if point.system == system)
    return f"\n## {name}\n\n{_HEADER}{''.join(rows)}"


def _row(point: Promise) -> str:
    status = f"differs because: {point.because}" if point.because else point.status
    if point.pending:
        status = f"being built; {status}"
    return f"| {point.number} | {point.title} | {status} | {'<br>'.join(_shown(point.tests))} |\n"


def _shown(tests: list[str]) -> Iterator[str]:
    for test in tests:
        yield f"`{test.removeprefix('tests/')}`"
