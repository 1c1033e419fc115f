"""Skill URIs: `skill://<skill-path>/<file-path>`, percent-encoded segment by segment (S4, S5)."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote

SCHEME = "skill://"
SKILL_FILE = "SKILL.md"

# RFC 3986. The first segment stands where a URI has its authority, so it must be a reg-name;
# the others may also hold `:` and `@`.
_REG_NAME = "!$&'()*+,;="
_SEGMENT = _REG_NAME + ":@"
_stands_as_it_is = re.compile(r"[A-Za-z0-9._~/-]*").fullmatch
"""Most paths need no encoding, and that is seen in a fraction of the time that encoding takes."""


def root_uri(skill_path: Iterable[str]) -> str:
    """Return the URI of a skill's folder, or of a folder above skills: no trailing slash (S5)."""
    first, *rest = skill_path = tuple(skill_path)
    if _stands_as_it_is(joined := "/".join(skill_path)) and joined.count("/") == len(rest):
        return SCHEME + joined  # as most do
    return "/".join([SCHEME + _quoted(first, _REG_NAME), *(_quoted(part, _SEGMENT) for part in rest)])


def file_uri(root: str, path: str) -> str:
    """Return the URI of the file or folder at `path` (relative, with `/`) below the folder `root`."""
    return f"{root}/{path if _stands_as_it_is(path) else quote(path, safe=_SEGMENT + '/')}"


def parent_uri(uri: str) -> str | None:
    """Return the URI of the folder that holds `uri`, or None where the namespace ends."""
    head, separator, _ = uri.removeprefix(SCHEME).rpartition("/")
    return SCHEME + head if separator else None


def parents(uri: str) -> Iterator[str]:
    """Yield the URIs of the folders above `uri`, nearest first."""
    end = uri.rfind("/", len(SCHEME))
    while end >= 0:
        yield uri[:end]
        end = uri.rfind("/", len(SCHEME), end)


def last_segment(uri: str) -> str:
    """Return what stands after the last slash, as a person would read it."""
    return unquote(uri.rpartition("/")[2])


def _quoted(segment: str, safe: str) -> str:
    return segment if "/" not in segment and _stands_as_it_is(segment) else quote(segment, safe=safe)
