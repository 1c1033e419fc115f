"""What is wrong with something that a server sent, told so that its operator can mend it."""

from dataclasses import dataclass
from enum import StrEnum

from skillwire.model.display import visible


class Fault(StrEnum):
    """Every fault that a finding can name. Each has its entry in `docs/verifying.md`."""

    # Entries
    ENTRY_SHAPE = "entry-shape"
    ENTRY_URI = "entry-uri"
    ENTRY_NAME = "entry-name"
    ENTRY_DESCRIPTION = "entry-description"
    ENTRY_RESOURCES = "entry-resources"
    ENTRY_LIMITS = "entry-limits"
    ENTRY_TWICE = "entry-twice"
    ENTRY_OTHER = "entry-other"
    # Lists
    LIST_SHAPE = "list-shape"
    LIST_ENDLESS = "list-endless"
    # Contents
    READ_FAILED = "read-failed"
    READ_SHAPE = "read-shape"
    READ_BUDGET = "read-budget"
    SIZE = "size"
    DIGEST = "digest"
    FRONTMATTER = "frontmatter"
    # Both surfaces
    SURFACE_SHAPE = "surface-shape"
    SURFACE_DIFFERS = "surface-differs"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: of what, which, and why."""

    uri: str
    """The skill, file, prompt or method that it is about, as the server spelled it."""
    fault: Fault
    message: str

    def to_json(self) -> dict[str, str]:
        return {"uri": visible(self.uri), "fault": self.fault, "message": visible(self.message)}

    def __str__(self) -> str:
        return visible(f"{self.uri}: {self.message}")
