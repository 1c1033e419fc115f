"""`LiveSkills`: the hub, its source, and the background tasks that keep them running."""

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
"""Seconds between a crash and the next attempt."""


async def restart_on_crash(work: Callable[[], Awaitable[None]], what: str, pause: float = PAUSE) -> None:
    """Work until it is done or cancelled. A crash is logged, and the work begins again."""
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001 - whatever it is, the server goes on
            _log.exception("%s failed; it begins again", what)
            await anyio.sleep(pause)
        else:
            return


class LiveSkills:
    """The hub, the source and the limits of a server with live skills."""

    def __init__(
        self,
        limits: DriveLimits | None = None,
        hooks: Hooks | None = None,
        headers: Iterable[str] | None = None,
    ) -> None:
        """`headers` are the names of those that programs get of readers over HTTP, instead of the usual ones.

        Raises `InvalidValueError`.
        """
        self.hub = Hub(limits, hooks)
        self.headers = HeaderRule(headers)
        self._sources: list[DriveSource] = []

    def source(self, label: str = "live") -> DriveSource:
        """Return the source of these skills, for a library."""
        source = DriveSource(self.hub, label)
        self._sources.append(source)
        return source

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Look after the clients meanwhile. At the end, their sessions end."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(restart_on_crash, self.hub.run, "looking after live programs")
            for source in self._sources:
                tasks.start_soon(restart_on_crash, source.run, "asking for descriptions")
            try:
                yield
            finally:
                self.hub.close()
                tasks.cancel_scope.cancel()
