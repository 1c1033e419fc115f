"""Semantic Versioning 2.0.0, by its own grammar."""

import re

# A numeric identifier has no leading zero, also in a pre-release; build metadata may have any.
_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRE = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = r"[0-9A-Za-z-]+"
PATTERN = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE}(?:\.{_PRE})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?"

_VERSION = re.compile(PATTERN)
_ALMOST = re.compile(r"[vV]?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?")


def is_semver(text: str) -> bool:
    """Whether `text` is a version by SemVer 2.0.0."""
    return _VERSION.fullmatch(text) is not None


def proposed_version(text: str) -> str:
    """Return the version that `text` most likely means."""
    if (found := _ALMOST.match(text)) is None:
        return "1.0.0"
    # Digits are copied without leading zeros, never through `int`: they may be very many.
    return ".".join((part or "0").lstrip("0") or "0" for part in found.groups())
