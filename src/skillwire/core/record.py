"""The record of a skill: its files, digests, origin and trust, without the bytes."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self, TypeAlias

from skillwire.core.conformance import Nonconformity, nonconformities
from skillwire.core.names import NAME_RULE, SCHEME, SKILL_FILE, file_uri, is_skill_name, root_uri
from skillwire.core.problem import Problem
from skillwire.errors import IntegrityError, InvalidValueError

_PREFIX = "sha256:"
_DIGEST_PATTERN = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
DIGEST_LENGTH = 32
"""Bytes of a digest."""
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
"""A JSON value. Values in a catalogue are shared: never modify them."""
_MAIN = f"/{SKILL_FILE}"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one skill (S10) and on the search for skills in one source."""

    files: int = 512
    """Files of one skill, `SKILL.md` included."""
    bytes: int = 16 * 1024 * 1024
    """Bytes of one skill, all its files together."""
    depth: int = 32
    """Levels of folders below a root."""
    entries: int = 100_000
    """Files and folders examined below a root."""


@dataclass(frozen=True, slots=True, order=True, init=False)
class Digest:
    """A SHA-256 of raw bytes, written `sha256:` and 64 lower-case hex digits (S8)."""

    raw: bytes
    """The binary form, half as long as the text: there may be very many digests."""

    def __init__(self, text: str) -> None:
        if not _DIGEST_PATTERN.fullmatch(text):
            raise InvalidValueError("digest", text, "`sha256:` and 64 lower-case hex digits")
        object.__setattr__(self, "raw", bytes.fromhex(text[len(_PREFIX) :]))

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Return the digest of these bytes."""
        return cls.from_raw(hashlib.sha256(content).digest())

    @classmethod
    def from_raw(cls, raw: bytes) -> Self:
        """Return the digest for 32 raw bytes."""
        if len(raw) != DIGEST_LENGTH:
            raise InvalidValueError("digest", raw.hex(), f"{DIGEST_LENGTH} bytes")
        digest = object.__new__(cls)
        object.__setattr__(digest, "raw", raw)
        return digest

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the digest that `text` spells, or None if it is not a digest."""
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
    """Relative to the skill's folder, with `/`."""
    mime_type: str
    digest: Digest
    size: int
    executable: bool = False
    """Whether its owner may run it, if the source knows. Clients see it only in archives."""

    def verify(self, content: bytes, uri: str) -> bytes:
        """Return `content`, or raise `IntegrityError` if it does not have the listed digest."""
        if (found := Digest.of(content)) != self.digest:
            raise IntegrityError(uri, expected=self.digest, found=found)
        return content


@dataclass(frozen=True, slots=True, order=True)
class LiveFile:
    """One file of a dynamic skill. Its content is generated when it is read, so it has no digest (S9)."""

    path: str
    mime_type: str
    revision: int = 0
    """Changes whenever the content may have changed. Clients are then notified."""

    def verify(self, content: bytes, uri: str) -> bytes:  # noqa: ARG002 - the shape of `SkillFile`
        """Return `content` unchecked: a live file has no digest."""
        return content


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a skill came from. For people who run the server; never sent to a client."""

    source: str
    """The label of the source."""
    location: str
    """The folder, address or program that holds it."""
    path: str
    """Its `SKILL.md`, relative to the root of the source, as problems name it."""
    foreign: bool = False
    """Whether another operator's server wrote it.

    Hosts then frame its text and escape its description (H20, H27).
    """


class Trust(StrEnum):
    """Whether a skill may be shown to models and people. We decide it; nothing that a server sends sets it.

    It does not say who wrote the skill: `Origin.foreign` does. An approved skill of a server, or a skill of a
    server that the operator trusts, is still foreign. The value is as old as the last scan, so it never
    authorizes a read in a host, which checks the approval store each time (H15).
    """

    OWN = "own"
    """The source is the operator's or the person's own, or a server that they trust as a whole."""
    APPROVED = "approved"
    """A person approved exactly this content under this label (H17)."""
    WITHHELD = "withheld"
    """No one approved it, or the approval is no longer valid."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why a skill is withheld, and what to do about it. Shown to people."""

    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class SkillRecord:
    """One skill. The URI of its `SKILL.md` is its identity; its name is a label (S17)."""

    uri: str
    frontmatter: Mapping[str, Json]
    """The whole YAML mapping, unfiltered (S7)."""
    files: tuple[SkillFile | LiveFile, ...]
    """Every file, `SKILL.md` first (S8). All of one kind: live files make the skill dynamic (S9)."""
    directories: tuple[str, ...]
    """Every folder below the skill's own, empty ones too (S15)."""
    origin: Origin
    problems: tuple[Problem, ...] = ()
    """Warnings: what its author should fix. The skill is served."""
    label: str = ""
    """The name if the document has no frontmatter.

    Such a skill is a resource and is not listed as a skill.
    """
    shown_as: str | None = None
    """The description for people and models, if the author set one that differs from the document."""
    trust: Trust = field(kw_only=True)
    """Whether it may be shown to models and people. There is no default: the creator of a record decides."""
    withheld: Withheld | None = None
    """Why it is withheld. Set if and only if `trust` is `WITHHELD`."""
    nonconformities: tuple[Nonconformity, ...] = field(init=False, repr=False, compare=False)
    """Why strict clients refuse a list with this skill. Computed from the fields above."""

    def __post_init__(self) -> None:
        name = self.name
        if not is_skill_name(name):
            raise InvalidValueError("name", name, NAME_RULE)
        if not self.uri.endswith(f"/{name}{_MAIN}"):
            raise InvalidValueError("uri", self.uri, f"a URI that ends in `/{name}{_MAIN}`")
        if not self.files or self.files[0].path != SKILL_FILE:
            raise InvalidValueError("files", self.uri, f"a list of files that starts with `{SKILL_FILE}`")
        if len({type(file) for file in self.files}) > 1:
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
        """The description in prompts and lists of skills. Its entry and its resource use `description`."""
        return self.description if self.shown_as is None else self.shown_as

    @property
    def listed(self) -> bool:
        """Whether it is a skill according to the extension (S7)."""
        return "name" in self.frontmatter

    @property
    def root(self) -> str:
        """The URI of the skill's folder."""
        return self.uri.removesuffix(_MAIN)

    @property
    def path(self) -> str:
        """The skill path: what people type, and what distinguishes two skills with the same name."""
        return self.root.removeprefix(SCHEME)

    @property
    def dynamic(self) -> bool:
        return isinstance(self.files[0], LiveFile)

    @property
    def executable(self) -> frozenset[str]:
        """The paths of the executable files, as far as the source knows."""
        return frozenset(file.path for file in self.files if isinstance(file, SkillFile) and file.executable)

    def uri_of(self, path: str) -> str:
        """Return the URI of the file or folder at `path` below the skill's folder."""
        return self.uri if path == SKILL_FILE else file_uri(self.root, path)

    def file_at(self, uri: str) -> SkillFile | LiveFile | None:
        """Return the file with this URI, or None if the skill has no such file.

        The URI is compared, never decoded: a path has one spelling, and the cost of rejecting another must
        not depend on its length.
        """
        return next((file for file in self.files if self.uri_of(file.path) == uri), None)

    def children_at(self, uri: str) -> tuple[str, ...] | None:
        """Return the URIs of the children of a folder, sorted, or None if the skill has no such folder."""
        if uri != self.root and not uri.startswith(f"{self.root}/"):
            return None
        above = f"{uri}/"
        folders = [self.uri_of(path) for path in self.directories]
        inside = (*(self.uri_of(file.path) for file in self.files), *folders)
        children = {above + each[len(above) :].partition("/")[0] for each in inside if each.startswith(above)}
        return tuple(sorted(children)) if children or uri in folders else None

    def below(self, prefix: str) -> Self:
        """Return this skill under the path segment `prefix`."""
        return replace(self, uri=f"{root_uri([prefix])}/{self.uri.removeprefix(SCHEME)}")
