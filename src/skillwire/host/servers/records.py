"""Convert a server's claims to records, and its findings to problems.

The path in the URI of each record begins with the server's label.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from skillwire.core.json_text import json_equal
from skillwire.core.mime import MARKDOWN, mime_type
from skillwire.core.names import SKILL_FILE, parent_paths, root_uri
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, Origin, SkillFile, SkillRecord, Trust, Withheld
from skillwire.core.template import SkillTemplate
from skillwire.host.hosted_skill import SHOWN_DESCRIPTION
from skillwire.protocol.claims import FileClaim, SkillClaim
from skillwire.protocol.findings import Findings, server_problem
from skillwire.protocol.templates import TemplateClaim
from skillwire.safe_text import escape_invisible, quote_if_needed, quoted, strip_invisible
from skillwire.sources.assemble import path_problems

_MAX_FRONTMATTER = 256 * 1024
"""Maximum length of frontmatter as JSON, in characters."""
_MAX_SHOWN = 3
"""Maximum number of problems to name in one sentence."""
_UNDECIDED = Withheld(
    "it is not approved", "approve it with `skillwire approve`, and serve it with `skillwire bridge`"
)
_UNDECIDED_TEMPLATE = Withheld(
    "its skills are not approved",
    "approve one with `skillwire approve`, and serve it with `skillwire bridge`",
)
_SERVER_HINT = "report it to the operator of the server; `skillwire verify` shows all its problems"


@dataclass(frozen=True, slots=True)
class PublishedRecord:
    """A server's claim, and the record that is published for it."""

    claim: SkillClaim
    entry: SkillRecord
    files: Mapping[str, FileClaim]
    """The claim for each file, by path. Empty unless the server lists the size and digest of every file."""

    def is_unchanged(self, claim: SkillClaim, root: str) -> bool:
        """Return whether publishing this claim below `root` would give the same record."""
        if self.entry.root != root:
            return False
        if self.claim is claim:
            return True
        # `==` alone considers 1 and True equal.
        return self.claim == claim and json_equal(dict(self.claim.frontmatter), dict(claim.frontmatter))


@dataclass(frozen=True, slots=True)
class PublishedSkills:
    """A server's publishable skills, by their URIs on the server, and the problems with its skills."""

    skills: Mapping[str, PublishedRecord]
    problems: tuple[Problem, ...]
    packed: Mapping[str, SkillClaim]
    """Skills to publish once their archives are unpacked, by the `path` of the problem that reports each."""


def publish(
    label: str,
    skills: Iterable[SkillClaim],
    known: Mapping[str, PublishedRecord],
    trust: Trust = Trust.WITHHELD,
) -> PublishedSkills:
    """Return the skills in the form in which they are published below `label`.

    `known` is the `skills` of an earlier result with the same `trust`, or empty. Its records are reused for
    unchanged skills.
    """
    published: dict[str, PublishedRecord] = {}
    problems: list[Problem] = []
    packed: dict[str, SkillClaim] = {}
    taken: dict[str, str] = {}
    for skill in skills:
        path = path_of(skill.uri)
        if reason := why_not_passed_on(skill):
            problems.append(problem := _not_passed_on(path, reason))
            if skill.is_packed:
                packed[problem.path] = skill
            continue
        found = _published(label, path, skill, known.get(skill.uri), trust)
        if isinstance(found, PublishedRecord) and found.entry.root in taken:
            # Another skill has this path, in another scheme or spelling. Publish the skill below its scheme.
            problems.append(_published_below_scheme(path, skill, taken[found.entry.root]))
            scheme = skill.uri.partition(":")[0].lower()
            found = _published(label, [scheme, *path], skill, known.get(skill.uri), trust)
        if isinstance(found, PublishedRecord) and found.entry.root in taken:
            found = [_left_out(path, skill, taken[found.entry.root])]
        if isinstance(found, PublishedRecord):
            taken[found.entry.root] = skill.uri
            published[skill.uri] = found
        else:
            problems.extend(found)
    return PublishedSkills(published, tuple(problems), packed)


def hosted_record(label: str, skill: SkillClaim) -> SkillRecord:
    """Return the record of a skill for use in a host. Its trust is withheld.

    A host can use more skills than a bridge can serve. A host identifies a skill by its label and its URI on
    the server (H9), so two records may have the same URI here.
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


def why_not_published(
    label: str, skill: SkillClaim, listed: Iterable[SkillClaim], templates: Iterable[TemplateClaim] = ()
) -> str:
    """Return why a bridge cannot serve a skill, or an empty string if it can.

    `listed` contains all skills that the server lists, `templates` its templates.
    """
    if reason := why_not_passed_on(skill):
        return reason
    every = list(listed)
    if all(each.uri != skill.uri for each in every):
        if all(each.match(skill.uri) is None for each in templates):
            return "the server does not list it, and a bridge serves listed skills only"
        every.append(skill)
    alone = publish(label, [skill], {})
    if skill.uri not in alone.skills:
        return "; ".join(
            f"{quote_if_needed(each.path)}: {each.message}" for each in alone.problems[:_MAX_SHOWN]
        )
    if skill.uri not in publish(label, every, {}).skills:
        return "the server lists another skill with the same path"
    return ""


def published_template(label: str, claim: TemplateClaim, trust: Trust) -> SkillTemplate:
    """Return a template as it is published below `label`. Its location is the server's URI template."""
    return SkillTemplate(
        path=f"{label}/{claim.path}",
        description=claim.description,
        label=label,
        location=claim.uri_template,
        trust=trust,
        withheld=_UNDECIDED_TEMPLATE if trust is Trust.WITHHELD else None,
        foreign=True,
    )


def why_not_passed_on(skill: SkillClaim) -> str:
    """Return what the entry of a skill lacks for clients of a bridge, or an empty string.

    These clients get entries in the final form: the whole frontmatter, and either all files with digests and
    sizes, or `dynamic`.
    """
    dialect = quoted(skill.dialect.value)
    if skill.is_packed:
        return f"its files are in an archive ({dialect}), which has not been unpacked"
    if not skill.has_whole_frontmatter:
        listed = "name and description" if "description" in skill.frontmatter else "name"
        return f"its server lists only its {listed} ({dialect}), not its whole frontmatter"
    if skill.files is not None and not skill.sized:
        return f"its server lists no sizes of its files ({dialect})"
    return ""


def path_of(uri: str) -> list[str]:
    """Return the decoded path segments of a skill's folder, from a URI with any scheme."""
    rest = uri.partition(":")[2].lstrip("/").removesuffix(f"/{SKILL_FILE}")
    return [unquote(name) for name in rest.split("/")]


def finding_problems(findings: Findings) -> Iterator[Problem]:
    """Yield a problem for each stored finding, and one with the number of further findings."""
    for finding in findings.kept:
        yield finding_problem(finding)
    if findings.more:
        yield finding_problem(server_problem("", Rule.MORE, f"and {findings.more:,} more"))


def finding_problem(finding: Problem) -> Problem:
    is_entry = finding.path.endswith(f"/{SKILL_FILE}") and finding.rule is not Rule.TEMPLATE
    path = "/".join([*path_of(finding.path), SKILL_FILE]) if is_entry else "."
    return Problem(
        escape_invisible(path),
        Rule.SERVER_ENTRY if is_entry else Rule.SERVER_LIST,
        Severity.ERROR if is_entry else Severity.WARNING,
        f"{_about(finding)}{escape_invisible(finding.message)} ({finding.rule})",
        hint=_SERVER_HINT,
    )


def _about(finding: Problem) -> str:
    """Return a prefix with the template that a finding is about, or an empty string for other findings."""
    return f"{quote_if_needed(finding.path)}: " if finding.rule is Rule.TEMPLATE else ""


def _not_passed_on(path: list[str], reason: str) -> Problem:
    return Problem(
        escape_invisible("/".join([*path, SKILL_FILE])),
        Rule.NOT_PASSED_ON,
        Severity.WARNING,
        f"it is not passed on: {reason}",
        hint="hosts can use it directly; its operator can update the server to the final extension",
    )


def _published(
    label: str, path: list[str], skill: SkillClaim, known: PublishedRecord | None, trust: Trust
) -> PublishedRecord | list[Problem]:
    shown = "/".join(path)
    # A skill without listed files is published as a dynamic skill.
    files = {_file_path(skill, file): file for file in skill.files or () if skill.sized}
    if faults := [replace(each, hint=_SERVER_HINT) for each in path_problems(shown, files)]:
        return faults
    root = root_uri([label, *path])
    if known is not None and known.is_unchanged(skill, root):
        return known
    if reason := _why_not_json(skill):
        return [finding_problem(server_problem(skill.uri, Rule.ENTRY_SHAPE, reason))]
    entry = SkillRecord(
        uri=f"{root}/{SKILL_FILE}",
        frontmatter=skill.frontmatter,
        files=_entry_files(skill, files),
        directories=tuple(sorted({folder for file in files for folder in parent_paths(file)})),
        origin=Origin(label, skill.uri, f"{shown}/{SKILL_FILE}", foreign=True),
        shown_as=strip_invisible(
            skill.description, SHOWN_DESCRIPTION
        ),  # the description is shown before approval (H27)
        trust=trust,
        withheld=_UNDECIDED if trust is Trust.WITHHELD else None,
    )
    return PublishedRecord(skill, entry, files)


def _file_path(skill: SkillClaim, file: FileClaim) -> str:
    return unquote(file.uri.removeprefix(f"{skill.root}/"))


def _entry_files(skill: SkillClaim, files: Mapping[str, FileClaim]) -> tuple[SkillFile | LiveFile, ...]:
    """Return the files of a record: only a live `SKILL.md` unless all files are listed with sizes.

    MIME types are guessed from file names, because no content is fetched (H11).
    """
    if not skill.sized:
        return (LiveFile(SKILL_FILE, MARKDOWN),)
    return tuple(
        SkillFile(path, mime_type(path, text="." not in path.rpartition("/")[2]), file.digest, file.size or 0)
        for path, file in sorted(files.items(), key=lambda each: (each[0] != SKILL_FILE, each[0]))
    )


def _why_not_json(skill: SkillClaim) -> str:
    """Return why a frontmatter is invalid or too long as JSON, or an empty string if it is neither.

    One invalid frontmatter would break the whole list (H26).
    """
    try:
        encoded = json.dumps(skill.frontmatter, ensure_ascii=False, allow_nan=False)
        encoded.encode()
    except (ValueError, RecursionError):
        return "its frontmatter is not valid JSON: a lone surrogate, NaN or infinity, or nested too deeply"
    if len(encoded) > _MAX_FRONTMATTER:
        return f"its frontmatter has {len(encoded):,} characters; the limit is {_MAX_FRONTMATTER:,}"
    return ""


def _published_below_scheme(path: list[str], skill: SkillClaim, other: str) -> Problem:
    """Return the warning for a skill published below its scheme, because `other` has the same path."""
    return Problem(
        escape_invisible("/".join([*path, SKILL_FILE])),
        Rule.URI_TAKEN,
        Severity.WARNING,
        f"{quoted(skill.uri)} has the same path as {quoted(other)}, so it is published below its scheme",
        hint="nothing to do; the operator of the server can give the two different paths",
    )


def _left_out(path: list[str], skill: SkillClaim, other: str) -> Problem:
    """Return the problem for a skill that is left out, because `other` has the same path."""
    return Problem(
        escape_invisible("/".join([*path, SKILL_FILE])),
        Rule.URI_TAKEN,
        Severity.ERROR,
        f"{quoted(skill.uri)} has the same path as {quoted(other)}, so it is left out",
        hint="the operator of the server can give the two different paths",
    )
