"""How much is too much."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one skill (S10) and on the search for skills in one source."""

    files: int = 512
    """Files of one skill, `SKILL.md` included."""
    bytes: int = 16 * 1024 * 1024
    """Bytes of one skill, all its files together."""
    depth: int = 32
    """Levels of folders below a root."""
    entries: int = 100_000
    """Files and folders looked at below a root."""
