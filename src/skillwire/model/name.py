"""The rule for a skill's name, in one place."""

import re

NAME_LENGTH = 64
NAME_RULE = "lowercase letters, digits and single hyphens (1-64 characters)"

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)


def is_skill_name(text: str) -> bool:
    """Whether `text` may name a skill: 1-64 of `a-z0-9-`, no leading, trailing or double hyphen."""
    return len(text) <= NAME_LENGTH and _NAME.fullmatch(text) is not None


def proposed_name(text: str) -> str:
    """Return the legal name nearest to `text`, or `` if nothing of it is left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_LENGTH].rstrip("-")
