"""Plain functions in threads of their own: so many at once, and each holds its place until it really ends."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel

MOST = 64
"""Functions that run at once. A function that never ends keeps one of these places for ever."""


@dataclass(slots=True)
class _Outcome:
    done: anyio.Event = field(default_factory=anyio.Event)
    value: Any = None
    error: BaseException | None = None


class Threads:
    """Runs functions beside the event loop. Not where the transports have their threads: those never wait."""

    def __init__(self, most: int = MOST) -> None:
        self._free = threading.Semaphore(most)
        self._gone: set[anyio.Event] = set()

    async def run(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns, or raise what it raises. If we are cancelled, it is left alone."""
        while not self._free.acquire(blocking=False):
            await self._place()
        outcome, token = _Outcome(), anyio.lowlevel.current_token()

        def work() -> None:
            try:
                outcome.value = function()
            except BaseException as error:  # noqa: BLE001 - whoever waits for it decides
                outcome.error = error
            finally:
                self._free.release()
                with suppress(anyio.RunFinishedError):  # nobody waits any more
                    anyio.from_thread.run_sync(self._tell, outcome.done, token=token)

        # A daemon: a function that does not end must not keep the program from ending.
        threading.Thread(target=work, daemon=True, name="skillwire-resolver").start()
        await outcome.done.wait()
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    async def _place(self) -> None:
        """Wait until some function has ended."""
        gone = anyio.Event()
        self._gone.add(gone)
        try:
            await gone.wait()
        finally:
            self._gone.discard(gone)

    def _tell(self, done: anyio.Event) -> None:
        done.set()
        for waiting in tuple(self._gone):
            waiting.set()
