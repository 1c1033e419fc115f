"""The mapping of a frontmatter, however it was read."""

from dataclasses import dataclass

from skillwire.model.entry import Json


@dataclass(frozen=True, slots=True)
class Fields:
    """The mapping of a frontmatter."""

    values: dict[str, Json]
    """JSON as it stands: text without lone surrogates, 64-bit integers, finite floats, string keys."""
    lines: dict[str, int]
    """Where each top-level field stands."""
