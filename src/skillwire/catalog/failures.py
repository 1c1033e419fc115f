"""Sources that could not be looked at: what was missed, and when to look again."""

import logging
from collections.abc import Awaitable, Callable

import anyio

from skillwire.sources.base import EVERYWHERE, Locations

_FIRST_RETRY, _LAST_RETRY = 0.5, 30.0
"""Seconds before a source is looked at again: at first, and at most. Doubled each time."""
_MANY = 1000
"""Locations that are looked at one by one. For more, a whole source is looked at."""

_log = logging.getLogger(__name__)


class Failures:
    """Remembers what each source could not be asked. A source reports a change only once."""

    def __init__(self) -> None:
        self._missed: dict[str, Locations] = {}
        self._retried: set[str] = set()
        """Labels of the sources that do not report by themselves when they can be looked at again."""
        self._failed: dict[str, anyio.Event] = {}

    def __contains__(self, label: str) -> bool:
        return label in self._missed

    def note(self, label: str, where: Locations, *, retry: bool) -> None:
        """Note that a look failed. Without `retry`, the source reports by itself when it is back."""
        self._missed[label] = where
        if not retry:
            self._retried.discard(label)
            return
        self._retried.add(label)
        if (failed := self._failed.get(label)) is not None:
            failed.set()

    def clear(self, label: str) -> None:
        """Note that nothing of a source is left to look at."""
        self._missed.pop(label, None)
        self._retried.discard(label)

    def with_missed(self, label: str, where: Locations) -> Locations:
        """Return these locations, and those that earlier looks missed."""
        if label not in self._retried:
            return where
        missed = self._missed[label]
        together = where | missed
        return EVERYWHERE if EVERYWHERE in (where, missed) or len(together) > _MANY else together

    async def retry(self, label: str, look: Callable[[Locations], Awaitable[None]]) -> None:
        """Whenever a look at a source failed, look again, less and less often, until one succeeds."""
        while True:
            failed = self._failed[label] = anyio.Event()
            if label not in self._retried:
                await failed.wait()
            pause = _FIRST_RETRY
            while label in self._retried:
                await anyio.sleep(pause)
                pause = min(2 * pause, _LAST_RETRY)
                if label not in self._retried:
                    break  # a read looked at it meanwhile
                try:
                    await look(self._missed[label])
                except Exception:  # noqa: BLE001 - a source of someone else must not end the service
                    _log.exception("the source `%s` could not be looked at again", label)
