"""Placeholders for sources that are opened on first use, or that could not be opened."""

from collections.abc import Callable
from datetime import datetime

from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.errors import SourceError
from skillwire.sources.base import Progress, Scan, Source, WrappedSource, ignore_progress


class DeferredSource(WrappedSource):
    """A source that is created on first use."""

    def __init__(self, label: str, place: str, make: Callable[[], Source]) -> None:
        """Create a placeholder. `make` is called on first use, and returns a source with the same label."""
        self.label = label
        self._place, self._make = place, make
        self._made: Source | None = None

    @property
    def place(self) -> str:
        return self._place

    @property
    def status(self) -> str:
        return "asked when it is served"

    @property
    def fetched(self) -> datetime | None:
        return None if self._made is None else self._made.fetched

    @property
    def source(self) -> Source:
        if self._made is None:
            self._made = self._make()
        return self._made


class UnavailableSource(Source):
    """A source that could not be opened. Every scan and read raises `SourceError`."""

    def __init__(self, label: str, place: str, reason: str, *, show_reason: bool = True) -> None:
        """Create a placeholder.

        With `show_reason=False`, errors omit the reason, because clients may read them.
        """
        self.label = label
        self.reason = reason
        self._place = place
        self._message = reason if show_reason else "it cannot be opened; `skillwire check` shows the reason"

    @property
    def place(self) -> str:
        return self._place

    @property
    def status(self) -> str:
        return f"unavailable: {self.reason}"

    async def scan(self, progress: Progress = ignore_progress) -> Scan:  # noqa: ARG002 - there is nothing to scan
        raise SourceError(self._message)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:  # noqa: ARG002 - as above
        raise SourceError(self._message)
