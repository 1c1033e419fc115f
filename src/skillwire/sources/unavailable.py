"""A source that somebody wants and that cannot be opened: told as its problem, and no other's."""

from skillwire.model.entry import Entry, LiveFile, SkillFile
from skillwire.model.errors import SourceError
from skillwire.sources.base import Progress, Scan, Source, unwatched


class UnavailableSource(Source):
    """Says why there is nothing, whenever it is asked."""

    def __init__(self, label: str, place: str, reason: str) -> None:
        self.label = label
        self.reason = reason
        self._place = place

    @property
    def place(self) -> str:
        return self._place

    async def scan(self, progress: Progress = unwatched) -> Scan:  # noqa: ARG002 - there is nothing to see
        raise SourceError(self.reason)

    async def read(self, entry: Entry, file: SkillFile | LiveFile) -> bytes:  # noqa: ARG002 - as above
        raise SourceError(self.reason)
