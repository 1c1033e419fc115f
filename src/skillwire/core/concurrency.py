"""Request several items concurrently, and process the results in the order of the items."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

MAX_CONCURRENT_READS = 8
"""Maximum number of concurrent requests from one command to one server.

Without concurrency, commands would be slow: some servers take 170 ms for each file.
"""
MAX_CONCURRENT_UNSIZED_READS = 3
"""Maximum number of concurrent requests for files of unknown size, each of which may be very large."""

Item = TypeVar("Item")
Value = TypeVar("Value")


async def process_in_order(
    items: Iterable[Item],
    ask: Callable[[Item], Awaitable[Value]],
    take: Callable[[Value], object],
    at_once: int = MAX_CONCURRENT_READS,
) -> None:
    """Call `ask` for several items concurrently, and `take` with each result in the order of the items.

    The first exception of `ask` or `take`, in the order of the items, is raised. It cancels the requests for
    later items. At most `at_once` items are being requested or wait to be passed to `take`.
    """
    free = anyio.Semaphore(at_once)
    waiting: dict[int, Callable[[], object]] = {}
    turn, failures = 0, list[Exception]()

    async def answer(number: int, item: Item) -> None:
        nonlocal turn
        try:
            value = await ask(item)
        except Exception as error:  # noqa: BLE001 - raised when its turn comes
            waiting[number] = _make_raiser(error)
        else:
            waiting[number] = lambda: take(value)
        while not failures and turn in waiting:
            try:
                waiting.pop(turn)()
            except Exception as error:  # noqa: BLE001 - as above
                failures.append(error)
                tasks.cancel_scope.cancel()
            turn += 1
            free.release()

    # A list first: an iterator that fails inside the group would raise an `ExceptionGroup`.
    every = list(items)
    async with anyio.create_task_group() as tasks:
        for number, item in enumerate(every):
            await free.acquire()
            tasks.start_soon(answer, number, item)
    if failures:
        raise failures[0]


def _make_raiser(error: Exception) -> Callable[[], object]:
    def fail() -> None:
        raise error

    return fail
