"""Following several sources at once, each in a task of its own: one can begin or end while others go on."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing

import anyio
from anyio.abc import TaskGroup

from skillwire.sources.base import Attention, Locations, Source


class Following:
    """Runs `work` for each source that is followed. Of several who want it to run, one works."""

    def __init__(self, work: Callable[[Source], Awaitable[None]]) -> None:
        self._work = work
        self._alone = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._scopes: dict[str, anyio.CancelScope] = {}

    async def run(self, sources: Callable[[], Iterable[Source]]) -> None:
        """Follow `sources`, and those that `begin` names meanwhile, until cancelled."""
        async with self._alone, anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                for source in sources():
                    self.begin(source)
                await anyio.sleep_forever()
            finally:
                self._tasks = None
                self._scopes.clear()

    def begin(self, source: Source) -> None:
        """Follow one more source, if any are followed now."""
        if self._tasks is not None:
            scope = self._scopes[source.label] = anyio.CancelScope()
            self._tasks.start_soon(self._within, scope, source)

    def end(self, source: Source) -> None:
        """Follow a source no more."""
        if (scope := self._scopes.pop(source.label, None)) is not None:
            scope.cancel()

    async def _within(self, scope: anyio.CancelScope, source: Source) -> None:
        with scope:
            await self._work(source)


async def each_change(
    source: Source, only: Attention | None, noticed: Callable[[Source, Locations], Awaitable[None]]
) -> None:
    """Call `noticed` wherever the source says that something may have changed."""
    async with aclosing(source.changes(only)) as changes:
        async for where in changes:
            await noticed(source, where)
