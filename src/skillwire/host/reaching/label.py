"""What a host calls the places that skills come from. Nothing that a server says of itself counts (H9)."""

import re

from skillwire.model.errors import InvalidValueError

LABEL_LENGTH = 64
LABEL_RULE = "1-64 letters, digits, dots, underscores and hyphens, the first a letter or digit"
"""So that a label is also a name for a folder, and the first part of a `skill://` URI."""

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


def is_label(text: str) -> bool:
    return len(text) <= LABEL_LENGTH and _LABEL.fullmatch(text) is not None


def checked_label(text: str) -> str:
    """Return `text` if it is a label. Raises `InvalidValueError`."""
    if not is_label(text):
        raise InvalidValueError("label", text, LABEL_RULE)
    return text
