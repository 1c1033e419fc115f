"""Scan sources that may fail: the problem to report, what was missed, and when to retry."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace

import anyio

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import SourceError, SourceMissingError, SourceUnavailableError
from skillwire.safe_text import quoted
from skillwire.sources.base import (
    EVERYWHERE,
    Locations,
    Progress,
    Scan,
    Source,
    ignore_progress,
    source_problem,
)

_FIRST_RETRY, _LAST_RETRY = 0.5, 30.0
"""Seconds before a source is looked at again: at first, and at most. Doubled each time."""
_MAX_LOCATIONS = 1000
"""Locations that are looked at one by one. For more, a whole source is looked at."""

_log = logging.getLogger(__name__)


class FailedSources:
    """Remembers what each source could not be asked. A source reports a change only once."""

    def __init__(self) -> None:
        self._missed: dict[str, Locations] = {}
        self._retried: set[str] = set()
        """Labels of the sources that do not report by themselves when they can be looked at again."""
        self._failed: dict[str, anyio.Event] = {}

    def __contains__(self, label: str) -> bool:
        return label in self._missed

    def note(self, label: str, where: Locations, *, retry: bool) -> None:
        """Note that a look failed. Without `retry`, the source reports by itself when it is back."""
        self._missed[label] = where
        if not retry:
            self._retried.discard(label)
            return
        self._retried.add(label)
        if (failed := self._failed.get(label)) is not None:
            failed.set()

    def clear(self, label: str) -> None:
        """Note that nothing of a source is left to look at."""
        self._missed.pop(label, None)
        self._retried.discard(label)

    def add_missed(self, label: str, where: Locations) -> Locations:
        """Return these locations, and those that earlier looks missed."""
        if label not in self._retried:
            return where
        missed = self._missed[label]
        together = where | missed
        return EVERYWHERE if EVERYWHERE in (where, missed) or len(together) > _MAX_LOCATIONS else together

    async def retry(self, label: str, rescan: Callable[[Locations], Awaitable[None]]) -> None:
        """Whenever a look at a source failed, look again, less and less often, until one succeeds."""
        while True:
            failed = self._failed[label] = anyio.Event()
            if label not in self._retried:
                await failed.wait()
            pause = _FIRST_RETRY
            while label in self._retried:
                await anyio.sleep(pause)
                pause = min(2 * pause, _LAST_RETRY)
                if label not in self._retried:
                    break  # a read looked at it meanwhile
                try:
                    await rescan(self._missed[label])
                except Exception:  # noqa: BLE001 - a source of someone else must not end the service
                    _log.exception("the source `%s` could not be looked at again", label)


async def prepare_all(sources: Iterable[Source]) -> None:
    """Let sources fetch what their first scan will want, all at once."""
    async with anyio.create_task_group() as tasks:
        for source in sources:
            tasks.start_soon(_prepare, source)


async def _prepare(source: Source) -> None:
    with suppress(SourceError):  # the scan that follows says so
        await source.prepare()


async def first_scan(source: Source, progress: Progress = ignore_progress) -> tuple[Scan, bool]:
    """Return all that a source holds, and whether that failed; then it is the problem alone."""
    try:
        return await source.scan(progress), False
    except SourceError as error:
        return add_source_problem(source, error, Scan()), not isinstance(
            error, SourceMissingError | SourceUnavailableError
        )


def keep_same_skills(before: Scan, after: Scan) -> Scan:
    """Return `after` with the skills of `before`, each as it is now, or as it was if it is gone."""
    now = {entry.uri: entry for entry in after.entries}
    return replace(after, entries=tuple(now.get(entry.uri, entry) for entry in before.entries))


def add_source_problem(source: Source, error: SourceError, known: Scan, *, gone: bool = True) -> Scan:
    """Return what is known of a source that cannot be scanned, with the problem that it has."""
    if gone and isinstance(error, SourceMissingError):
        problem = Problem(
            ".",
            Rule.SOURCE_WAITING,
            Severity.WARNING,
            f"the source {quoted(source.label)} is waited for: {error}",
            hint="make it, or mend its name; it is served as soon as it is there",
        )
    else:
        problem = source_problem(source.label, error, known=bool(known.entries))
    others = (each for each in known.problems if each.rule not in {Rule.SOURCE_FAILED, Rule.SOURCE_WAITING})
    return replace(known, problems=(*others, problem))
