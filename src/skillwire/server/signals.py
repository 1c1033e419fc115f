"""Stop cleanly on SIGTERM and Ctrl-C."""

import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio

from skillwire.core.process import is_ours

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@asynccontextmanager
async def on_stop_signal(stop: Callable[[], None]) -> AsyncGenerator[None]:
    """Call `stop` on each SIGINT or SIGTERM while the block runs.

    On Windows, or if Skillwire does not own the process, signals keep their usual effect.
    """
    if not is_ours():
        yield
        return

    async def wait() -> None:
        try:
            with anyio.open_signal_receiver(*_SIGNALS) as received:
                async for _ in received:
                    stop()
        except NotImplementedError:  # on Windows, keep Python's own signal handling
            return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        yield
        tasks.cancel_scope.cancel()
