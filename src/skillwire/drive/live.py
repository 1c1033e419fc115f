"""`LiveSkills`: the hub, its sources, and their background tasks."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import anyio

from skillwire.drive.headers import HeaderRule
from skillwire.drive.hub import Hub
from skillwire.drive.policy import DriveLimits, Hooks
from skillwire.drive.source import DriveSource

_log = logging.getLogger(__name__)
PAUSE = 1.0
"""Seconds between a crash and the restart."""


async def restart_on_crash(work: Callable[[], Awaitable[None]], what: str, pause: float = PAUSE) -> None:
    """Run `work` until it returns or is cancelled. A crash is logged, and `work` is started again."""
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001 - no crash may end the server
            _log.exception("%s failed and is restarted", what)
            await anyio.sleep(pause)
        else:
            return


class LiveSkills:
    """The live skills of a server: the hub of the connected programs, and the sources for libraries."""

    def __init__(
        self,
        limits: DriveLimits | None = None,
        hooks: Hooks | None = None,
        headers: Iterable[str] | None = None,
    ) -> None:
        """Create the hub, without a source.

        `headers` are the names of the request headers that are forwarded to programs. They replace the
        default. Raises `InvalidValueError` if a name is invalid, or names a header that is never forwarded.
        """
        self.hub = Hub(limits, hooks)
        self.headers = HeaderRule(headers)
        self._sources: list[DriveSource] = []

    def source(self, label: str = "live") -> DriveSource:
        """Return a new source with these skills, for a library. Call this before `running`.

        A source that is created later gets no descriptions for skills that were registered without one.
        """
        source = DriveSource(self.hub, label)
        self._sources.append(source)
        return source

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run the background tasks inside this block. When the block ends, all sessions end."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(restart_on_crash, self.hub.run, "supervising connected programs")
            for source in self._sources:
                tasks.start_soon(restart_on_crash, source.run, "fetching descriptions")
            try:
                yield
            finally:
                self.hub.close()
                tasks.cancel_scope.cancel()
