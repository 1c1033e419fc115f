"""Work in the background that one crash does not end."""

import logging
from collections.abc import Awaitable, Callable

import anyio

_log = logging.getLogger(__name__)
PAUSE = 1.0
"""Seconds between a crash and the next attempt."""


async def supervised(work: Callable[[], Awaitable[None]], what: str, pause: float = PAUSE) -> None:
    """Work until it is done or cancelled. A crash is logged, and the work begins again."""
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001 - whatever it is, the server goes on
            _log.exception("%s failed; it begins again", what)
            await anyio.sleep(pause)
        else:
            return
