"""`HostedSkill`: a skill in a host. Functions for the files and requested tools of a listed skill."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, unquote

from skillwire.core.names import SCHEME, collision_key
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
"""Maximum number of characters of a description that are shown (H27).

The Agent Skills standard has the same limit.
"""
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
        "id",
        "version",
        "tags",
        "icons",
        "x-skillwire",
        "x-personal-mcp",
    }
)
"""Frontmatter fields that only describe a skill or restrict who may start it.

The last two are the metadata block of the repository contract.
"""
_SHOWN_EFFECT = 200
_SHOWN_EFFECTS = 50


@dataclass(frozen=True, slots=True)
class HostedSkill:
    """One version of a skill from a server or folder: its record, claim, and unique name in a host."""

    record: SkillRecord
    claim: SkillClaim | None = None
    """The server's claim, against which every read is verified. None for the user's own skills."""
    handle: str = ""
    """The unique name for people and models. Empty until a registry sets it."""
    approval_status: ApprovalStatus = ApprovalStatus.UNKNOWN
    """Whether this version is approved. Unknown for the user's own skills, which need no approval."""

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
        """The URI of the skill's `SKILL.md`. For a server's skill, this is the URI on the server."""
        return self.record.uri if self.claim is None else self.claim.uri

    @property
    def root(self) -> str:
        """The URI of the skill's folder. For a server's skill, this is the URI on the server."""
        return self.record.root if self.claim is None else self.claim.root

    @property
    def path(self) -> str:
        """The path in the URI of the skill's folder, decoded, shortened and cleaned for people and models.

        If the scheme is not `skill`, the path includes the scheme.
        """
        return strip_invisible(unquote(self.root.removeprefix(SCHEME)), _SHOWN_PATH)

    @property
    def quoted(self) -> str:
        return quoted(self.handle or f"{self.label}:{self.path}")

    @property
    def files(self) -> tuple[FileClaim, ...] | None:
        """The listed files. None for a dynamic or packed skill, and in dialects that do not list files."""
        if self.claim is not None:
            return self.claim.files
        record, listed = self.record, [file for file in self.record.files if isinstance(file, SkillFile)]
        found = tuple(FileClaim(record.uri_of(file.path), file.digest, file.size) for file in listed)
        return None if record.dynamic else found

    @property
    def main(self) -> FileClaim | None:
        """The listed file `SKILL.md`; None if it is not listed."""
        return next((file for file in self.files or () if file.uri == self.uri), None)

    @property
    def deliveries(self) -> tuple[DeliveryClaim, ...]:
        """The `SKILL.md` or archives to read, in dialects that do not list files; empty in other dialects."""
        return () if self.claim is None else self.claim.deliveries

    @property
    def archive(self) -> DeliveryClaim | None:
        """The archive from which the list of files was derived; None if the list has another origin."""
        return None if self.claim is None else self.claim.archive

    @property
    def is_packed(self) -> bool:
        """Whether the skill's files are unknown until an archive with a digest is unpacked."""
        return is_packed(self)

    @property
    def delivery(self) -> str:
        """How the files are delivered: `skill-md` (one by one), `archive` (only together) or `dynamic`."""
        if self.deliveries:
            return "skill-md" if any(each.form is None for each in self.deliveries) else "archive"
        return "dynamic" if self.files is None else "skill-md"

    @property
    def claimed(self) -> SkillClaim:
        """The claim of a server's skill. Use it only if `local` is false: own skills have no claim."""
        assert self.claim is not None, "one of the user's own skills has no claim"
        return self.claim


def describe_place(label: str, *, local: bool) -> str:
    """Return where a skill comes from: `server`, or `folder` for any own source, and the quoted label."""
    return f"{'folder' if local else 'server'} {quoted(label)}"


def display_path(skill: ListedSkill, uri: str) -> str:
    """Return the path of the skill's file at a URI, shortened and cleaned for people and models (H27)."""
    return strip_invisible(unquote(uri.removeprefix(f"{skill.root}/")), _SHOWN_PATH)


def normalize_path(path: str) -> str:
    """Return a path without empty segments and `.`.

    Paths are relative to the skill's folder. An empty path is the folder itself. Raises `VerificationError`
    if the decoded path leads out of the folder, or has a backslash or an unprintable character (H19).
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
    return collision_key(posixpath.normpath(unquote(uri)))


def listed_file(skill: ListedSkill, path: str) -> FileClaim | None:
    """Return the listed file with this URI or this path, or None if it is not listed (H14).

    A path may be percent-encoded. Raises the errors of `normalize_path`.
    """
    files = {file.uri: file for file in skill.files or ()}
    if path in files:
        return files[path]
    normalized = normalize_path(path)
    paths = {unquote(uri.removeprefix(f"{skill.root}/")): file for uri, file in files.items()}
    return paths.get(normalized) or paths.get(unquote(normalized))


def files_below(skill: ListedSkill, path: str) -> list[FileClaim]:
    """Return all listed files below the folder at a path, at any depth. Raises as `normalize_path` does."""
    folder = unquote(normalize_path(path))
    below = f"{folder}/" if folder else ""
    return [
        file
        for file in skill.files or ()
        if unquote(file.uri.removeprefix(f"{skill.root}/")).startswith(below)
    ]


def live_uri(skill: ListedSkill, path: str) -> str:
    """Return the URI of a file in a skill that lists no files (S9). `path` is a path or URI.

    Raises the errors of `normalize_path`.
    """
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
    """Return the requested tools, and the names of other frontmatter fields that may have an effect.

    The texts are cleaned for display, and their number is limited.
    """
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
    """Return whether a model may load the skill, which the field `disable-model-invocation` can prohibit."""
    return skill.frontmatter.get("disable-model-invocation") is not True
