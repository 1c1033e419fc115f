"""TEMPORARY."""

from enum import StrEnum


class Standing(StrEnum):
    UNKNOWN = "unknown"
    APPROVED = "approved"
    CHANGED = "changed"
    REVOKED = "revoked"
