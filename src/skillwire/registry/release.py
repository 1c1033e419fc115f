"""`Release`: one version of one skill that is to be published. It is checked when it is created."""

from dataclasses import dataclass, field
from typing import Self

from skillwire.core.names import collision_key, path_fault
from skillwire.core.record import Digest, SkillRecord
from skillwire.errors import InvalidValueError
from skillwire.registry.manifest import Manifest, path_of
from skillwire.registry.version import check_version, version_of
from skillwire.sources.assemble import path_problems

RESERVED = "_v"
"""The first segment of addresses of versions. No skill may have it in its path."""
MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_MANIFEST_BYTES = 8 * 1024 * 1024
_MAX_PATH_BYTES = 1024
_RENAME = "rename it"


@dataclass(frozen=True, slots=True)
class Release:
    """A skill at a path, in a version."""

    path: str
    """The path of the skill without `skill://`, and not percent-encoded."""
    version: str
    manifest: Manifest = field(repr=False)
    digest: Digest = field(init=False)
    """The digest of the content."""
    stored: bytes = field(init=False, repr=False)
    """The canonical form of the manifest."""

    def __post_init__(self) -> None:
        """Check everything. Raises `InvalidValueError`."""
        check_version(self.version)
        if len(self.path.encode(errors="replace")) > _MAX_PATH_BYTES:
            raise InvalidValueError(
                "the path", self.path, f"is longer than {_MAX_PATH_BYTES:,} bytes", _RENAME
            )
        if self.path.partition("/")[0] == RESERVED:
            raise InvalidValueError("the path", self.path, f"begins with `{RESERVED}`", _RENAME)
        self._check_files()
        self.manifest.record(self.path, "registry")
        object.__setattr__(self, "digest", self.manifest.digest)
        object.__setattr__(self, "stored", self.manifest.to_bytes())
        if len(self.stored) > MAX_MANIFEST_BYTES:
            rule = f"needs a manifest of more than {MAX_MANIFEST_BYTES:,} bytes"
            raise InvalidValueError("the skill", self.path, rule, "remove files, or shorten its frontmatter")

    def _check_files(self) -> None:
        """Raise `InvalidValueError` for a path that leads elsewhere or is there twice, or a large file."""
        files = [file.path for file in self.manifest.files]
        folders = self.manifest.directories
        if len({*files, *folders}) < len(files) + len(folders):
            raise InvalidValueError("the skill", self.path, "has a path twice", "remove one of the two")
        for problem in path_problems(self.path, files):
            raise InvalidValueError("the file", problem.path, problem.message, problem.hint)
        for folder in folders:
            if fault := path_fault(folder):
                raise InvalidValueError("the folder", f"{self.path}/{folder}", fault, _RENAME)
        for file in self.manifest.files:
            if file.size > MAX_FILE_BYTES:
                rule = f"is larger than {MAX_FILE_BYTES:,} bytes"
                raise InvalidValueError("the file", f"{self.path}/{file.path}", rule, "link to a download")

    @classmethod
    def of(cls, record: SkillRecord, version: str | None = None) -> Self:
        """Return the release of a skill, in `version` or the version that the skill declares.

        Raises `InvalidValueError` if the skill cannot be published.
        """
        manifest = Manifest.of(record)
        chosen = version or version_of(manifest.frontmatter, manifest.digest)
        return cls(path_of(record), chosen, manifest)

    @property
    def path_key(self) -> str:
        """A key that is equal for paths that differ only in case or Unicode form."""
        return collision_key(self.path)
