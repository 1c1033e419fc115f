"""Scan sources that may fail: report the problem, record the missed locations, and retry."""

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
"""First and longest delay in seconds before a failed source is scanned again. The delay doubles each time."""
_MAX_LOCATIONS = 1000
"""Maximum number of locations that are scanned one by one. If there are more, the whole source is scanned."""

_log = logging.getLogger(__name__)


class FailedSources:
    """Records the locations in each source that could not be scanned. A source reports a change only once."""

    def __init__(self) -> None:
        self._missed: dict[str, Locations] = {}
        self._retried: set[str] = set()
        """Labels of the sources to retry, because they do not report when they are back."""
        self._failed: dict[str, anyio.Event] = {}

    def __contains__(self, label: str) -> bool:
        return label in self._missed

    def note(self, label: str, where: Locations, *, retry: bool) -> None:
        """Record a failed scan. With `retry=False`, the source itself reports when it is back."""
        self._missed[label] = where
        if not retry:
            self._retried.discard(label)
            return
        self._retried.add(label)
        if (failed := self._failed.get(label)) is not None:
            failed.set()

    def clear(self, label: str) -> None:
        """Record that a source was scanned completely."""
        self._missed.pop(label, None)
        self._retried.discard(label)

    def add_missed(self, label: str, where: Locations) -> Locations:
        """Return these locations and the locations that earlier scans missed."""
        if label not in self._retried:
            return where
        missed = self._missed[label]
        together = where | missed
        return EVERYWHERE if EVERYWHERE in (where, missed) or len(together) > _MAX_LOCATIONS else together

    async def retry(self, label: str, rescan: Callable[[Locations], Awaitable[None]]) -> None:
        """After each failed scan of a source, scan again at growing intervals, until one succeeds."""
        while True:
            failed = self._failed[label] = anyio.Event()
            if label not in self._retried:
                await failed.wait()
            pause = _FIRST_RETRY
            while label in self._retried:
                await anyio.sleep(pause)
                pause = min(2 * pause, _LAST_RETRY)
                if label not in self._retried:
                    break  # a read has scanned the source in the meantime
                try:
                    await rescan(self._missed[label])
                except Exception:  # noqa: BLE001 - the failure of a custom source must not end the service
                    _log.exception("scanning the source `%s` again failed", label)


async def prepare_all(sources: Iterable[Source]) -> None:
    """Let all sources fetch what their first scan needs, concurrently."""
    async with anyio.create_task_group() as tasks:
        for source in sources:
            tasks.start_soon(_prepare, source)


async def _prepare(source: Source) -> None:
    with suppress(SourceError):  # the scan that follows reports it
        await source.prepare()


async def first_scan(source: Source, progress: Progress = ignore_progress) -> tuple[Scan, bool]:
    """Scan a whole source. Return the scan, and whether it failed and must be retried.

    After a failure, the scan contains only the problem.
    """
    try:
        return await source.scan(progress), False
    except SourceError as error:
        return add_source_problem(source, error, Scan()), not isinstance(
            error, SourceMissingError | SourceUnavailableError
        )


def keep_same_skills(before: Scan, after: Scan) -> Scan:
    """Return `after` with exactly the skills of `before`.

    A skill that no longer exists stays as it was.
    """
    now = {entry.uri: entry for entry in after.entries}
    return replace(after, entries=tuple(now.get(entry.uri, entry) for entry in before.entries))


def add_source_problem(source: Source, error: SourceError, known: Scan, *, gone: bool = True) -> Scan:
    """Return the known scan of a source that cannot be scanned now, with the problem added."""
    if gone and isinstance(error, SourceMissingError):
        problem = Problem(
            ".",
            Rule.SOURCE_WAITING,
            Severity.WARNING,
            f"the source {quoted(source.label)} is missing: {error}",
            hint="create it, or correct its name; it is served as soon as it exists",
        )
    else:
        problem = source_problem(source.label, error, known=bool(known.entries))
    others = (each for each in known.problems if each.rule not in {Rule.SOURCE_FAILED, Rule.SOURCE_WAITING})
    return replace(known, problems=(*others, problem))
