"""Looking at sources that may fail: what is known of one then, and the problem that says so."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import anyio

from skillwire.model.display import quoted
from skillwire.model.errors import AwayError, NotThereError, SourceError
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.sources.base import Progress, Scan, Source, unwatched
from skillwire.sources.failing import failure


async def prepare_all(sources: Iterable[Source]) -> None:
    """Let sources fetch what their first scan will want, all at once."""
    async with anyio.create_task_group() as tasks:
        for source in sources:
            tasks.start_soon(_prepare, source)


async def _prepare(source: Source) -> None:
    with suppress(SourceError):  # the scan that follows says so
        await source.prepare()


async def first_scan(source: Source, progress: Progress = unwatched) -> tuple[Scan, bool]:
    """Return all that a source holds, and whether that failed; then it is the problem alone."""
    try:
        return await source.scan(progress), False
    except SourceError as error:
        return without(source, error, Scan()), not isinstance(error, NotThereError | AwayError)


def of_the_same_skills(before: Scan, after: Scan) -> Scan:
    """Return `after` with the skills of `before`, each as it is now, or as it was if it is gone."""
    now = {entry.uri: entry for entry in after.entries}
    return replace(after, entries=tuple(now.get(entry.uri, entry) for entry in before.entries))


def without(source: Source, error: SourceError, known: Scan, *, gone: bool = True) -> Scan:
    """Return what is known of a source that cannot be scanned, with the problem that it has."""
    if gone and isinstance(error, NotThereError):
        problem = Problem(
            ".",
            Rule.SOURCE_WAITING,
            Severity.WARNING,
            f"the source {quoted(source.label)} is waited for: {error}",
            hint="make it, or mend its name; it is served as soon as it is there",
        )
    else:
        problem = failure(source.label, error, known=bool(known.entries))
    others = (each for each in known.problems if each.rule not in {Rule.SOURCE_FAILED, Rule.SOURCE_WAITING})
    return replace(known, problems=(*others, problem))
