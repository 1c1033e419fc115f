"""Following several sources at once, each in a task of its own: one can begin or end while others go on."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from skillwire.sources.base import Attention, Locations, Source

Work: TypeAlias = Callable[[Source], Awaitable[None]]


class Following:
    """Does something for each source that is followed. Of several who want that, one works."""

    def __init__(self) -> None:
        self._alone = anyio.Lock()
        self._now: tuple[TaskGroup, Work] | None = None
        self._scopes: dict[str, anyio.CancelScope] = {}

    async def run(self, work: Work, sources: Callable[[], Iterable[Source]]) -> None:
        """Do `work` for `sources`, and for those that `begin` names meanwhile, until cancelled."""
        async with self._alone, anyio.create_task_group() as tasks:
            self._now = tasks, work
            try:
                for source in sources():
                    self.begin(source)
                await anyio.sleep_forever()
            finally:
                self._now = None
                self._scopes.clear()

    def begin(self, source: Source) -> None:
        """Follow one more source, if any are followed now."""
        if self._now is not None:
            tasks, work = self._now
            scope = self._scopes[source.label] = anyio.CancelScope()
            tasks.start_soon(_within, scope, work, source)

    def end(self, source: Source) -> None:
        """Follow a source no more."""
        if (scope := self._scopes.pop(source.label, None)) is not None:
            scope.cancel()


async def _within(scope: anyio.CancelScope, work: Work, source: Source) -> None:
    with scope:
        await work(source)


async def each_change(
    source: Source, only: Attention | None, noticed: Callable[[Source, Locations], Awaitable[None]]
) -> None:
    """Call `noticed` wherever the source says that something may have changed."""
    async with aclosing(source.changes(only)) as changes:
        async for where in changes:
            await noticed(source, where)
