"""Live skills as one thing to start: the hub, and the source that shows what it holds."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio

from skillwire.drive.hooks import Hooks
from skillwire.drive.hub import Hub
from skillwire.drive.limits import DriveLimits
from skillwire.drive.source import DriveSource
from skillwire.drive.supervision import supervised
from skillwire.drive.web import HeaderRule


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
            tasks.start_soon(supervised, self.hub.run, "looking after live programs")
            for source in self._sources:
                tasks.start_soon(supervised, source.run, "asking for descriptions")
            try:
                yield
            finally:
                self.hub.close()
                tasks.cancel_scope.cancel()
