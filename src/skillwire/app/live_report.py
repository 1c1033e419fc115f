"""Print what goes wrong while a server runs, and what is solved: one line each on stderr."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from skillwire.app.process import RateLimitedHandler
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import SkillRecord, Trust
from skillwire.features.resources import Problems, ProblemsDocument, catalog_problems
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible

MAX_LINES = 10
"""Maximum number of problems that are printed for one change."""
_MINUTE_LINES = 60
"""Maximum number of lines per minute."""
_MAX_CHARACTERS = 300
"""Maximum length of one problem, and of its hint."""
_WHOLE_SOURCE = "."
_Key: TypeAlias = tuple[str, str, str, str]
"""Server, path, rule and field: what a problem is about, whatever its message says."""


def live_lines() -> Callable[[str], None]:
    """Return a function that prints a line on stderr. Beyond a limit per minute, lines are only counted."""
    handler = RateLimitedHandler(sys.stderr, same_lines=_MINUTE_LINES, all_lines=_MINUTE_LINES)

    def print_line(text: str) -> None:
        handler.handle(logging.LogRecord(__name__, logging.WARNING, "", 0, "%s", (text,), None))

    return print_line


def report_changes(library: Library, problems: Problems, print_line: Callable[[str], None]) -> None:
    """From now on, print each problem that appears in the library and each problem that is solved.

    `problems` returns the problems of a catalog. A withheld skill counts as a problem. Only what a change
    affects is compared.
    """
    known = problems(library.catalog)

    def report(change: Change) -> None:
        nonlocal known
        old, new = (), ()
        if problems is not catalog_problems or change.has_problem_changes:
            before, known = known, problems(change.after)
            old, new = _differing(before, known)
        withheld = tuple(_withheld(change, after=False)), tuple(_withheld(change, after=True))
        for line in _lines((*old, *withheld[0]), (*new, *withheld[1])):
            print_line(line)

    library.listen(report)


def _differing(
    before: Sequence[Problem], after: Sequence[Problem]
) -> tuple[Sequence[Problem], Sequence[Problem]]:
    """Return two lists of problems without what they have in common at their beginnings and ends."""
    if before is after:
        return (), ()
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    return before[start : len(before) - end], after[start : len(after) - end]


def _withheld(change: Change, *, after: bool) -> Iterator[Problem]:
    """Yield the withheld skills among those that differ, before or after the change."""
    for edit in change.edits:
        entry = edit.after if after else edit.before
        if entry is not None and entry.trust is Trust.WITHHELD:
            yield _withheld_problem(change.after if after else change.before, entry)


def _withheld_problem(catalog: Catalog, entry: SkillRecord) -> Problem:
    report: dict[str, Any] = dict(catalog.withheld_report(entry))
    return Problem(**report)


def _lines(before: Iterable[Problem], after: Iterable[Problem]) -> Iterator[str]:
    """Yield a line for each problem that is new, then for each that is solved, within the limit.

    A problem that only moved to another line of its file is not new. A problem whose message changed is new,
    and its earlier message is not reported as solved.
    """
    old, new = (
        {(_key(each), each.message): each for each in found if each.rule is not Rule.CONFIG_FAILED}
        for found in (before, after)  # the configuration file has its own messages
    )
    appeared = [each for key, each in new.items() if key not in old]
    still = {_key(each) for each in new.values()}
    solved = [each for each in old.values() if _key(each) not in still]
    lines = [f"{each.severity}: {_shown(each)}{_hint(each)}" for each in appeared]
    lines += [f"solved: {_shown(each)}" for each in solved]
    yield from lines[:MAX_LINES]
    if (more := len(lines) - MAX_LINES) > 0:
        yield f"and {more:,} more; `{ProblemsDocument.uri}` has all current problems"


def _key(problem: Problem) -> _Key:
    return problem.label, problem.path, problem.rule, problem.field


def _shown(problem: Problem) -> str:
    is_whole = problem.path.rpartition("/")[2] == _WHOLE_SOURCE  # its message names the source
    return escape_invisible(problem.message if is_whole else str(problem), _MAX_CHARACTERS)


def _hint(problem: Problem) -> str:
    return f"; {escape_invisible(problem.hint, _MAX_CHARACTERS)}" if problem.hint else ""
