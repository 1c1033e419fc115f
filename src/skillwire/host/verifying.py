"""Whether a server keeps what it promises: every entry, every file, every frontmatter."""

from dataclasses import dataclass, field
from enum import IntEnum

from mcp.shared.exceptions import MCPError

from skillwire.host.dialects.client import DraftsClient
from skillwire.host.reaching.client import SkillsClient, refusal
from skillwire.wire.dialect import Dialect, Integrity
from skillwire.wire.findings import Fault, Finding, FindingError, Findings
from skillwire.wire.messages import EXTENSION, SKILLS_LIST
from skillwire.wire.remote import RemoteDelivery, RemoteFile, RemoteSkill
from skillwire.wire.verify import file_faults, frontmatter_faults

_INCOMPLETE = frozenset(
    {Fault.LIST_ENDLESS, Fault.READ_FAILED, Fault.READ_BUDGET, Fault.ENTRY_LIMITS, Fault.TIMEOUT}
)
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
    integrity: Integrity = Integrity.FULL
    files: int = 0
    size: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    good: bool = True
    """Whether there was no finding, kept or not."""


@dataclass(slots=True)
class Report:
    """Everything that was found out about a server. It is filled bit by bit, and good at any moment."""

    skills: list[SkillReport] = field(default_factory=list[SkillReport])
    found: Findings = field(default_factory=Findings)
    dialect: Dialect | None = None

    def note(self, *found: Finding, skill: SkillReport | None = None) -> None:
        """Add what was found, of a skill or of none among the others."""
        for finding in found:
            kept = len(self.found.kept)
            self.found.add(finding)
            if skill is not None:
                skill.good = False
                skill.findings += self.found.kept[kept:]

    def take(self, found: Findings) -> None:
        """Add what was found in a list, with all that it did not keep."""
        self.note(*found.kept)
        self.found.more += found.more
        self.found.faults |= found.faults

    @property
    def count(self) -> int:
        """How many findings there were, kept or not."""
        return len(self.found.kept) + self.found.more

    def all_findings(self) -> list[Finding]:
        """Return what was kept; if that is not everything, the last says how many more there were."""
        more = f"and {self.found.more:,} more"
        return [*self.found.kept, *([Finding("findings", Fault.MORE, more)] if self.found.more else [])]

    def other_findings(self) -> list[Finding]:
        """Return those that belong to no skill among the others."""
        owned = {id(finding) for skill in self.skills for finding in skill.findings}
        return [finding for finding in self.all_findings() if id(finding) not in owned]

    def outcome(self, *, require_digests: bool = False) -> Outcome:
        if self.found.faults - _INCOMPLETE:
            return Outcome.NONCONFORMANT
        if self.found.faults:
            return Outcome.INCOMPLETE
        if require_digests and any(skill.integrity is not Integrity.FULL for skill in self.skills):
            return Outcome.NO_DIGESTS
        return Outcome.VERIFIED


async def verify_server(
    client: SkillsClient, report: Report | None = None, *, drafts: bool = False
) -> Report:
    """Read every file of every skill that a server lists, and compare it with its entry.

    With `drafts`, also what a server says in the words of an early draft; that it does is a finding.
    What is found stands in `report` at once, so that it is there if this is cancelled.
    """
    report = report or Report()
    if client.declared is None:  # and then its methods are not to be called (H1)
        told = f"the server does not declare the extension `{EXTENSION}`"
        report.note(Finding(SKILLS_LIST, Fault.LIST_SHAPE, told))
        if not drafts:
            return report
    asked = DraftsClient(client) if drafts else client
    try:
        listing = await asked.list()
    except FindingError as error:
        report.note(error.finding)
        return report
    except MCPError as error:
        report.note(refusal(SKILLS_LIST, error))
        return report
    report.dialect = listing.dialect
    report.take(listing.findings)
    for skill in listing.skills:
        await _Skill(asked, skill, report).verify()
    return report


class _Skill:
    """One skill, being verified."""

    def __init__(self, client: SkillsClient | DraftsClient, skill: RemoteSkill, report: Report) -> None:
        self._client, self._skill, self._report = client, skill, report
        dynamic = skill.files is None and not skill.deliveries
        self._own = SkillReport(skill.uri, dynamic, skill.integrity)

    async def verify(self) -> None:
        if self._skill.dialect.has_methods:
            await self._get()
        if self._skill.files is None and (self._skill.document or not self._skill.archives):
            self._document(await self._read(self._skill.uri))
        for archive in self._skill.archives:
            await self._unpack(archive)
        for file in self._skill.files or ():
            content = await self._read(file.uri, file)
            if file.uri == self._skill.uri:
                self._document(content)
        self._report.skills.append(self._own)

    def _note(self, *found: Finding) -> None:
        self._report.note(*found, skill=self._own)

    async def _get(self) -> None:
        uri = self._skill.uri
        try:
            if await self._client.get(uri) != self._skill:
                told = "`skills/get` and `skills/list` say different things of it"
                self._note(Finding(uri, Fault.ENTRY_OTHER, told))
        except FindingError as error:
            self._note(error.finding)
        except MCPError as error:
            self._note(refusal(uri, error))

    def _document(self, content: bytes | None) -> None:
        if content is not None:
            self._note(*frontmatter_faults(self._skill, content))

    async def _unpack(self, archive: RemoteDelivery) -> None:
        assert isinstance(self._client, DraftsClient)
        try:
            files = await self._client.unpack(self._skill, archive)
        except FindingError as error:
            self._note(error.finding)
        except MCPError as error:
            self._note(refusal(archive.uri, error))
        else:
            self._own.files += len(files)
            self._own.size += sum(map(len, files.values()))

    async def _read(self, uri: str, file: RemoteFile | None = None) -> bytes | None:
        """Return the bytes of a file that is as listed; note what is wrong with any other."""
        try:
            content = await self._client.read(uri, 1 if file is None else file.size)
        except FindingError as error:
            self._note(error.finding)
            return None
        except MCPError as error:
            self._note(refusal(uri, error))
            return None
        self._own.size += len(content)
        if faults := [] if file is None else list(file_faults(file, content)):
            self._note(*faults)
            return None
        self._own.files += 1
        return content
