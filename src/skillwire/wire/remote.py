"""Entries that somebody else's server sent: parsed one by one, believed in nothing (H4-H8)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast
from urllib.parse import unquote

from skillwire.model.digest import Digest
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.limits import Limits
from skillwire.model.name import NAME_RULE, is_skill_name
from skillwire.model.path import folded
from skillwire.model.uri import SKILL_FILE
from skillwire.wire.findings import Fault, Finding

DYNAMIC = "dynamic"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_MAX_URI = 4096


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that an entry promises."""

    uri: str
    digest: Digest
    size: int


@dataclass(frozen=True, slots=True)
class RemoteSkill:
    """An entry without a fault: its files are known, or it is dynamic."""

    uri: str
    frontmatter: Mapping[str, Json]
    files: tuple[RemoteFile, ...] | None
    """None for content that is made when it is read."""

    @property
    def name(self) -> str:
        return str(self.frontmatter["name"])

    @property
    def description(self) -> str:
        return str(self.frontmatter.get("description", ""))

    @property
    def root(self) -> str:
        """The URI of its folder."""
        return self.uri.removesuffix(f"/{SKILL_FILE}")

    @property
    def main(self) -> RemoteFile | None:
        """Its `SKILL.md`, if that is promised."""
        return next((file for file in self.files or () if file.uri == self.uri), None)


def parse_entry(value: object, limits: Limits | None = None) -> RemoteSkill | list[Finding]:
    """Return the skill in an entry, or everything that is wrong with it. Never raises."""
    if not _is_object(value):
        return [Finding("skills", Fault.ENTRY_SHAPE, "an entry is not an object")]
    uri = value.get("uri")
    if not isinstance(uri, str) or not 0 < len(uri) <= _MAX_URI:
        return [
            Finding("skills", Fault.ENTRY_URI, "an entry has no `uri` that is a text of reasonable length")
        ]
    frontmatter = value.get("frontmatter")
    found = [*_uri_faults(uri), *_frontmatter_faults(uri, frontmatter)]
    files = _files(uri, value.get("resources", _MISSING), limits or Limits())
    if isinstance(files, list):
        found += files
    if found or isinstance(files, list):
        return found
    return RemoteSkill(uri, cast("Mapping[str, Json]", frontmatter), files)


_MISSING = object()


def _uri_faults(uri: str) -> Iterator[Finding]:
    scheme = _SCHEME.match(uri)
    if scheme is None:
        yield Finding(uri, Fault.ENTRY_URI, "the `uri` has no scheme")
    elif scheme[1].lower() == "file":  # it would be read on this machine (H4)
        yield Finding(uri, Fault.ENTRY_URI, "the `uri` has the scheme `file:`, which no server may use")
    if not uri.endswith(f"/{SKILL_FILE}"):
        yield Finding(uri, Fault.ENTRY_URI, f"the `uri` does not end in `/{SKILL_FILE}`")


def _frontmatter_faults(uri: str, frontmatter: object) -> Iterator[Finding]:
    if not _is_object(frontmatter):
        yield Finding(uri, Fault.ENTRY_SHAPE, "the `frontmatter` is not an object")
        return
    name = frontmatter.get("name")
    if not isinstance(name, str) or not is_skill_name(name):
        yield Finding(uri, Fault.ENTRY_NAME, f"the name {quoted(str(name))} is not {NAME_RULE}")
    elif unquote(uri.removesuffix(f"/{SKILL_FILE}").rpartition("/")[2]) != name:
        yield Finding(uri, Fault.ENTRY_NAME, f"the last part of its path is not its name, {quoted(name)}")
    if not isinstance(frontmatter.get("description"), str):
        yield Finding(uri, Fault.ENTRY_DESCRIPTION, "the `description` is not a text")


def _files(uri: str, resources: object, limits: Limits) -> "tuple[RemoteFile, ...] | list[Finding] | None":
    if resources is _MISSING:
        return [Finding(uri, Fault.ENTRY_RESOURCES, "there is no `resources`")]
    if resources == DYNAMIC:
        return None
    if not isinstance(resources, list):
        return [Finding(uri, Fault.ENTRY_RESOURCES, f"`resources` is neither a list nor `{DYNAMIC}`")]
    items = cast("Sequence[object]", resources)
    if len(items) > limits.files:
        told = f"it has {len(items):,} files; the limit is {limits.files:,}"
        return [Finding(uri, Fault.ENTRY_LIMITS, told)]
    parsed = [_file(uri, item) for item in items]
    found = [each for each in parsed if isinstance(each, Finding)]
    files = tuple(each for each in parsed if isinstance(each, RemoteFile))
    found += _set_faults(uri, files, limits)
    return found or files


def _file(uri: str, item: object) -> RemoteFile | Finding:
    if not _is_object(item):
        return Finding(uri, Fault.ENTRY_RESOURCES, "an item of `resources` is not an object")
    name, digest, size = item.get("uri"), item.get("digest"), item.get("size")
    if not isinstance(name, str) or not name.startswith(f"{uri.removesuffix(SKILL_FILE)}"):
        return Finding(
            uri, Fault.ENTRY_RESOURCES, f"the file {quoted(str(name))} is not in the skill's folder"
        )
    if fault := _path_fault(name.removeprefix(uri.removesuffix(SKILL_FILE))):
        return Finding(uri, Fault.ENTRY_RESOURCES, f"the file {quoted(name)} {fault}")
    parsed = Digest.parse(digest) if isinstance(digest, str) else None
    if parsed is None:
        return Finding(
            uri, Fault.ENTRY_RESOURCES, f"the digest of {quoted(name)} is not `sha256:` and 64 hex digits"
        )
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        return Finding(uri, Fault.ENTRY_RESOURCES, f"the size of {quoted(name)} is not a whole number")
    return RemoteFile(name, parsed, size)


def _path_fault(path: str) -> str | None:
    """Return why a path below the skill's folder leads elsewhere, also once it is decoded (H7, H19)."""
    if len(path) > _MAX_URI:
        return "has a path of unreasonable length"
    decoded = unquote(path)
    if any(segment in {"", ".", ".."} for segment in decoded.split("/")):
        return "is not in the skill's folder"
    if "\\" in decoded or "\0" in decoded:
        return "has a character in its path that no file has"
    return None


def _set_faults(uri: str, files: Sequence[RemoteFile], limits: Limits) -> Iterator[Finding]:
    if all(file.uri != uri for file in files):
        yield Finding(uri, Fault.ENTRY_RESOURCES, f"its own `{SKILL_FILE}` is not among its files")
    seen: dict[str, str] = {}
    for file in files:
        key = folded(unquote(file.uri))
        if key in seen:
            told = (
                f"the files {quoted(seen[key])} and {quoted(file.uri)} cannot be told apart on every machine"
            )
            yield Finding(uri, Fault.ENTRY_RESOURCES, told)
        seen.setdefault(key, file.uri)
    if (total := sum(file.size for file in files)) > limits.bytes:
        told = f"its files have {total:,} bytes; the limit is {limits.bytes:,}"
        yield Finding(uri, Fault.ENTRY_LIMITS, told)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)
