"""`Manifest`: everything of a skill that answers need, except the bytes of its files."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote

import orjson

from skillwire.core.names import SKILL_FILE, parent_paths, root_uri
from skillwire.core.record import Digest, Json, Origin, SkillFile, SkillRecord, Trust
from skillwire.errors import InvalidValueError, StateError

_FORMAT = 1
"""The version of the canonical form. A change needs a migration."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One skill in one version, without its path and without the bytes of its files."""

    frontmatter: Mapping[str, Json]
    files: tuple[SkillFile, ...]
    """Every file, `SKILL.md` first, then by path."""
    directories: tuple[str, ...]
    shown_as: str | None = None
    foreign: bool = False
    """Whether the skill was copied from another operator's server. Then it stays foreign (H20, H27)."""

    @classmethod
    def of(cls, record: SkillRecord) -> Self:
        """Return the manifest of a skill. Raises `InvalidValueError` if the skill cannot be published."""
        files = tuple(file for file in record.files if isinstance(file, SkillFile))
        if len(files) < len(record.files):
            fix = "serve it with `skillwire serve`"
            raise InvalidValueError("the skill", record.path, "is generated on every read", fix)
        foreign = record.origin.foreign
        return cls(record.frontmatter, files, record.directories, record.shown_as, foreign)

    @classmethod
    def from_bytes(cls, content: bytes, digest: bytes) -> Self:
        """Parse the stored manifest of content with this digest. Raises `StateError` if it is damaged."""
        try:
            parsed: dict[str, Any] = orjson.loads(content)
            files = tuple(
                SkillFile(path, kind, Digest.from_raw(bytes.fromhex(digest)), size, bool(executable))
                for path, kind, digest, size, *executable in parsed["files"]
            )
            manifest = cls(
                parsed["frontmatter"],
                files,
                tuple(parsed["directories"]),
                parsed.get("shown_as"),
                parsed.get("foreign", False),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StateError("its manifest is damaged") from error
        if manifest.digest.raw != digest:
            raise StateError("its manifest is damaged")
        return manifest

    def to_bytes(self) -> bytes:
        """Return the canonical form. Raises `InvalidValueError` if the frontmatter has no exact JSON form."""
        rows: list[list[object]] = [
            [file.path, file.mime_type, file.digest.raw.hex(), file.size, *([1] if file.executable else [])]
            for file in self.files
        ]
        stored: dict[str, object] = {
            "format": _FORMAT,
            "frontmatter": self.frontmatter,
            "files": rows,
            "directories": self.directories,
        }
        if self.shown_as is not None:
            stored["shown_as"] = self.shown_as
        if self.foreign:
            stored["foreign"] = True
        try:
            content = orjson.dumps(stored)
        except orjson.JSONEncodeError as error:
            raise _not_exact(self) from error
        # Infinity, for example, is written as `null`. The order of keys counts, because clients see it.
        if repr(orjson.loads(content)["frontmatter"]) != repr(dict(self.frontmatter)):
            raise _not_exact(self)
        return content

    @property
    def digest(self) -> Digest:
        """The digest of the content: of paths, bytes and executable bits of files, and of empty folders.

        It depends neither on the path of the skill nor on how a version of Skillwire reads frontmatter.
        """
        rows = sorted((file.path, file.digest.raw.hex(), file.executable) for file in self.files)
        used = {folder for file in self.files for folder in parent_paths(file.path)}
        used |= {folder for each in self.directories for folder in parent_paths(each)}
        empty = sorted(set(self.directories) - used)
        return Digest.from_raw(hashlib.sha256(orjson.dumps([rows, empty])).digest())

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(file.size for file in self.files)

    def record(self, path: str, label: str) -> SkillRecord:
        """Return the record of this skill at a path of the registry that has the label `label`.

        Raises `InvalidValueError` if the manifest is not of a skill at this path.
        """
        return SkillRecord(
            uri=f"{root_uri(path.split('/'))}/{SKILL_FILE}",
            frontmatter=self.frontmatter,
            files=self.files,
            directories=self.directories,
            origin=Origin(label, path, f"{path}/{SKILL_FILE}", foreign=self.foreign),
            label="" if "name" in self.frontmatter else path.rpartition("/")[2],
            shown_as=self.shown_as,
            trust=Trust.OWN,
        )


def path_of(record: SkillRecord) -> str:
    """Return the path of a skill as a registry stores it: without `skill://`, and not percent-encoded."""
    return unquote(record.path)


def _not_exact(manifest: Manifest) -> InvalidValueError:
    name = str(manifest.frontmatter.get("name", ""))
    fix = "write numbers beyond 64 bits, `.inf` and `.nan` in quotes"
    return InvalidValueError("the frontmatter of", name, "has a value that JSON cannot hold exactly", fix)
