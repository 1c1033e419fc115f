"""Scanning a folder in a line."""

from pathlib import Path
from typing import Any

import anyio

from skillwire import Catalog, FolderSource, Library, Problem, Source
from skillwire.sources import Rule, Scan, Severity


def scan(root: Path, **options: Any) -> Scan:
    """Scan a folder on its own."""
    return anyio.run(FolderSource(root, **options).scan)


def catalog(*sources: Source | Path) -> Catalog:
    """Return the catalog of several sources."""
    return anyio.run(Library([s if isinstance(s, Source) else FolderSource(s) for s in sources]).load)


def uris(found: Scan | Catalog) -> list[str]:
    """Return the skill paths of a scan, short to read."""
    entries = found.entries if isinstance(found, Scan) else found.entries.values()
    return [entry.path for entry in entries]


def problems(found: Scan | Catalog) -> list[Problem]:
    """Return all problems, those of the skills that are served too."""
    own = [p for entry in found.entries for p in entry.problems] if isinstance(found, Scan) else []
    return [*found.problems, *own]


def faults(found: Scan | Catalog) -> set[tuple[str, Rule, Severity]]:
    """Return what is wrong where, and how bad it is."""
    return {(problem.path, problem.rule, problem.severity) for problem in problems(found)}
