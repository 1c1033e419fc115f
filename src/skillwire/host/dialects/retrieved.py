"""How much was really retrieved of skills that do not say how large they are (H8)."""

from skillwire.model.limits import Limits
from skillwire.wire.findings import Fault, Finding, FindingError
from skillwire.wire.remote import RemoteSkill


class Retrieved:
    """The bytes of each file that was read, by skill. A file that is read again counts once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sizes: dict[str, dict[str, int]] = {}

    def count(self, skill: RemoteSkill, uri: str, size: int) -> None:
        """Count a file. Raises `FindingError` if the skill turns out to be too large."""
        sizes = self._sizes.setdefault(skill.uri, {})
        total = sum(sizes.values()) - sizes.get(uri, 0) + size
        if total > self._limits.bytes or len(sizes.keys() | {uri}) > self._limits.files:
            told = f"more of it was read than {self._limits.files:,} files and {self._limits.bytes:,} bytes"
            raise FindingError(Finding(skill.uri, Fault.ENTRY_LIMITS, told))
        sizes[uri] = size
