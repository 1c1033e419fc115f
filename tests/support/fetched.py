"""Looking into a copy that a mirror fetched."""

from pathlib import Path

from skillwire.sources import Rule, Severity, Snapshot


def contents(root: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def held(copy: Snapshot) -> dict[str, bytes]:
    return contents(copy.root)


def names(copy: Snapshot) -> list[str]:
    return sorted(path.name for path in copy.root.iterdir())


def told(copy: Snapshot) -> dict[str, str]:
    """Return what had to be left out and why, by path."""
    assert all(problem.rule is Rule.SOURCE_PARTIAL for problem in copy.problems)
    assert all(problem.severity is Severity.WARNING and problem.hint for problem in copy.problems)
    return {problem.path: problem.message for problem in copy.problems}
