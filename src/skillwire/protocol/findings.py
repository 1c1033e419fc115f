"""What is wrong with something that a server sent, told so that its operator can mend it."""

from dataclasses import dataclass, field
from enum import StrEnum

from skillwire.errors import FindingError
from skillwire.safe_text import bare, visible

MAX_FINDINGS = 1000
"""Findings that are kept. All are counted."""


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
    ENTRY_NONCONFORMING = "entry-nonconforming"
    # Lists
    LIST_SHAPE = "list-shape"
    LIST_ENDLESS = "list-endless"
    OLD_DRAFT = "old-draft"
    # Contents
    READ_FAILED = "read-failed"
    READ_SHAPE = "read-shape"
    READ_BUDGET = "read-budget"
    SIZE = "size"
    DIGEST = "digest"
    FRONTMATTER = "frontmatter"
    UNLISTED = "unlisted"
    ARCHIVE = "archive"
    # Both surfaces
    SURFACE_SHAPE = "surface-shape"
    SURFACE_DIFFERS = "surface-differs"
    # All of them
    TIMEOUT = "timeout"
    MORE = "more"


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
        return f"{bare(self.uri)}: {visible(self.message)}"


@dataclass(slots=True)
class Findings:
    """The first findings of what may be very many, how many more there were, and every fault among them."""

    kept: list[Finding] = field(default_factory=list[Finding])
    more: int = 0
    faults: set[Fault] = field(default_factory=set[Fault])

    def add(self, *found: Finding) -> None:
        for finding in found:
            self.faults.add(finding.fault)
            if len(self.kept) < MAX_FINDINGS:
                self.kept.append(finding)
            else:
                self.more += 1

    def take(self, others: "Findings") -> None:
        """Add what was found elsewhere, with all that was not kept there."""
        self.add(*others.kept)
        self.more += others.more
        self.faults |= others.faults

    def raise_first(self) -> None:
        """Raise `FindingError` if there is any."""
        if self.kept:
            raise FindingError(self.kept[0])
