"""Name, version, description and author of a bundle or plugin, with defaults made from its skills."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillwire.config.source_kinds import is_folder
from skillwire.core.names import NAME_RULE, suggest_name
from skillwire.core.record import SkillFile, SkillRecord
from skillwire.errors import UsageError
from skillwire.packing.selection import FOLDER
from skillwire.safe_text import quoted, strip_invisible
from skillwire.sources.base import Source

DEFAULT_AUTHOR = "Unknown"
_FIRST_VERSION = "1.0.0"
_VERSION_DIGITS = 8
"""Hex digits of the digest in a version that is made from the skills."""
_SHOWN_NAMES = 8
_MAX_TEXT = 1024
_SEMVER = re.compile(
    r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command; None for a default."""

    name: str | None = None
    version: str | None = None
    description: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """How clients show and identify a bundle or plugin."""

    name: str
    """The identifier: lowercase letters, digits and hyphens."""
    title: str
    version: str
    description: str
    author: str


class Naming:
    """Checks the options before anything is read, and completes them when the packed skills are known."""

    def __init__(self, options: Options, sources: Sequence[Source]) -> None:
        """Raises `UsageError` if an option is invalid."""
        self._options = options
        given = _one_line("--name", options.name)
        self.name = suggest_name(given or _source_name(sources))
        if not self.name:
            raise UsageError(f"`--name` is {quoted(given)}, from which no identifier can be made", NAME_RULE)
        self.title = given if given and given != self.name else self.name.replace("-", " ").capitalize()
        self._author = _one_line("--author", options.author)
        self._description = _one_line("--description", options.description)
        if options.version is not None and not _SEMVER.fullmatch(options.version):
            raise UsageError(
                f"`--version` is {quoted(options.version)}, which is not a semantic version",
                hint="for example `1.2.0`",
            )

    def identify(self, records: Sequence[SkillRecord]) -> Identity:
        """Return the identity of a bundle or plugin with these skills.

        The default version changes with the skills, because clients fetch an update only if the version is
        another one.
        """
        return Identity(
            self.name,
            self.title,
            self._options.version or f"{_FIRST_VERSION}+{_digest(records)[:_VERSION_DIGITS]}",
            self._description or _describe([record.name for record in records]),
            self._author or _common_author(records) or DEFAULT_AUTHOR,
        )


def _one_line(option: str, text: str | None) -> str:
    """Return the text of an option on one line, or an empty string. Raises `UsageError` if it is blank."""
    if text is None:
        return ""
    if not (line := strip_invisible(text, _MAX_TEXT).strip()):
        raise UsageError(f"`{option}` is empty", hint="write a text, or omit the option")
    return line


def _source_name(sources: Iterable[Source]) -> str:
    """Return a name made from the first source: its folder, or its label if it is not a folder.

    A folder `skills` is named after the folder that contains it.
    """
    for source in sources:
        if not is_folder(source.place):
            return source.label if suggest_name(source.label) else FOLDER
        folder = Path(source.place).resolve()
        if folder.name != FOLDER and not folder.name.startswith("."):
            return folder.name if suggest_name(folder.name) else FOLDER
        outer = next((each.name for each in folder.parents if not each.name.startswith(".")), "")
        return f"{outer}-{FOLDER}" if suggest_name(outer) else FOLDER
    return FOLDER


def _describe(names: Sequence[str]) -> str:
    names = sorted(names)
    shown = ", ".join(names[:_SHOWN_NAMES])
    more = f" and {len(names) - _SHOWN_NAMES:,} more" if len(names) > _SHOWN_NAMES else ""
    return f"Agent Skills: {shown}{more}"


def _common_author(records: Iterable[SkillRecord]) -> str:
    """Return the `author` in the `metadata` of the skills, if all skills have the same one."""
    authors: set[str] = set()
    for record in records:
        metadata = record.frontmatter.get("metadata")
        author = metadata.get("author") if isinstance(metadata, dict) else None
        authors.add(strip_invisible(author, _MAX_TEXT).strip() if isinstance(author, str) else "")
    return authors.pop() if len(authors) == 1 else ""


def _digest(records: Iterable[SkillRecord]) -> str:
    """Return a digest of the paths, bytes and executable bits of all files."""
    lines = sorted(
        f"{record.path}/{file.path} {file.digest} {file.executable}\n"
        for record in records
        for file in record.files
        if isinstance(file, SkillFile)
    )
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
