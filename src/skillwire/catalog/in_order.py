"""Several answers waited for at once, and taken in the order of the questions."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

READS_AT_ONCE = 8
"""Requests that one command has under way at one server. Some take a sixth of a second for each file."""
UNSIZED_AT_ONCE = 3
"""The same where no one says how large the answers are: each may be as large as any may be."""

Item = TypeVar("Item")
Value = TypeVar("Value")


async def in_order(
    items: Iterable[Item],
    ask: Callable[[Item], Awaitable[Value]],
    take: Callable[[Value], object],
    at_once: int = READS_AT_ONCE,
) -> None:
    """Call `ask` for several items at once, and `take` with each answer, in the order of the items.

    What `ask` or `take` raises is raised in that order, too: what comes later is then given up. No more than
    `at_once` items are asked for, or have answers that wait for their turn.
    """
    free = anyio.Semaphore(at_once)
    came: dict[int, Callable[[], object]] = {}
    turn, failures = 0, list[Exception]()

    async def answer(number: int, item: Item) -> None:
        nonlocal turn
        try:
            value = await ask(item)
        except Exception as error:  # noqa: BLE001 - it is raised when its turn comes
            came[number] = _raising(error)
        else:
            came[number] = lambda: take(value)
        while not failures and turn in came:
            try:
                came.pop(turn)()
            except Exception as error:  # noqa: BLE001 - as above
                failures.append(error)
                tasks.cancel_scope.cancel()
            turn += 1
            free.release()

    async with anyio.create_task_group() as tasks:
        for number, item in enumerate(items):
            await free.acquire()
            tasks.start_soon(answer, number, item)
    if failures:
        raise failures[0]


def _raising(error: Exception) -> Callable[[], object]:
    def fail() -> None:
        raise error

    return fail
