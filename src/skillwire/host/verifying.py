"""Whether a server keeps what it promises: every entry, every file, every frontmatter."""

from dataclasses import dataclass, field
from enum import IntEnum

from mcp.shared.exceptions import MCPError

from skillwire.host.client import FindingError, SkillsClient, refusal
from skillwire.wire.findings import Fault, Finding
from skillwire.wire.messages import EXTENSION, SKILLS_LIST
from skillwire.wire.remote import RemoteFile, RemoteSkill
from skillwire.wire.verify import file_faults, frontmatter_faults

BUDGET = 256 * 1024 * 1024
"""Bytes that are read of one server (H25)."""

_INCOMPLETE = frozenset({Fault.LIST_ENDLESS, Fault.READ_FAILED, Fault.READ_BUDGET, Fault.ENTRY_LIMITS})
"""What keeps something from being verified, and proves nothing else."""


class Outcome(IntEnum):
    """What was found, as an exit code. The first that applies counts."""

    VERIFIED = 0
    UNREACHABLE = 4
    NONCONFORMANT = 7
    INCOMPLETE = 8
    NO_DIGESTS = 9


@dataclass(slots=True)
class SkillReport:
    """One skill: how much of it is as listed, and what is not."""

    uri: str
    dynamic: bool
    files: int = 0
    size: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])


@dataclass(slots=True)
class Report:
    """Everything that was found out about a server."""

    skills: list[SkillReport] = field(default_factory=list[SkillReport])
    findings: list[Finding] = field(default_factory=list[Finding])
    """Those that belong to no skill among the others."""

    def all_findings(self) -> list[Finding]:
        return [*self.findings, *(finding for skill in self.skills for finding in skill.findings)]

    def outcome(self, *, require_digests: bool = False) -> Outcome:
        faults = {finding.fault for finding in self.all_findings()}
        if faults - _INCOMPLETE:
            return Outcome.NONCONFORMANT
        if faults:
            return Outcome.INCOMPLETE
        if require_digests and any(skill.dynamic for skill in self.skills):
            return Outcome.NO_DIGESTS
        return Outcome.VERIFIED


async def verify_server(client: SkillsClient, budget: int = BUDGET) -> Report:
    """Read every file of every skill that a server lists, and compare it with its entry."""
    report = Report()
    if client.declared is None:  # and then its methods are not to be called (H1)
        told = f"the server does not declare the extension `{EXTENSION}`"
        report.findings.append(Finding(SKILLS_LIST, Fault.LIST_SHAPE, told))
        return report
    try:
        listing = await client.list()
    except MCPError as error:
        report.findings.append(refusal(SKILLS_LIST, error))
        return report
    report.findings += listing.findings
    for skill in listing.skills:
        verified = await _verify_skill(client, skill, budget)
        budget -= verified.size
        report.skills.append(verified)
    return report


async def _verify_skill(client: SkillsClient, skill: RemoteSkill, budget: int) -> SkillReport:
    report = SkillReport(skill.uri, dynamic=skill.files is None)
    try:
        if await client.get(skill.uri) != skill:
            told = "`skills/get` and `skills/list` say different things of it"
            report.findings.append(Finding(skill.uri, Fault.ENTRY_OTHER, told))
    except FindingError as error:
        report.findings.append(error.finding)
    except MCPError as error:
        report.findings.append(refusal(skill.uri, error))
    if skill.files is None:
        content = await _read(client, skill.uri, None, report, budget)
        if content is not None:
            report.findings += frontmatter_faults(skill, content)
    for file in skill.files or ():
        content = await _read(client, file.uri, file, report, budget - report.size)
        if content is not None and file.uri == skill.uri:
            report.findings += frontmatter_faults(skill, content)
    return report


async def _read(
    client: SkillsClient, uri: str, file: RemoteFile | None, report: SkillReport, budget: int
) -> bytes | None:
    """Return the bytes of a file that is as listed; note what is wrong with any other."""
    if file is not None and file.size > budget:
        told = f"it was not read: {BUDGET:,} bytes are read of one server"
        report.findings.append(Finding(uri, Fault.READ_BUDGET, told))
        return None
    try:
        content = await client.read(uri)
    except FindingError as error:
        report.findings.append(error.finding)
        return None
    except MCPError as error:
        report.findings.append(refusal(uri, error))
        return None
    report.size += len(content)
    if faults := [] if file is None else list(file_faults(file, content)):
        report.findings += faults
        return None
    report.files += 1
    return content
