"""The lines that problems stand in, looked up only where there are problems."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from skillwire.model.problem import Problem
from skillwire.skillmd.places import places_in, spelled


def with_lines(problems: Iterable[Problem], text: str) -> Iterator[Problem]:
    """Yield the problems of one `SKILL.md` with the lines of their fields. `text` is its frontmatter."""
    if not (problems := tuple(problems)):
        return
    lines = {spelled(way): place.line for way, place in places_in(text).items()}
    for problem in problems:
        line = problem.line or _nearest(lines, problem.field)
        yield problem if line == problem.line else replace(problem, line=line)


def _nearest(lines: dict[str, int], field: str) -> int | None:
    """Return the line of a field, or of the nearest around it that is there."""
    while field:
        if field in lines:
            return lines[field]
        field = field[: max(field.rfind("."), field.rfind("["), 0)]
    return None
