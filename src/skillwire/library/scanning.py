"""Scan sources that may fail: report the problem, record the missed locations, and retry."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace

import anyio

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.sorted_items import SortedItems
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

_ONCE_HINT = "check its address and the connection, then run the command again"
_OF_A_SOURCE = frozenset({Rule.SOURCE_FAILED, Rule.SOURCE_STALE})

_log = logging.getLogger(__name__)


class FailedSources:
    """Records the locations in each source that could not be scanned, so that they are scanned again."""

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
        """Return these locations and, if the source must be retried, those that earlier scans missed.

        Return `EVERYWHERE` if there are too many.
        """
        if label not in self._retried:
            return where
        missed = self._missed[label]
        together = where | missed
        return EVERYWHERE if EVERYWHERE in (where, missed) or len(together) > _MAX_LOCATIONS else together

    async def retry(self, label: str, rescan: Callable[[Locations], Awaitable[None]]) -> None:
        """Run forever: after each failure noted with `retry`, rescan until a scan succeeds.

        The intervals between the scans grow.
        """
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
    """Let all sources fetch what their first scan needs, concurrently. Ignores `SourceError`."""
    async with anyio.create_task_group() as tasks:
        for source in sources:
            tasks.start_soon(_prepare, source)


async def _prepare(source: Source) -> None:
    with suppress(SourceError):  # the scan that follows reports it
        await source.prepare()


async def first_scan(source: Source, progress: Progress = ignore_progress) -> tuple[Scan, bool]:
    """Scan a whole source. Return the scan, and whether the caller must retry it.

    After a failure, the scan contains only the problem. A source that reports when it is back need not be
    retried.
    """
    try:
        return await source.scan(progress), False
    except SourceError as error:
        return add_source_problem(source, error, Scan()), not isinstance(
            error, SourceMissingError | SourceUnavailableError
        )


def for_one_scan(scan: Scan) -> Scan:
    """Return a scan whose problems do not promise that the source is tried again."""
    problems = (
        replace(each, hint=_ONCE_HINT) if each.rule in _OF_A_SOURCE else each for each in scan.problems
    )
    return replace(scan, problems=tuple(problems))


def keep_same_skills(before: Scan, after: Scan) -> Scan:
    """Return `after` with the same set of skills as `before`.

    A skill that is not in `after` stays as it was.
    """
    delta = after.delta_since(before)
    gone = {entry.uri: entry for entry in delta.gone}
    changed = {entry.uri: entry for entry in delta.new if entry.uri in gone}
    if isinstance(before.entries, SortedItems):
        entries = before.entries.replaced((gone[uri] for uri in changed), changed.values())
    else:
        entries = tuple(changed.get(entry.uri, entry) for entry in before.entries)
    return replace(after, entries=entries)


def add_source_problem(source: Source, error: SourceError, known: Scan, *, gone: bool = True) -> Scan:
    """Return the known scan of a source that cannot be scanned now, with the current problem.

    With `gone=False`, a missing source is reported as failed instead of waiting.
    """
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
