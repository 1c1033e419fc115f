"""Skills of a server as entries of ours: under its label, and otherwise word for word."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from skillwire.core.json_text import json_equal
from skillwire.core.mime import MARKDOWN, mime_type
from skillwire.core.names import SKILL_FILE, parent_paths, root_uri
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, Origin, SkillFile, SkillRecord, Trust, Withheld
from skillwire.host.hosted_skill import SHOWN_DESCRIPTION
from skillwire.protocol.findings import Findings, server_problem
from skillwire.protocol.remote import Dialect, FileClaim, SkillClaim
from skillwire.safe_text import escape_invisible, quote_if_needed, quoted, strip_invisible
from skillwire.sources.assemble import path_problems

_MAX_FRONTMATTER = 256 * 1024
"""Characters of JSON. A document that says as much in YAML is read by nobody."""
_MAX_SHOWN = 3
"""Problems that a sentence names."""
_UNDECIDED = Withheld(
    "nobody approved it", "approve it with `skillwire approve`, and serve it with `skillwire bridge`"
)
_SERVER_HINT = "tell whoever runs the server; `skillwire verify` shows everything that is wrong with it"


@dataclass(frozen=True, slots=True)
class PublishedRecord:
    """A skill of a server, and the entry under which it is published here."""

    remote: SkillClaim
    entry: SkillRecord
    files: Mapping[str, FileClaim]
    """What the server calls each file, by its path. Empty for one that does not promise them all."""

    def is_unchanged(self, remote: SkillClaim, root: str) -> bool:
        """Whether nothing would be different if it were published anew."""
        if self.entry.root != root:
            return False
        if self.remote is remote:
            return True
        # `==` alone takes 1 for true.
        return self.remote == remote and json_equal(dict(self.remote.frontmatter), dict(remote.frontmatter))


@dataclass(frozen=True, slots=True)
class PublishedSkills:
    """All skills of a server that can be published, by their URIs there, and why others cannot."""

    skills: Mapping[str, PublishedRecord]
    problems: tuple[Problem, ...]


def publish(
    label: str,
    skills: Iterable[SkillClaim],
    known: Mapping[str, PublishedRecord],
    trust: Trust = Trust.WITHHELD,
) -> PublishedSkills:
    """Return skills as they are published below `label`; those that are as they were, as the same values.

    `known` are those of the last time, with the same `trust`.
    """
    published: dict[str, PublishedRecord] = {}
    problems: list[Problem] = []
    taken: dict[str, str] = {}
    for skill in skills:
        path = path_of(skill.uri)
        found = _published(label, path, skill, known.get(skill.uri), trust)
        if isinstance(found, PublishedRecord) and found.entry.root in taken:
            # Another scheme, or another spelling of the same path: it is published beside the first.
            problems.append(_elsewhere(path, skill, taken[found.entry.root]))
            scheme = skill.uri.partition(":")[0].lower()
            found = _published(label, [scheme, *path], skill, known.get(skill.uri), trust)
        if isinstance(found, PublishedRecord) and found.entry.root in taken:
            found = [_nowhere(path, skill, taken[found.entry.root])]
        if isinstance(found, PublishedRecord):
            taken[found.entry.root] = skill.uri
            published[skill.uri] = found
        else:
            problems.extend(found)
    return PublishedSkills(published, tuple(problems))


def hosted_record(label: str, skill: SkillClaim) -> SkillRecord:
    """Return the record of a skill in a host, which can use more than a bridge passes on. It is withheld.

    In a host, the label and the URI there are the identity (H9). So two records may have one URI here.
    """
    *above, _ = path_of(skill.uri)
    folders = "".join(f"{quote(each, safe='', errors='surrogatepass')}/" for each in above)
    listed = skill.main is not None and skill.sized
    files = {_file_path(skill, file): file for file in skill.files or () if listed}
    return SkillRecord(
        uri=f"{root_uri([label])}/{folders}{skill.name}/{SKILL_FILE}",
        frontmatter=skill.frontmatter,
        files=_entry_files(skill, files) if listed else (LiveFile(SKILL_FILE, MARKDOWN),),
        directories=tuple(sorted({folder for file in files for folder in parent_paths(file)})),
        origin=Origin(label, skill.uri, "/".join([*above, skill.name, SKILL_FILE]), foreign=True),
        shown_as=strip_invisible(skill.description, SHOWN_DESCRIPTION),
        trust=Trust.WITHHELD,
        withheld=_UNDECIDED,
    )


def why_not_published(label: str, skill: SkillClaim, listed: Iterable[SkillClaim]) -> str:
    """Return why a bridge cannot pass on a skill that a host can use; empty if it can.

    `listed` are all skills that the server lists.
    """
    if skill.dialect is not Dialect.FINAL:
        dialect = quoted(skill.dialect.value)
        return f"its entry follows an earlier draft, {dialect}, which has too few digests and sizes"
    every = list(listed)
    if all(each.uri != skill.uri for each in every):
        return "the server does not list it, and a bridge passes on listed skills only"
    alone = publish(label, [skill], {})
    if skill.uri not in alone.skills:
        return "; ".join(
            f"{quote_if_needed(each.path)}: {each.message}" for each in alone.problems[:_MAX_SHOWN]
        )
    if skill.uri not in publish(label, every, {}).skills:
        return "the server lists another skill with the same path"
    return ""


def path_of(uri: str) -> list[str]:
    """Return the names on the way to a skill, whatever the scheme of its URI."""
    rest = uri.partition(":")[2].lstrip("/").removesuffix(f"/{SKILL_FILE}")
    return [unquote(name) for name in rest.split("/")]


def finding_problems(findings: Findings) -> Iterator[Problem]:
    """Yield what is wrong with entries that are left out, and with the list itself."""
    for finding in findings.kept:
        yield finding_problem(finding)
    if findings.more:
        yield finding_problem(server_problem("", Rule.MORE, f"and {findings.more:,} more"))


def finding_problem(finding: Problem) -> Problem:
    is_entry = finding.path.endswith(f"/{SKILL_FILE}")
    path = "/".join([*path_of(finding.path), SKILL_FILE]) if is_entry else "."
    return Problem(
        escape_invisible(path),
        Rule.SERVER_ENTRY if is_entry else Rule.SERVER_LIST,
        Severity.ERROR if is_entry else Severity.WARNING,
        f"{escape_invisible(finding.message)} ({finding.rule})",
        hint=_SERVER_HINT,
    )


def _published(
    label: str, path: list[str], skill: SkillClaim, known: PublishedRecord | None, trust: Trust
) -> PublishedRecord | list[Problem]:
    shown = "/".join(path)
    # A list without sizes promises too little to be passed on: it is as if nothing were promised.
    files = {_file_path(skill, file): file for file in skill.files or () if skill.sized}
    if faults := [replace(each, hint=_SERVER_HINT) for each in path_problems(shown, files)]:
        return faults
    root = root_uri([label, *path])
    if known is not None and known.is_unchanged(skill, root):
        return known
    if told := _why_not_json(skill):
        return [finding_problem(server_problem(skill.uri, Rule.ENTRY_SHAPE, told))]
    entry = SkillRecord(
        uri=f"{root}/{SKILL_FILE}",
        frontmatter=skill.frontmatter,
        files=_entry_files(skill, files),
        directories=tuple(sorted({folder for file in files for folder in parent_paths(file)})),
        origin=Origin(label, skill.uri, f"{shown}/{SKILL_FILE}", foreign=True),
        shown_as=strip_invisible(
            skill.description, SHOWN_DESCRIPTION
        ),  # before anybody approved anything (H27)
        trust=trust,
        withheld=_UNDECIDED if trust is Trust.WITHHELD else None,
    )
    return PublishedRecord(skill, entry, files)


def _file_path(skill: SkillClaim, file: FileClaim) -> str:
    return unquote(file.uri.removeprefix(f"{skill.root}/"))


def _entry_files(skill: SkillClaim, files: Mapping[str, FileClaim]) -> tuple[SkillFile | LiveFile, ...]:
    """Return the files, with types that their names suggest: nothing is read to find out (H11)."""
    if not skill.sized:
        return (LiveFile(SKILL_FILE, MARKDOWN),)
    return tuple(
        SkillFile(path, mime_type(path, text="." not in path.rpartition("/")[2]), file.digest, file.size or 0)
        for path, file in sorted(files.items(), key=lambda each: (each[0] != SKILL_FILE, each[0]))
    )


def _why_not_json(skill: SkillClaim) -> str:
    """Return why a frontmatter cannot be passed on: what no JSON can hold would break every list (H26)."""
    try:
        spoken = json.dumps(skill.frontmatter, ensure_ascii=False, allow_nan=False)
        spoken.encode()
    except (ValueError, RecursionError):
        return "its frontmatter holds what JSON cannot say: half a character, no number, or no end of depth"
    if len(spoken) > _MAX_FRONTMATTER:
        return f"its frontmatter has {len(spoken):,} characters; the limit is {_MAX_FRONTMATTER:,}"
    return ""


def _elsewhere(path: list[str], skill: SkillClaim, other: str) -> Problem:
    return Problem(
        escape_invisible("/".join([*path, SKILL_FILE])),
        Rule.URI_TAKEN,
        Severity.WARNING,
        f"{quoted(skill.uri)} has the path of {quoted(other)}, so it is published with its scheme before it",
        hint="nothing to do; whoever runs the server can give the two different paths",
    )


def _nowhere(path: list[str], skill: SkillClaim, other: str) -> Problem:
    return Problem(
        escape_invisible("/".join([*path, SKILL_FILE])),
        Rule.URI_TAKEN,
        Severity.ERROR,
        f"{quoted(skill.uri)} cannot be told from {quoted(other)}, so it is left out",
        hint="whoever runs the server can give the two different paths",
    )
