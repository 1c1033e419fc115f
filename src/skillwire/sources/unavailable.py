"""A source that somebody wants and that cannot be opened: told as its problem, and no other's."""

from skillwire.model.entry import LiveFile, SkillFile, SkillRecord
from skillwire.model.errors import SourceError
from skillwire.sources.base import Progress, Scan, Source, unwatched


class UnavailableSource(Source):
    """Says why there is nothing, whenever it is asked."""

    def __init__(self, label: str, place: str, reason: str, *, tell: bool = True) -> None:
        """With `tell`, scans say why. Where clients would read it, only the operator does."""
        self.label = label
        self.reason = reason
        self._place = place
        self._told = reason if tell else "it cannot be opened; `skillwire check` says why"

    @property
    def place(self) -> str:
        return self._place

    async def scan(self, progress: Progress = unwatched) -> Scan:  # noqa: ARG002 - there is nothing to see
        raise SourceError(self._told)

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:  # noqa: ARG002 - as above
        raise SourceError(self._told)
