"""The mapping of a frontmatter, however it was read."""

from dataclasses import dataclass

from skillwire.model.entry import Json
from skillwire.skillmd.ambiguous import Doubt


@dataclass(frozen=True, slots=True)
class Fields:
    """The mapping of a frontmatter."""

    values: dict[str, Json]
    """JSON as it stands: text without lone surrogates, 64-bit integers, finite floats, string keys."""
    lines: dict[str, int]
    """Where each top-level field stands."""
    doubts: tuple[Doubt, ...] = ()
    """Values that another parser reads differently."""
