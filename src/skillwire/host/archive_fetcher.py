"""Unpack the archives of servers that the operator trusts, in the background, for a bridge.

`with_own_changes` merges the changes that a wrapper finds with the changes of its source.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TypeAlias

import anyio
from mcp.shared.exceptions import MCPError

from skillwire.core.problem import Problem, Rule
from skillwire.errors import SkillwireError, UnavailableError, VerificationError
from skillwire.host.archives import Archives
from skillwire.host.servers.source import ServerSource
from skillwire.protocol.claims import DeliveryClaim, SkillClaim, verifiable_archive
from skillwire.safe_text import escape_invisible
from skillwire.sources.base import (
    EVERYWHERE,
    Locations,
    Progress,
    Scan,
    Source,
    WatchFilter,
    WrappedSource,
    ignore_progress,
)

UNPACKED: Locations = frozenset({"archives"})
"""The location to rescan after archives were unpacked. This rescan does not contact the server."""
MAX_ARCHIVES = 500
MAX_BYTES = 128 * 1024 * 1024
"""Limits for one server. When the unpacked archives, or the bytes in their files, reach a limit, no further
archive is unpacked.
"""
_PUBLISH_SECONDS = 1.0
"""Minimum time between two rescans while archives are unpacked, in seconds.

Each rescan processes all skills of the server.
"""
_SHOWN = 300
_LIMIT = f"no more than {MAX_ARCHIVES:,} archives or {MAX_BYTES:,} bytes of one server are unpacked"

ChangeQueue: TypeAlias = "asyncio.Queue[Locations | Exception]"


async def with_own_changes(
    source: Source, watch_filter: WatchFilter | None, watch: Callable[[ChangeQueue], Awaitable[None]]
) -> AsyncGenerator[Locations]:
    """Yield the changes of a source, and the changes that `watch` puts into its queue.

    Raises the exceptions of the source.
    """
    found: ChangeQueue = asyncio.Queue(1)

    async def forward() -> None:
        try:
            async with aclosing(source.changes(watch_filter)) as changes:
                async for where in changes:
                    await found.put(where)
        except Exception as error:  # noqa: BLE001 - raised below
            await found.put(error)

    # Plain tasks, because a generator that is closed early cannot exit a task group.
    tasks = [asyncio.ensure_future(forward()), asyncio.ensure_future(watch(found))]
    try:
        while True:
            where = await found.get()
            if isinstance(where, Exception):
                raise where
            yield where
    finally:
        for task in tasks:
            task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*tasks, return_exceptions=True)


class ArchiveFetcher(WrappedSource):
    """Wraps the source of a trusted server, and unpacks the server's archives while changes are watched.

    A skill appears once its archive is unpacked. A faulty archive is not fetched again while the server lists
    it. If the server does not answer, unpacking continues after the next scan.
    """

    def __init__(self, source: ServerSource, archives: Archives) -> None:
        super().__init__(source)
        self._server, self._archives = source, archives
        self._failures: dict[DeliveryClaim, str] = {}
        self._sizes: dict[DeliveryClaim, int] = {}
        """The total size of the files in each unpacked archive, in bytes."""
        self._scanned = asyncio.Event()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        return self._noted(await self._source.scan(progress))

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        if where == UNPACKED:
            return self._noted(await self._server.republish())
        return self._noted(await self._source.rescan(where))

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:
        async with aclosing(with_own_changes(self._source, watch_filter, self._unpack_all)) as changes:
            async for where in changes:
                yield where

    def _noted(self, scan: Scan) -> Scan:
        """Report the scan to `_unpack_all`, and return it.

        In the returned scan, the problem of each packed skill says why the skill's archive is not unpacked.
        """
        self._scanned.set()
        return replace(scan, problems=tuple(map(self._with_reason, scan.problems)))

    def _with_reason(self, problem: Problem) -> Problem:
        skill = self._server.packed.get(problem.path) if problem.rule is Rule.NOT_PASSED_ON else None
        archive = None if skill is None else verifiable_archive(skill)
        if archive is None:
            return problem
        failure = self._failures.get(archive) or (_LIMIT if self._is_full else "")
        if not failure:
            return replace(problem, hint="nothing to do: its archive is being fetched")
        hint = "report it to the operator of the server; `skillwire verify` shows all its problems"
        return replace(problem, message=f"it is not passed on: {failure}", hint=hint)

    @property
    def _is_full(self) -> bool:
        return len(self._sizes) >= MAX_ARCHIVES or sum(self._sizes.values()) >= MAX_BYTES

    async def _unpack_all(self, found: ChangeQueue) -> None:
        """Unpack the archives of packed skills, now and after each scan. Never returns.

        Puts `UNPACKED` into the queue when a rescan would show progress.
        """
        while True:
            self._scanned.clear()
            await self._unpack_packed(found)
            await self._scanned.wait()

    async def _unpack_packed(self, found: ChangeQueue) -> None:
        published, changed = time.monotonic(), False
        listed = self._server.archives()
        self._sizes = {archive: size for archive, size in self._sizes.items() if archive in listed}
        self._failures = {archive: each for archive, each in self._failures.items() if archive in listed}
        for skill in list(self._server.packed.values()):
            archive = verifiable_archive(skill)
            if archive is None or archive in self._failures:
                continue
            if self._is_full:
                break
            try:
                self._sizes[archive] = await self._unpack(skill)
            except UnavailableError:
                break  # the next scan reports the skill as packed again
            except (SkillwireError, MCPError) as error:
                self._failures[archive] = escape_invisible(_message(error), _SHOWN)
            changed = True
            if time.monotonic() - published > _PUBLISH_SECONDS:
                published, changed = time.monotonic(), False
                await found.put(UNPACKED)
        if changed:
            await found.put(UNPACKED)

    async def _unpack(self, skill: SkillClaim) -> int:
        unpacked = await self._archives.derive(self.label, self._server.transport, skill)
        return sum(file.size or 0 for file in unpacked.files or ())


def _message(error: SkillwireError | MCPError) -> str:
    return error.problems[0].message if isinstance(error, VerificationError) else str(error)
