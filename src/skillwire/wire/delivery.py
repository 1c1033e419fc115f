"""How skills that somebody publishes get to who fetches them, in the words of Agent Skills Discovery."""

from enum import StrEnum

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"


class Delivery(StrEnum):
    """How a skill is delivered: its `SKILL.md` alone, or all its files in one archive."""

    SKILL_MD = "skill-md"
    ARCHIVE = "archive"
