"""A skill as a host knows it: its place, the paths of its files, and the tools it asks for."""

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
from skillwire.protocol.findings import server_problem
from skillwire.protocol.remote import DeliveryClaim, FileClaim, ListedSkill, SkillClaim
from skillwire.safe_text import quoted, strip_invisible

Identity: TypeAlias = tuple[str, str]
"""The label of a place, and a URI there. Neither means anything without the other (H9)."""

SHOWN_DESCRIPTION = 1024
"""Characters of a description that people and models are shown: as many as a skill may have (H27)."""
_SHOWN_PATH = 200
_SHOWN_PATH_LENGTH = 200
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
"""Fields that only describe a skill, or narrow who may start it."""
_SHOWN_EFFECT = 200
_SHOWN_EFFECTS = 50


@dataclass(frozen=True, slots=True)
class HostedSkill:
    """One skill of one place, at one moment: its record, and the name it goes by in a host."""

    record: SkillRecord
    claim: SkillClaim | None = None
    """What its server listed, which every read is compared with. None for one of the person's own."""
    handle: str = ""
    """What people and models call it, and no other."""
    approval_status: ApprovalStatus = ApprovalStatus.UNKNOWN
    """What is known of its approval. A local one needs none."""

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
        """Whether it is one of the person's own: then it needs no approval."""
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
        """Its description as people and models are shown it (H27)."""
        return strip_invisible(self.record.description, SHOWN_DESCRIPTION)

    @property
    def frontmatter(self) -> Mapping[str, Json]:
        return self.record.frontmatter

    @property
    def uri(self) -> str:
        """The URI of its `SKILL.md`, as its place spells it."""
        return self.record.uri if self.claim is None else self.claim.uri

    @property
    def root(self) -> str:
        """The URI of its folder, as its place spells it."""
        return self.record.root if self.claim is None else self.claim.root

    @property
    def path(self) -> str:
        """Where it is in the names of its place, as a person would write it."""
        return strip_invisible(unquote(self.root.removeprefix(SCHEME)), _SHOWN_PATH)

    @property
    def quoted(self) -> str:
        return quoted(self.handle or f"{self.label}:{self.path}")

    @property
    def files(self) -> tuple[FileClaim, ...] | None:
        """Its files, by the URIs that its place gives them. None where they show when they are read."""
        if self.claim is not None:
            return self.claim.files
        record, listed = self.record, [file for file in self.record.files if isinstance(file, SkillFile)]
        found = tuple(FileClaim(record.uri_of(file.path), file.digest, file.size) for file in listed)
        return None if record.dynamic else found

    @property
    def main(self) -> FileClaim | None:
        """Its `SKILL.md`, if that is promised."""
        return next((file for file in self.files or () if file.uri == self.uri), None)

    @property
    def deliveries(self) -> tuple[DeliveryClaim, ...]:
        """Where its files are, in dialects that do not list them."""
        return () if self.claim is None else self.claim.deliveries

    @property
    def claimed(self) -> SkillClaim:
        """What its server listed. Only a server's skill has it."""
        assert self.claim is not None, "nobody claims anything of an own skill"
        return self.claim


def describe_place(label: str, *, local: bool) -> str:
    """Return what a place is called in a sentence."""
    return f"{'folder' if local else 'server'} {quoted(label)}"


def display_path(skill: ListedSkill, uri: str) -> str:
    """Return the path of a file of the skill, as people and models are shown it (H27)."""
    return strip_invisible(unquote(uri.removeprefix(f"{skill.root}/")), _SHOWN_PATH_LENGTH)


def normalize_path(path: str) -> str:
    """Return a reference without what means nothing. Raises `VerificationError` for one that leads out (H19).

    It is meant from the folder of the skill's `SKILL.md`, wherever it was read. An empty one is that folder.
    """
    decoded = unquote(path)
    segments = [segment for segment in path.split("/") if segment not in {"", "."}]
    leads_out = ".." in decoded.replace("\\", "/").split("/") or decoded.startswith(("/", "\\"))
    if leads_out or "\\" in decoded or not decoded.isprintable():
        raise VerificationError(
            "",
            server_problem(
                path[:_SHOWN_PATH_LENGTH], Rule.UNLISTED, "that is no path below the folder of the skill"
            ),
        )
    return "/".join(segments)


def canonical_uri(uri: str) -> str:
    """Return one spelling for all that a server may take for one URI: decoded, folded, without detours."""
    return fold_path(posixpath.normpath(unquote(uri)))


def listed_file(skill: ListedSkill, path: str) -> FileClaim | None:
    """Return the file of the entry that a reference means, spelled as in a document or as in a URI (H14)."""
    files = {file.uri: file for file in skill.files or ()}
    if path in files:
        return files[path]
    wanted = normalize_path(path)
    paths = {unquote(uri.removeprefix(f"{skill.root}/")): file for uri, file in files.items()}
    return paths.get(wanted) or paths.get(unquote(wanted))


def files_below(skill: ListedSkill, path: str) -> list[FileClaim]:
    """Return the files of the entry that are in a folder, however deep."""
    wanted = unquote(normalize_path(path))
    below = f"{wanted}/" if wanted else ""
    return [
        file
        for file in skill.files or ()
        if unquote(file.uri.removeprefix(f"{skill.root}/")).startswith(below)
    ]


def live_uri(skill: ListedSkill, path: str) -> str:
    """Return the URI of a file that no entry lists, because content is made when it is read (S9)."""
    if path.startswith(f"{skill.root}/"):
        path = path.removeprefix(f"{skill.root}/")
    return f"{skill.root}/{quote(unquote(normalize_path(path)), safe=_UNRESERVED)}"


def unlisted_finding(skill: ListedSkill, path: str) -> Problem:
    """Return what is wrong with reading a file that the entry does not list: it is no file of the skill."""
    message = f"{quoted(path)} is not among its files; an empty path lists them"
    return server_problem(skill.uri, Rule.UNLISTED, message)


def requested_tools(skill: ListedSkill) -> frozenset[str]:
    """Return the tools that a skill would like to use without a question."""
    value = skill.frontmatter.get(ALLOWED_TOOLS)
    if isinstance(value, str):
        return frozenset(parse_tools(value))
    items = value if isinstance(value, list) else []
    return frozenset(item for item in items if isinstance(item, str))


def effects(skill: ListedSkill) -> tuple[str, ...]:
    """Return everything in a frontmatter that may be meant to have an effect, for a person to read."""
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
    """Whether a model may begin with it by itself."""
    return skill.frontmatter.get("disable-model-invocation") is not True
