"""What a server claims about its skills, in every dialect, and how entries are checked (H4-H8)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeGuard, cast
from urllib.parse import unquote

from skillwire.core.json_text import weight
from skillwire.core.names import NAME_RULE, SKILL_FILE, collision_key, is_skill_name
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Digest, Json, Limits
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.findings import server_problem
from skillwire.safe_text import quoted

MAX_URI = 4096
MAX_FRONTMATTER = 256 * 1024
"""Maximum memory for a frontmatter, estimated in bytes."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
DYNAMIC = "dynamic"
_MISSING = object()


class Dialect(StrEnum):
    """The form in which a server lists a skill."""

    FINAL = "final"
    """The extension in its final form: `skills/list` and `skills/get`, with the digest and size of every
    file.
    """
    DRAFT_C = "draft-c"
    """August 2026: `skills/list` and `skills/get`, with digests and optional sizes.

    An entry has no `resources` if the skill's content is generated when it is read.
    """
    DRAFT_B = "draft-b"
    """June 2026: the resource `skill://index.json`, with the frontmatter of each skill."""
    DRAFT_A = "draft-a"
    """April 2026: the resource `skill://index.json`, with a name and description of each skill."""
    MANIFEST = "manifest"
    """FastMCP before the extension: a resource `_manifest` in each skill's folder."""
    SCAN = "scan"
    """No index: `resources/list` contains the files `…/SKILL.md`."""
    OLD_URIS = "old-uris"
    """Skilljack before the extension: `skill://name` is the `SKILL.md`, and `skill://name/` all other files.
    """

    @property
    def has_methods(self) -> bool:
        """Whether the dialect has `skills/list` and `skills/get`."""
        return self in {Dialect.FINAL, Dialect.DRAFT_C}

    @property
    def has_full_frontmatter(self) -> bool:
        """Whether the dialect lists every frontmatter field, not only a name and a description."""
        return self in {Dialect.FINAL, Dialect.DRAFT_C, Dialect.DRAFT_B}


class Integrity(StrEnum):
    """How much of a skill is bound to digests."""

    FULL = "full"
    """Every file has a digest."""
    PART = "part"
    """Only the `SKILL.md` or the archive has a digest."""
    NONE = "none"


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_uri_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= MAX_URI


def scheme_faults(uri: str) -> Iterator[Problem]:
    scheme = _SCHEME.match(uri)
    if scheme is None:
        yield server_problem(uri, Rule.ENTRY_URI, "the `uri` has no scheme")
    elif scheme[1].lower() == "file":  # it would refer to a local file (H4)
        yield server_problem(uri, Rule.ENTRY_URI, "the `uri` has the scheme `file:`, which no server may use")


def uri_faults(uri: str) -> Iterator[Problem]:
    yield from scheme_faults(uri)
    if not uri.endswith(f"/{SKILL_FILE}"):
        yield server_problem(uri, Rule.ENTRY_URI, f"the `uri` does not end in `/{SKILL_FILE}`")


def name_faults(uri: str, name: object) -> Iterator[Problem]:
    """Yield why `name` is not the name of the skill whose `SKILL.md` is at `uri`."""
    if not isinstance(name, str) or not is_skill_name(name):
        yield server_problem(uri, Rule.ENTRY_NAME, f"the name {quoted(str(name))} is not {NAME_RULE}")
    elif unquote(uri.removesuffix(f"/{SKILL_FILE}").rpartition("/")[2]) != name:
        yield server_problem(
            uri, Rule.ENTRY_NAME, f"the last segment of its path is not its name, {quoted(name)}"
        )


def frontmatter_faults(uri: str, frontmatter: object) -> Iterator[Problem]:
    if not is_object(frontmatter):
        yield server_problem(uri, Rule.ENTRY_SHAPE, "the `frontmatter` is not an object")
        return
    if weight(frontmatter, MAX_FRONTMATTER) > MAX_FRONTMATTER:  # (H25)
        message = f"its frontmatter has more than {MAX_FRONTMATTER:,} bytes"
        yield server_problem(uri, Rule.ENTRY_LIMITS, message)
    yield from name_faults(uri, frontmatter.get("name"))
    if not isinstance(frontmatter.get("description"), str):
        yield server_problem(uri, Rule.ENTRY_DESCRIPTION, "the `description` is not text")


def path_fault(path: str) -> str | None:
    """Return why a path, decoded or not, leads out of the skill's folder, or None (H7, H19)."""
    if len(path) > MAX_URI:
        return "has a path that is too long"
    decoded = unquote(path)
    if any(segment in {"", ".", ".."} for segment in decoded.split("/")):
        return "is not in the skill's folder"
    if "\\" in decoded or "\0" in decoded:
        return "has a backslash or NUL in its path"
    return None


@dataclass(frozen=True, slots=True)
class FileClaim:
    """A file that an entry lists."""

    uri: str
    digest: Digest
    size: int | None
    """The size in bytes. None if an entry of draft C has no size; received bytes are counted instead."""
    executable: bool = False
    """Whether the file comes from an archive that marks it as executable. Approvals do not depend on this."""


@dataclass(frozen=True, slots=True)
class DeliveryClaim:
    """Where to read a skill whose files are not listed: its `SKILL.md`, or an archive of all its files."""

    uri: str
    """The URI to read."""
    digest: Digest | None = None
    form: ArchiveFormat | None = None
    """The archive format; None for a `SKILL.md`."""


class ListedSkill(Protocol):
    """The properties of a listed skill that are known before its files are read."""

    @property
    def uri(self) -> str: ...

    @property
    def root(self) -> str: ...

    @property
    def frontmatter(self) -> Mapping[str, Json]: ...

    @property
    def files(self) -> tuple[FileClaim, ...] | None: ...

    @property
    def main(self) -> FileClaim | None: ...

    @property
    def deliveries(self) -> tuple[DeliveryClaim, ...]: ...

    @property
    def archive(self) -> DeliveryClaim | None: ...


@dataclass(frozen=True, slots=True)
class SkillClaim:
    """The checked description that a server gives of one skill.

    If it lists no files, each file becomes known when it is read.
    """

    uri: str
    frontmatter: Mapping[str, Json]
    """Every frontmatter field, or only the fields that the dialect lists."""
    files: tuple[FileClaim, ...] | None
    """The listed files.

    None if content is generated when it is read, and in dialects that do not list files.
    """
    dialect: Dialect = Dialect.FINAL
    deliveries: tuple[DeliveryClaim, ...] = ()
    """How to read the skill, in dialects that do not list files."""
    archive: DeliveryClaim | None = None
    """The archive that `files` and `frontmatter` were derived from, if any. Every file is read from it."""

    @property
    def name(self) -> str:
        return str(self.frontmatter["name"])

    @property
    def description(self) -> str:
        return str(self.frontmatter.get("description", ""))

    @property
    def root(self) -> str:
        """The URI of the skill's folder."""
        return self.uri.removesuffix(f"/{SKILL_FILE}")

    @property
    def main(self) -> FileClaim | None:
        """The claim for `SKILL.md`; None if it is not listed."""
        return next((file for file in self.files or () if file.uri == self.uri), None)

    @property
    def document(self) -> DeliveryClaim | None:
        """The delivery of `SKILL.md` alone; None if there is none."""
        return next((each for each in self.deliveries if each.form is None), None)

    @property
    def archives(self) -> tuple[DeliveryClaim, ...]:
        return tuple(each for each in self.deliveries if each.form is not None)

    @property
    def is_packed(self) -> bool:
        """Whether the skill's files are unknown until an archive with a digest is unpacked."""
        return is_packed(self)

    @property
    def has_whole_frontmatter(self) -> bool:
        """Whether `frontmatter` has every field of its `SKILL.md`."""
        return self.archive is not None or self.dialect.has_full_frontmatter

    @property
    def integrity(self) -> Integrity:
        if self.files is not None:
            return Integrity.FULL
        return Integrity.PART if any(each.digest for each in self.deliveries) else Integrity.NONE

    @property
    def lasting(self) -> bool:
        """Whether an approval can be bound to the content, and so outlast a session (H17)."""
        return self.integrity is Integrity.FULL or self.is_packed

    @property
    def sized(self) -> bool:
        """Whether all sizes are known before the skill is read (H8)."""
        return self.files is not None and all(file.size is not None for file in self.files)


def is_packed(skill: ListedSkill) -> bool:
    """Return whether the files of a skill are unknown until an archive with a digest is unpacked."""
    return skill.files is None and verifiable_archive(skill) is not None


def verifiable_archive(skill: ListedSkill) -> DeliveryClaim | None:
    """Return the first archive with a digest, or None if there is none."""
    return next((each for each in skill.deliveries if each.form and each.digest), None)


def parse_entry(
    value: object, limits: Limits | None = None, dialect: Dialect = Dialect.FINAL
) -> SkillClaim | list[Problem]:
    """Return the skill in an entry, or all its problems. Never raises.

    `dialect` is `FINAL` or `DRAFT_C`.
    """
    if not is_object(value):
        return [server_problem("skills", Rule.ENTRY_SHAPE, "an entry is not an object")]
    uri = value.get("uri")
    if not is_uri_text(uri):
        return [
            server_problem(
                "skills", Rule.ENTRY_URI, "the `uri` of an entry is missing, not text, or too long"
            )
        ]
    frontmatter = value.get("frontmatter")
    found = [*uri_faults(uri), *frontmatter_faults(uri, frontmatter)]
    files = _files(uri, value.get("resources", _MISSING), limits or Limits(), dialect)
    if isinstance(files, list):
        found += files
    if found or isinstance(files, list):
        return found
    return SkillClaim(uri, cast("Mapping[str, Json]", frontmatter), files, dialect)


def _files(
    uri: str, resources: object, limits: Limits, dialect: Dialect
) -> "tuple[FileClaim, ...] | list[Problem] | None":
    if resources is _MISSING:
        missing = [server_problem(uri, Rule.ENTRY_RESOURCES, "it has no `resources`")]  # (H6)
        return None if dialect is Dialect.DRAFT_C else missing
    if resources == DYNAMIC:
        return None
    if not isinstance(resources, list):
        return [server_problem(uri, Rule.ENTRY_RESOURCES, f"`resources` is neither a list nor `{DYNAMIC}`")]
    items = cast("Sequence[object]", resources)
    return check_files(uri, (_file(uri, item, dialect) for item in items), len(items), limits)


def check_files(
    uri: str, parsed: "Iterator[FileClaim | Problem]", count: int, limits: Limits
) -> "tuple[FileClaim, ...] | list[Problem]":
    """Return the files of a skill, or the problems with single files and with all files together (H7, H8)."""
    if count > limits.files:
        return [
            server_problem(uri, Rule.ENTRY_LIMITS, f"it has {count:,} files; the limit is {limits.files:,}")
        ]
    results = list(parsed)
    found = [each for each in results if isinstance(each, Problem)]
    files = tuple(each for each in results if isinstance(each, FileClaim))
    found += _set_faults(uri, files, limits)
    return found or files


def _file(uri: str, item: object, dialect: Dialect) -> FileClaim | Problem:
    if not is_object(item):
        return server_problem(uri, Rule.ENTRY_RESOURCES, "an item of `resources` is not an object")
    name = item.get("uri")
    if not isinstance(name, str) or not name.startswith(f"{uri.removesuffix(SKILL_FILE)}"):
        return server_problem(
            uri, Rule.ENTRY_RESOURCES, f"the file {quoted(str(name))} is not in the skill's folder"
        )
    has_size = "size" in item or dialect is not Dialect.DRAFT_C
    return parse_file(uri, name, item.get("digest"), item.get("size"), sized=has_size)


def parse_file(
    uri: str, name: str, digest: object, size: object, *, sized: bool = True
) -> FileClaim | Problem:
    """Return the file at the URI `name`, in the folder of the skill at `uri`, or its problem.

    Without `sized`, the size is ignored.
    """
    if fault := path_fault(name.removeprefix(uri.removesuffix(SKILL_FILE))):
        return server_problem(uri, Rule.ENTRY_RESOURCES, f"the file {quoted(name)} {fault}")
    parsed = Digest.parse(digest) if isinstance(digest, str) else None
    if parsed is None:
        return server_problem(
            uri, Rule.ENTRY_RESOURCES, f"the digest of {quoted(name)} is not `sha256:` and 64 hex digits"
        )
    if not sized:
        return FileClaim(name, parsed, None)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        return server_problem(uri, Rule.ENTRY_RESOURCES, f"the size of {quoted(name)} is not a whole number")
    return FileClaim(name, parsed, size)


def _set_faults(uri: str, files: Sequence[FileClaim], limits: Limits) -> Iterator[Problem]:
    if all(file.uri != uri for file in files):
        yield server_problem(uri, Rule.ENTRY_RESOURCES, f"its own `{SKILL_FILE}` is not among its files")
    seen: dict[str, str] = {}
    for file in files:
        key = collision_key(unquote(file.uri))
        if key in seen:
            message = f"the files {quoted(seen[key])} and {quoted(file.uri)} are the same on some systems"
            yield server_problem(uri, Rule.ENTRY_RESOURCES, message)
        seen.setdefault(key, file.uri)
    if (total := sum(file.size or 0 for file in files)) > limits.bytes:
        message = f"its files have {total:,} bytes; the limit is {limits.bytes:,}"
        yield server_problem(uri, Rule.ENTRY_LIMITS, message)
