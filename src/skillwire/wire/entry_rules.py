"""Which URIs, names and paths an entry of somebody's server may have, in any dialect (H4, H7)."""

import re
from collections.abc import Iterator
from typing import Any, TypeGuard
from urllib.parse import unquote

from skillwire.model.display import quoted
from skillwire.model.name import NAME_RULE, is_skill_name
from skillwire.model.uri import SKILL_FILE
from skillwire.wire.findings import Fault, Finding
from skillwire.wire.weight import weight

MAX_URI = 4096
MAX_FRONTMATTER = 256 * 1024
"""Bytes. A document that says as much in YAML is read by nobody."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_uri_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= MAX_URI


def scheme_faults(uri: str) -> Iterator[Finding]:
    scheme = _SCHEME.match(uri)
    if scheme is None:
        yield Finding(uri, Fault.ENTRY_URI, "the `uri` has no scheme")
    elif scheme[1].lower() == "file":  # it would be read on this machine (H4)
        yield Finding(uri, Fault.ENTRY_URI, "the `uri` has the scheme `file:`, which no server may use")


def uri_faults(uri: str) -> Iterator[Finding]:
    yield from scheme_faults(uri)
    if not uri.endswith(f"/{SKILL_FILE}"):
        yield Finding(uri, Fault.ENTRY_URI, f"the `uri` does not end in `/{SKILL_FILE}`")


def name_faults(uri: str, name: object) -> Iterator[Finding]:
    """Yield why `name` is not that of the skill whose document is at `uri`."""
    if not isinstance(name, str) or not is_skill_name(name):
        yield Finding(uri, Fault.ENTRY_NAME, f"the name {quoted(str(name))} is not {NAME_RULE}")
    elif unquote(uri.removesuffix(f"/{SKILL_FILE}").rpartition("/")[2]) != name:
        yield Finding(uri, Fault.ENTRY_NAME, f"the last part of its path is not its name, {quoted(name)}")


def frontmatter_faults(uri: str, frontmatter: object) -> Iterator[Finding]:
    if not is_object(frontmatter):
        yield Finding(uri, Fault.ENTRY_SHAPE, "the `frontmatter` is not an object")
        return
    if weight(frontmatter, MAX_FRONTMATTER) > MAX_FRONTMATTER:  # (H25)
        told = f"its frontmatter has more than {MAX_FRONTMATTER:,} bytes"
        yield Finding(uri, Fault.ENTRY_LIMITS, told)
    yield from name_faults(uri, frontmatter.get("name"))
    if not isinstance(frontmatter.get("description"), str):
        yield Finding(uri, Fault.ENTRY_DESCRIPTION, "the `description` is not a text")


def path_fault(path: str) -> str | None:
    """Return why a path below the skill's folder leads elsewhere, also once it is decoded (H7, H19)."""
    if len(path) > MAX_URI:
        return "has a path of unreasonable length"
    decoded = unquote(path)
    if any(segment in {"", ".", ".."} for segment in decoded.split("/")):
        return "is not in the skill's folder"
    if "\\" in decoded or "\0" in decoded:
        return "has a character in its path that no file has"
    return None
