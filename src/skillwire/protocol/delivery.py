"""How a skill is delivered: its `SKILL.md` alone, or all its files in a tar.gz or zip archive."""

from enum import StrEnum

TEMPLATE_TYPE = "mcp-resource-template"
"""The type of a template in the index of the early drafts."""
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"


class ArchiveFormat(StrEnum):
    """An archive format. The value is the suffix of its files."""

    TAR_GZ = ".tar.gz"
    ZIP = ".zip"

    @property
    def suffix(self) -> str:
        return self.value

    @property
    def mime_type(self) -> str:
        return _MIME_TYPES[self]


_MIME_TYPES = {ArchiveFormat.TAR_GZ: "application/gzip", ArchiveFormat.ZIP: "application/zip"}

_BY_MIME_TYPE = {
    **{mime_type: form for form, mime_type in _MIME_TYPES.items()},
    "application/x-gzip": ArchiveFormat.TAR_GZ,
    "application/x-gtar": ArchiveFormat.TAR_GZ,
    "application/x-zip-compressed": ArchiveFormat.ZIP,
}

_BY_SUFFIX = {**{form.suffix: form for form in ArchiveFormat}, ".tgz": ArchiveFormat.TAR_GZ}


def detect_archive_format(name: str, mime_type: str = "") -> ArchiveFormat | None:
    """Return the format for the MIME type, else for the suffix of `name`. Return None if both are unknown."""
    known = _BY_MIME_TYPE.get(mime_type.partition(";")[0].strip().lower())
    return known or next((form for end, form in _BY_SUFFIX.items() if name.lower().endswith(end)), None)


def remove_archive_suffix(name: str) -> str:
    """Return `name` without the suffix of an archive, if it has one."""
    end = next((end for end in _BY_SUFFIX if name.lower().endswith(end)), "")
    return name[: len(name) - len(end)]


class Delivery(StrEnum):
    """How a skill is delivered: its `SKILL.md` alone, or all its files in one archive."""

    SKILL_MD = "skill-md"
    ARCHIVE = "archive"
