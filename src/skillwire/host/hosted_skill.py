"""`HostedSkill`: a skill in a host, with its origin, file paths and requested tools."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, unquote

from skillwire.core.names import SCHEME, fold_path
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Json, SkillFile, SkillRecord
from skillwire.errors import InvalidValueError, VerificationError
from skillwire.frontmatter.rules import parse_tools
from skillwire.host.store.approvals import ApprovalStatus
from skillwire.protocol.claims import DeliveryClaim, FileClaim, ListedSkill, SkillClaim, is_packed
from skillwire.protocol.findings import server_problem
from skillwire.safe_text import quoted, strip_invisible

Identity: TypeAlias = tuple[str, str]
"""The label of a server or folder, and a skill's URI there. Only both together identify a skill (H9)."""

SHOWN_DESCRIPTION = 1024
"""Maximum number of characters of a description that are shown. This is the standard's limit (H27)."""
_SHOWN_PATH = 200
"""Maximum number of characters of a path that are shown."""
_UNRESERVED = "!$&'()*+,;=:@/"
ALLOWED_TOOLS = "allowed-tools"
_DESCRIBING = frozenset(
    {
        "name",
        "description",
        "license",
        "compatibility",
        "metadata",
        "disable-model-invocation",
        "user-invocable",
    }
)
"""Frontmatter fields that only describe a skill or restrict who may start it."""
_SHOWN_EFFECT = 200
_SHOWN_EFFECTS = 50


@dataclass(frozen=True, slots=True)
class HostedSkill:
    """One version of a skill from a server or folder: its record, claim, and unique name in a host."""

    record: SkillRecord
    claim: SkillClaim | None = None
    """The claim that the server listed. Every read is verified against it. None for the user's own skills."""
    handle: str = ""
    """The unique name for people and models."""
    approval_status: ApprovalStatus = ApprovalStatus.UNKNOWN
    """Whether the skill is approved. The user's own skills need no approval."""

    def __post_init__(self) -> None:
        if self.local != (self.claim is None):
            raise InvalidValueError(
                "claim", self.record.uri, "what the server listed, of a server's skill only"
            )

    @property
    def label(self) -> str:
        return self.record.origin.source

    @property
    def local(self) -> bool:
        """Whether the skill is one of the user's own, which need no approval."""
        return not self.record.origin.foreign

    @property
    def identity(self) -> Identity:
        return self.label, self.uri

    @property
    def origin(self) -> str:
        return describe_place(self.label, local=self.local)

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def description(self) -> str:
        """The skill's description, shortened and cleaned for people and models (H27)."""
        return strip_invisible(self.record.description, SHOWN_DESCRIPTION)

    @property
    def frontmatter(self) -> Mapping[str, Json]:
        return self.record.frontmatter

    @property
    def uri(self) -> str:
        """The URI of the skill's `SKILL.md` on its server or in its folder."""
        return self.record.uri if self.claim is None else self.claim.uri

    @property
    def root(self) -> str:
        """The URI of the skill's folder on its server or in the user's folder."""
        return self.record.root if self.claim is None else self.claim.root

    @property
    def path(self) -> str:
        """The skill's path within its server or folder, decoded and readable."""
        return strip_invisible(unquote(self.root.removeprefix(SCHEME)), _SHOWN_PATH)

    @property
    def quoted(self) -> str:
        return quoted(self.handle or f"{self.label}:{self.path}")

    @property
    def files(self) -> tuple[FileClaim, ...] | None:
        """The skill's files, with their URIs on its server or in its folder. None for dynamic skills."""
        if self.claim is not None:
            return self.claim.files
        record, listed = self.record, [file for file in self.record.files if isinstance(file, SkillFile)]
        found = tuple(FileClaim(record.uri_of(file.path), file.digest, file.size) for file in listed)
        return None if record.dynamic else found

    @property
    def main(self) -> FileClaim | None:
        """The file `SKILL.md`, if it is listed."""
        return next((file for file in self.files or () if file.uri == self.uri), None)

    @property
    def deliveries(self) -> tuple[DeliveryClaim, ...]:
        """Where the files can be read, in dialects that do not list files."""
        return () if self.claim is None else self.claim.deliveries

    @property
    def archive(self) -> DeliveryClaim | None:
        """The archive from which the list of its files was derived; None for other skills."""
        return None if self.claim is None else self.claim.archive

    @property
    def is_packed(self) -> bool:
        """Whether its files are unknown, because none of its archives has been unpacked yet."""
        return is_packed(self)

    @property
    def delivery(self) -> str:
        """How its files are delivered: `skill-md` (one by one), `archive` (only together) or `dynamic`."""
        if self.deliveries:
            return "skill-md" if any(each.form is None for each in self.deliveries) else "archive"
        return "dynamic" if self.files is None else "skill-md"

    @property
    def claimed(self) -> SkillClaim:
        """The claim of a server's skill. The user's own skills have none."""
        assert self.claim is not None, "one of the user's own skills has no claim"
        return self.claim


def describe_place(label: str, *, local: bool) -> str:
    """Describe where a skill comes from: a server or folder, and its label."""
    return f"{'folder' if local else 'server'} {quoted(label)}"


def display_path(skill: ListedSkill, uri: str) -> str:
    """Return the path of a skill's file, cleaned for people and models (H27)."""
    return strip_invisible(unquote(uri.removeprefix(f"{skill.root}/")), _SHOWN_PATH)


def normalize_path(path: str) -> str:
    """Remove empty segments and `.` from a path.

    Raises `VerificationError` if it leads out of the skill (H19). Paths are relative to the skill's folder.
    An empty path is the folder itself.
    """
    decoded = unquote(path)
    segments = [segment for segment in path.split("/") if segment not in {"", "."}]
    leads_out = ".." in decoded.replace("\\", "/").split("/") or decoded.startswith(("/", "\\"))
    if leads_out or "\\" in decoded or not decoded.isprintable():
        raise VerificationError(
            "",
            server_problem(
                path[:_SHOWN_PATH], Rule.UNLISTED, "it is not a path below the folder of the skill"
            ),
        )
    return "/".join(segments)


def canonical_uri(uri: str) -> str:
    """Return a key that is equal for all spellings of a URI: decoded, case-folded and normalized."""
    return fold_path(posixpath.normpath(unquote(uri)))


def listed_file(skill: ListedSkill, path: str) -> FileClaim | None:
    """Return the listed file at a path or URI, percent-encoded or not.

    Return None if it is not listed (H14).
    """
    files = {file.uri: file for file in skill.files or ()}
    if path in files:
        return files[path]
    normalized = normalize_path(path)
    paths = {unquote(uri.removeprefix(f"{skill.root}/")): file for uri, file in files.items()}
    return paths.get(normalized) or paths.get(unquote(normalized))


def files_below(skill: ListedSkill, path: str) -> list[FileClaim]:
    """Return all listed files below a folder, at any depth."""
    folder = unquote(normalize_path(path))
    below = f"{folder}/" if folder else ""
    return [
        file
        for file in skill.files or ()
        if unquote(file.uri.removeprefix(f"{skill.root}/")).startswith(below)
    ]


def live_uri(skill: ListedSkill, path: str) -> str:
    """Return the URI of a file in a dynamic skill, which lists no files (S9)."""
    if path.startswith(f"{skill.root}/"):
        path = path.removeprefix(f"{skill.root}/")
    return f"{skill.root}/{quote(unquote(normalize_path(path)), safe=_UNRESERVED)}"


def unlisted_finding(skill: ListedSkill, path: str) -> Problem:
    """Return the problem for a read of a file that the skill does not list."""
    message = f"{quoted(path)} is not among its files; an empty path lists them"
    return server_problem(skill.uri, Rule.UNLISTED, message)


def requested_tools(skill: ListedSkill) -> frozenset[str]:
    """Return the tools that a skill requests to use without asking the user."""
    value = skill.frontmatter.get(ALLOWED_TOOLS)
    if isinstance(value, str):
        return frozenset(parse_tools(value))
    items = value if isinstance(value, list) else []
    return frozenset(item for item in items if isinstance(item, str))


def effects(skill: ListedSkill) -> tuple[str, ...]:
    """Return the requested tools and other frontmatter fields that may have an effect, for display."""
    tools = [
        f"{ALLOWED_TOOLS}: {strip_invisible(tool, _SHOWN_EFFECT)}" for tool in sorted(requested_tools(skill))
    ]
    others = [
        strip_invisible(key, _SHOWN_EFFECT)
        for key in skill.frontmatter
        if key not in {*_DESCRIBING, ALLOWED_TOOLS}
    ]
    return tuple([*tools, *others][:_SHOWN_EFFECTS])


def is_for_models(skill: ListedSkill) -> bool:
    """Return whether a model may load the skill on its own."""
    return skill.frontmatter.get("disable-model-invocation") is not True
