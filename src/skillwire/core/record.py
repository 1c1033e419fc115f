"""The record of a skill without its bytes: files, digests, origin and trust. Also the limits for skills."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self, TypeAlias

from skillwire.core.conformance import Nonconformity, nonconformities
from skillwire.core.names import (
    NAME_RULE,
    SCHEME,
    SKILL_FILE,
    file_uri,
    is_plain_path,
    is_skill_name,
    root_uri,
)
from skillwire.core.problem import Problem
from skillwire.errors import IntegrityError, InvalidValueError
from skillwire.safe_text import strip_invisible

_PREFIX = "sha256:"
_DIGEST_PATTERN = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
DIGEST_LENGTH = 32
"""Number of bytes in a digest."""
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
"""A JSON value. Values in a catalog are shared: never modify them."""
_MAIN = f"/{SKILL_FILE}"
MAX_WHEN_TO_USE = 1024
"""Maximum number of characters of the field `when_to_use` that are shown, the same as of a description."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one skill (S10), and for the search for skills in one source."""

    files: int = 512
    """Maximum number of files in one skill, including `SKILL.md`."""
    bytes: int = 16 * 1024 * 1024
    """Maximum size of all files of one skill together, in bytes."""
    depth: int = 32
    """Maximum depth of folders below the root of a source."""
    entries: int = 1_000_000
    """Maximum number of files and folders that are examined below the root of a source."""


@dataclass(frozen=True, slots=True, order=True, init=False)
class Digest:
    """A SHA-256 digest, written as `sha256:` and 64 lowercase hex digits (S8)."""

    raw: bytes
    """The binary form. It takes half the memory of the text, because a catalog may have very many digests."""

    def __init__(self, text: str) -> None:
        if not _DIGEST_PATTERN.fullmatch(text):
            raise InvalidValueError("digest", text, "`sha256:` and 64 lower-case hex digits")
        object.__setattr__(self, "raw", bytes.fromhex(text[len(_PREFIX) :]))

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Compute the digest of `content`."""
        return cls.from_raw(hashlib.sha256(content).digest())

    @classmethod
    def from_raw(cls, raw: bytes) -> Self:
        """Return the digest with these 32 bytes. Raises `InvalidValueError` for another number of bytes."""
        if len(raw) != DIGEST_LENGTH:
            raise InvalidValueError("digest", raw.hex(), f"{DIGEST_LENGTH} bytes")
        digest = object.__new__(cls)
        object.__setattr__(digest, "raw", raw)
        return digest

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse a digest. Return None if `text` is not a digest."""
        return cls(text) if _DIGEST_PATTERN.fullmatch(text) else None

    @property
    def text(self) -> str:
        return _PREFIX + self.raw.hex()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, order=True)
class SkillFile:
    """One file of a skill, without its bytes."""

    path: str
    """The path relative to the skill's folder, separated by `/`."""
    mime_type: str
    digest: Digest
    size: int
    executable: bool = False
    """Whether the file is executable. False if the source does not know. Sent to clients only in archives."""

    def verify(self, content: bytes, uri: str) -> bytes:
        """Return `content`, or raise `IntegrityError` if it does not have the listed digest."""
        if not self.matches(content):
            raise IntegrityError(uri, expected=self.digest, found=Digest.of(content))
        return content

    def matches(self, content: bytes) -> bool:
        """Return whether `content` has the listed digest."""
        return hashlib.sha256(content).digest() == self.digest.raw


@dataclass(frozen=True, slots=True, order=True)
class LiveFile:
    """One file of a dynamic skill. Its content is generated when it is read, so it has no digest (S9)."""

    path: str
    mime_type: str
    revision: int = 0
    """Changes whenever the content may have changed. Clients are notified of each change."""

    def verify(self, content: bytes, uri: str) -> bytes:  # noqa: ARG002 - same signature as in `SkillFile`
        """Return `content` unchecked: a live file has no digest."""
        return content


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a skill comes from. The entry of a skill in `skills/list` does not contain its origin."""

    source: str
    """The label of the source."""
    location: str
    """Where the source has the skill: a folder, the skill's URI on its server, or a path in the source."""
    path: str
    """The path of the skill's `SKILL.md` that problems show, relative to the root of the source."""
    foreign: bool = False
    """Whether the skill comes from another operator's server.

    If so, hosts mark its text with the server's label and escape its description (H20, H27).
    """


class Trust(StrEnum):
    """Whether a skill may be shown to models and people.

    Skillwire sets the trust, and ignores what servers send about it. `Origin.foreign` tells whether the skill
    comes from another operator's server. Such a skill stays foreign even if it is approved or the operator
    trusts the server. The trust is as old as the last scan. So before each read, a host checks the approval
    store instead (H15).
    """

    OWN = "own"
    """The source belongs to the operator or user, or is a server that they trust as a whole."""
    APPROVED = "approved"
    """The user approved exactly this content from the server with this label (H17)."""
    WITHHELD = "withheld"
    """No one approved the skill, or the approval is no longer valid."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why a skill is hidden from models and people, and how to make it available. For messages to people."""

    reason: str
    hint: str


def when_to_use(frontmatter: Mapping[str, Json]) -> str:
    """Return Claude Code's field `when_to_use` on one line, cut to `MAX_WHEN_TO_USE` characters.

    Return an empty string if the field is missing or is not text.

    Like a description, this text reaches models before an approval (H27).
    """
    found = frontmatter.get("when_to_use")
    return strip_invisible(found, MAX_WHEN_TO_USE) if isinstance(found, str) else ""


@dataclass(frozen=True, slots=True)
class SkillRecord:
    """One skill without its bytes.

    Its identity is the URI of its `SKILL.md`; its name is only a label (S17).
    """

    uri: str
    frontmatter: Mapping[str, Json]
    """The whole YAML mapping, unfiltered (S7)."""
    files: tuple[SkillFile | LiveFile, ...]
    """Every file, `SKILL.md` first (S8). Either all files or none are live.

    A skill with live files is dynamic (S9).
    """
    directories: tuple[str, ...]
    """Every folder below the skill's folder, including empty folders (S15)."""
    origin: Origin
    problems: tuple[Problem, ...] = ()
    """Warnings for the author. The skill is still served."""
    label: str = ""
    """The name of a skill whose `SKILL.md` has no frontmatter.

    Such a skill is served as a resource, but is not listed as a skill.
    """
    shown_as: str | None = None
    """The description for people and models, if the author set one that differs from the `SKILL.md`."""
    trust: Trust = field(kw_only=True)
    """Whether the skill may be shown to models and people.

    There is no default, so the creator of a record must decide.
    """
    withheld: Withheld | None = None
    """Why the skill is withheld. Set if and only if `trust` is `WITHHELD`."""
    nonconformities: tuple[Nonconformity, ...] = field(init=False, repr=False, compare=False)
    """Why strict clients refuse a list with this skill. Computed from other fields; empty unless `listed`."""

    def __post_init__(self) -> None:
        name = self.name
        if not is_skill_name(name):
            raise InvalidValueError("name", name, NAME_RULE)
        if not self.uri.endswith(f"/{name}{_MAIN}"):
            raise InvalidValueError("uri", self.uri, f"a URI that ends in `/{name}{_MAIN}`")
        if not self.files or self.files[0].path != SKILL_FILE:
            raise InvalidValueError("files", self.uri, f"a list of files that starts with `{SKILL_FILE}`")
        if len(self.files) > 1 and len({type(file) for file in self.files}) > 1:
            raise InvalidValueError("files", self.uri, "a list of files of one kind")
        if (self.trust is Trust.WITHHELD) != (self.withheld is not None):
            raise InvalidValueError("trust", self.trust, "`withheld` with a reason, or else without one")
        object.__setattr__(self, "nonconformities", self._find_nonconformities())

    def _find_nonconformities(self) -> tuple[Nonconformity, ...]:
        if not self.listed:
            return ()
        named = () if self.dynamic else [file.path for file in self.files]
        return nonconformities(self.frontmatter, named)

    @property
    def name(self) -> str:
        return str(self.frontmatter.get("name", self.label))

    @property
    def description(self) -> str:
        return str(self.frontmatter.get("description", ""))

    @property
    def shown_description(self) -> str:
        """The description for people and models: `shown_as` if it is set, else `description`."""
        return self.description if self.shown_as is None else self.shown_as

    @property
    def when_to_use(self) -> str:
        """The frontmatter field `when_to_use` on one line; empty if it is missing or is not text."""
        return when_to_use(self.frontmatter)

    @property
    def listed(self) -> bool:
        """Whether the record is a skill for the extension: its frontmatter has a `name` (S7)."""
        return "name" in self.frontmatter

    @property
    def root(self) -> str:
        """The URI of the skill's folder."""
        return self.uri.removesuffix(_MAIN)

    @property
    def path(self) -> str:
        """The URI of the skill's folder without `skill://`. It is unique in a catalog."""
        return self.root.removeprefix(SCHEME)

    @property
    def dynamic(self) -> bool:
        """Whether the content is generated when it is read, so that no digests are listed."""
        return isinstance(self.files[0], LiveFile)

    @property
    def executable(self) -> frozenset[str]:
        """The paths of the executable files; empty if the source does not know them."""
        return frozenset(file.path for file in self.files if isinstance(file, SkillFile) and file.executable)

    def uri_of(self, path: str) -> str:
        """Return the URI of the file or folder at `path` below the skill's folder."""
        return self.uri if path == SKILL_FILE else file_uri(self.root, path)

    def file_at(self, uri: str) -> SkillFile | LiveFile | None:
        """Return the file with this URI, or None if the skill has no such file.

        URIs are compared without decoding, because each file has exactly one URI. So rejecting a long URI
        takes no longer than rejecting a short one.
        """
        if not uri.startswith(folder := self.uri[: -len(SKILL_FILE)]):
            return None
        path = uri[len(folder) :]
        if is_plain_path(path):  # no other path has this URI, so no URI needs to be built
            for file in self.files:
                if file.path == path:
                    return file
            return None
        return next((file for file in self.files if self.uri_of(file.path) == uri), None)

    def children_at(self, uri: str) -> tuple[str, ...] | None:
        """Return the sorted URIs of the files and folders directly in a folder.

        Return None if the skill has no folder with the URI `uri`.
        """
        if uri != self.root and not uri.startswith(f"{self.root}/"):
            return None
        above = f"{uri}/"
        folders = [self.uri_of(path) for path in self.directories]
        inside = (*(self.uri_of(file.path) for file in self.files), *folders)
        children = {above + each[len(above) :].partition("/")[0] for each in inside if each.startswith(above)}
        return tuple(sorted(children)) if children or uri in folders else None

    def below(self, prefix: str) -> Self:
        """Return a copy of the record with the segment `prefix` before its path."""
        return replace(self, uri=f"{root_uri([prefix])}/{self.uri.removeprefix(SCHEME)}")
