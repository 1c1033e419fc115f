"""Which version a skill is published as, and what a version may look like."""

import re
from collections.abc import Mapping

from skillwire.core.record import Digest, Json
from skillwire.errors import InvalidValueError

MAX_VERSION_LENGTH = 64
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]*", re.ASCII)
_RULE = (
    f"1-{MAX_VERSION_LENGTH} letters, digits, dots, hyphens, underscores and plus signs, "
    "the first of them a letter or digit"
)
_CONTRACT_BLOCKS = ("x-skillwire", "x-personal-mcp")
_DIGEST_DIGITS = 12


def check_version(version: str, field: str = "the version") -> str:
    """Return `version`, or raise `InvalidValueError` if it is not one. It is one segment of a URI."""
    if len(version) > MAX_VERSION_LENGTH or _VERSION.fullmatch(version) is None:
        raise InvalidValueError(field, version, _RULE)
    return version


def version_of(frontmatter: Mapping[str, Json], content: Digest) -> str:
    """Return the version that a skill declares, else one that its content determines.

    The version is in the contract's metadata block, else in `metadata`. Raises `InvalidValueError` for a
    version that is no text, because `1.10` without quotes is the number 1.1.
    """
    for key in (*_CONTRACT_BLOCKS, "metadata"):
        block = frontmatter.get(key)
        if isinstance(block, dict) and (version := block.get("version")) is not None:
            if not isinstance(version, str):
                field, fix = f"`{key}.version`", f'write `version: "{version}"`, or use `--version`'
                raise InvalidValueError(field, str(version), "is not text", fix)
            return check_version(version.strip(), f"`{key}.version`")
    return f"0.0.0-{content.raw.hex()[:_DIGEST_DIGITS]}"
