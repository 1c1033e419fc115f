"""What a host calls the places that skills come from. Nothing that a server says of itself counts (H9)."""

import re
from collections.abc import Collection

from skillwire.model.errors import InvalidValueError

LABEL_LENGTH = 64
LABEL_RULE = "1-64 letters, digits, dots, underscores and hyphens, the first a letter or digit"
"""So that a label is also a name for a folder, and the first part of a `skill://` URI."""

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_OTHERS = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)


def is_label(text: str) -> bool:
    return len(text) <= LABEL_LENGTH and _LABEL.fullmatch(text) is not None


def checked_label(text: str) -> str:
    """Return `text` if it is a label. Raises `InvalidValueError`."""
    if not is_label(text):
        raise InvalidValueError("label", text, LABEL_RULE)
    return text


def fitting_label(text: str, taken: Collection[str] = ()) -> str:
    """Return the label nearest to a URL, a command, or a name from somebody's file, unlike those `taken`."""
    spoken = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://", "", text)
    slug = _OTHERS.sub("-", spoken).strip("._-")[:LABEL_LENGTH].rstrip("._-") or "server"
    label, number = slug, 1
    known = {each.casefold() for each in taken}  # there are file systems that see no difference
    while label.casefold() in known:
        number += 1
        label = f"{slug[: LABEL_LENGTH - len(str(number)) - 1]}-{number}"
    return label
