"""Log why skills are missing, for the author of a program that serves skills."""

import logging
from collections.abc import Iterator, Sequence

from skillwire.core.problem import LAST_GOOD_SERVED, Problem, Rule, Severity
from skillwire.features.resources import ProblemsDocument
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible, quoted
from skillwire.sources.memory import MemorySource
from skillwire.terminal.messages import NO_SKILLS, pluralize

_log = logging.getLogger(__name__)

_OF_A_SOURCE = {
    Rule.SOURCE_FAILED,
    Rule.SOURCE_WAITING,
    Rule.SOURCE_STALE,
    Rule.SOURCE_PARTIAL,
    Rule.WATCH_POLLING,
}
"""Rules about a whole source. Each such problem has its own line."""
_MAX_SHOWN = 3
"""Maximum number of problems with skills in one line."""
_MAX_CHARACTERS = 300
"""Maximum length of one problem, and of its hint."""


def log_problems(library: Library) -> None:
    """Log the problems of a library as warnings: once when it is loaded, and again when they change."""
    logged: frozenset[str] = frozenset()
    last: tuple[Catalog, list[object]] | None = None

    def log_new() -> None:
        nonlocal logged, last
        before, last = last, (library.catalog, _states(library))
        if (
            before is not None
            and before[1] == last[1]
            and not Change.between(before[0], last[0]).has_problem_changes
        ):
            return
        lines = tuple(_lines(library))
        for line in lines:
            if line not in logged:
                _log.warning("%s", line)
        logged = frozenset(lines)

    library.observe(log_new)


def _states(library: Library) -> list[object]:
    """Return what the lines depend on besides the problems of the catalog."""
    scans = ((source.place, library.scans.get(source.label)) for source in library.sources)
    return [
        (place, None if scan is None else (scan.problems, bool(scan.entries or scan.templates)))
        for place, scan in scans
    ]


def _lines(library: Library) -> Iterator[str]:
    """Yield a line for each problem with a whole source, and one for the broken skills of each source."""
    of_sources = set[Problem]()
    for source in library.sources:
        if (scan := library.scans.get(source.label)) is None:  # not loaded yet
            continue
        place = quoted(source.place, _MAX_CHARACTERS)
        of_sources.update(scan.problems)
        whole = [each for each in scan.problems if each.rule in _OF_A_SOURCE]
        yield from (f"{place}: {_shown(each.message, each)}" for each in whole)
        if broken := [each for each in scan.problems if _breaks_a_skill(each)]:
            yield f"{place}: {_summary(broken)}"
        filled_in_code = isinstance(source, MemorySource)  # possibly later
        if not (whole or broken or scan.entries or scan.templates or filled_in_code):
            yield f"{place}: {NO_SKILLS}"
    of_all = [each for each in library.catalog.problems if each not in of_sources and _breaks_a_skill(each)]
    if of_all:
        yield _summary(of_all)


def _breaks_a_skill(problem: Problem) -> bool:
    """Return whether a skill is left out, or served as it was before an edit broke it."""
    if problem.rule in _OF_A_SOURCE:
        return False
    return problem.severity is Severity.ERROR or problem.message.endswith(LAST_GOOD_SERVED)


def _summary(problems: Sequence[Problem]) -> str:
    """Return one line with the number of problems, the first of them, and where the others are."""
    left_out = [each for each in problems if each.severity is Severity.ERROR]
    effect = "keep skills from being served" if left_out else "keep edits of skills from being served"
    count = pluralize(len(problems), "problem")
    verb = effect if len(problems) > 1 else effect.replace("keep", "keeps", 1)
    shown = "; ".join(_shown(str(each), each) for each in problems[:_MAX_SHOWN])
    more = len(problems) - _MAX_SHOWN
    where = f"; {more:,} more in the resource `{ProblemsDocument.uri}`" if more > 0 else ""
    return f"{count} {verb}: {shown}{where}"


def _shown(text: str, problem: Problem) -> str:
    hint = f"; {escape_invisible(problem.hint, _MAX_CHARACTERS)}" if problem.hint else ""
    return f"{escape_invisible(text, _MAX_CHARACTERS)}{hint}"
