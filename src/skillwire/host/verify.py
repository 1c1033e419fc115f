"""Verify that a server delivers what it lists: every entry, file and frontmatter."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import IntEnum
from urllib.parse import unquote

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from skillwire.core.concurrency import MAX_CONCURRENT_READS, MAX_CONCURRENT_UNSIZED_READS, process_in_order
from skillwire.core.conformance import nonconformities
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule
from skillwire.errors import VerificationError
from skillwire.host.dialects.client import Listing, SkillsClient, refusal
from skillwire.host.dialects.drafts import DraftsClient
from skillwire.protocol.claims import (
    DeliveryClaim,
    Dialect,
    FileClaim,
    Integrity,
    SkillClaim,
    is_object,
    is_uri_text,
)
from skillwire.protocol.findings import Findings, server_problem
from skillwire.protocol.messages import EXTENSION, RESOURCES_LIST, SKILLS_LIST
from skillwire.protocol.verify import file_faults, frontmatter_faults

_INCOMPLETE = frozenset(
    {Rule.LIST_ENDLESS, Rule.READ_FAILED, Rule.READ_BUDGET, Rule.ENTRY_LIMITS, Rule.TIMEOUT}
)
"""Rules whose findings mean only that an entry or file could not be verified completely."""


class Outcome(IntEnum):
    """The result of a verification, as an exit code."""

    VERIFIED = 0
    UNREACHABLE = 4
    NONCONFORMANT = 7
    INCOMPLETE = 8
    NO_DIGESTS = 9


@dataclass(slots=True)
class SkillReport:
    """The result for one skill: the number of matching files, the number of read bytes, and the findings."""

    uri: str
    dynamic: bool
    integrity: Integrity = Integrity.FULL
    files: int = 0
    size: int = 0
    findings: list[Problem] = field(default_factory=list[Problem])
    good: bool = True
    """Whether everything matches the list. Findings that only affect `conforms` do not count."""
    conforms: bool = True
    """Whether strict clients accept a list that contains the skill."""


@dataclass(slots=True)
class Report:
    """The result for a server. It is filled step by step, and can be used at any time."""

    skills: list[SkillReport] = field(default_factory=list[SkillReport])
    found: Findings = field(default_factory=Findings)
    dialect: Dialect | None = None

    def note(self, *found: Problem, skill: SkillReport | None = None) -> None:
        """Add findings. Findings about a `skill` are also added to its report."""
        for finding in found:
            count = len(self.found.kept)
            self.found.add(finding)
            if skill is not None:
                if finding.rule is Rule.ENTRY_NONCONFORMING:
                    skill.conforms = False
                else:
                    skill.good = False
                skill.findings += self.found.kept[count:]

    def take(self, found: Findings) -> None:
        """Add collected findings, including the number of findings that were not stored."""
        self.note(*found.kept)
        self.found.more += found.more
        self.found.rules |= found.rules

    @property
    def count(self) -> int:
        """The number of all findings, including those that were counted but not stored."""
        return len(self.found.kept) + self.found.more

    def all_findings(self) -> list[Problem]:
        """Return the findings. If there are more than the limit, the last finding tells how many more."""
        more = f"and {self.found.more:,} more"
        return [*self.found.kept, *([server_problem("findings", Rule.MORE, more)] if self.found.more else [])]

    def other_findings(self) -> list[Problem]:
        """Return the findings that belong to no skill in the report."""
        owned = {id(finding) for skill in self.skills for finding in skill.findings}
        return [finding for finding in self.all_findings() if id(finding) not in owned]

    def outcome(self, *, require_digests: bool = False) -> Outcome:
        if self.found.rules - _INCOMPLETE:
            return Outcome.NONCONFORMANT
        if self.found.rules:
            return Outcome.INCOMPLETE
        if require_digests and any(skill.integrity is not Integrity.FULL for skill in self.skills):
            return Outcome.NO_DIGESTS
        return Outcome.VERIFIED


async def verify_server(
    client: SkillsClient, report: Report | None = None, *, drafts: bool = False
) -> Report:
    """Read every file of every skill that a server lists, and compare it with the list.

    Skills that are listed only as resources are verified, too. Files are read concurrently, within limits.
    Findings are in list order.

    With `drafts`, entries in the form of earlier drafts are accepted and reported as a finding. `report` is
    filled as findings arrive, so it can be used after a cancellation. Returns `report`, or a new report.
    """
    report = report or Report()
    if client.declared is None:  # the extension's methods must not be called (H1)
        message = f"the server does not declare the extension `{EXTENSION}`"
        report.note(server_problem(SKILLS_LIST, Rule.LIST_SHAPE, message))
        if not drafts:
            return report
    skills_client = DraftsClient(client) if drafts else client
    try:
        listing = await skills_client.list()
    except VerificationError as error:
        report.note(error.problems[0])
        return report
    except MCPError as error:
        report.note(refusal(SKILLS_LIST, error))
        return report
    report.dialect = listing.dialect
    report.take(listing.findings)
    await _verify_all(skills_client, listing.skills, report)
    if client.declared is not None and client.offers_resources:
        unlisted = await _unlisted(client, {skill.uri for skill in listing.skills}, report)
        await _verify_all(client, unlisted, report, listed=False)
    return report


async def _verify_all(
    client: SkillsClient | DraftsClient, skills: Sequence[SkillClaim], report: Report, *, listed: bool = True
) -> None:
    request_slots, unsized_slots = (
        anyio.Semaphore(MAX_CONCURRENT_READS),
        anyio.Semaphore(MAX_CONCURRENT_UNSIZED_READS),
    )
    verified = [
        _SkillVerifier(client, skill, report, request_slots, unsized_slots, listed=listed) for skill in skills
    ]
    try:
        await process_in_order(verified, _SkillVerifier.verify, _SkillVerifier.add_to_report)
    finally:  # after a cancellation, unfinished skills report their findings so far
        for skill in verified:
            skill.add_to_report()


async def _unlisted(client: SkillsClient, listed: set[str], report: Report) -> list[SkillClaim]:
    """Return skills that are listed as resources, but not in the list of skills.

    A server may serve more skills than it lists (S13). A resource is a skill only if `skills/get` returns it
    (H4). Invalid entries are reported.
    """
    skills = list[SkillClaim]()

    async def get(uri: str) -> SkillClaim | Problem | None:
        try:
            return await client.get(uri)
        except VerificationError as error:
            return error.problems[0]
        except MCPError:
            return None  # a resource, but not a skill

    def take(found: SkillClaim | Problem | None) -> None:
        if isinstance(found, Problem):
            report.note(found)
        elif found is not None:
            skills.append(found)

    uris = [uri for uri in await _documents(client, report) if uri not in listed]
    await process_in_order(uris, get, take)
    return skills


async def _documents(client: SkillsClient, report: Report) -> list[str]:
    """Return the URI of each resource that may be a `SKILL.md`. If some may be missing, report why."""
    listing, uris = Listing(), dict[str, None]()
    try:
        async for resource in client.resources(listing):
            uri = resource.get("uri") if is_object(resource) else None
            if is_uri_text(uri) and uri.endswith(f"/{SKILL_FILE}"):
                uris[uri] = None
    except VerificationError as error:
        report.note(error.problems[0])
    except MCPError as error:
        if error.code != METHOD_NOT_FOUND:  # a server need not list its resources
            report.note(refusal(RESOURCES_LIST, error))
    report.take(listing.findings)
    return list(uris)


@dataclass(frozen=True, slots=True)
class _ReadResult:
    """The result of reading one file."""

    content: bytes = b""
    """The content of a matching `SKILL.md`; empty for all other files, to save memory."""
    good: bool = False
    """Whether the content matches the list."""
    size: int = 0
    findings: Sequence[Problem] = ()


class _SkillVerifier:
    """Verifies one skill. Findings are added to the report later, in list order."""

    def __init__(
        self,
        client: SkillsClient | DraftsClient,
        skill: SkillClaim,
        report: Report,
        request_slots: anyio.Semaphore,
        unsized_slots: anyio.Semaphore,
        *,
        listed: bool,
    ) -> None:
        """Prepare a verification.

        `request_slots` limits all concurrent requests; `unsized_slots` limits requests for files of unknown
        size.
        """
        self._client, self._skill, self._report = client, skill, report
        self._request_slots, self._unsized_slots, self._listed = request_slots, unsized_slots, listed
        dynamic = skill.files is None and not skill.deliveries
        self._own = SkillReport(skill.uri, dynamic, skill.integrity)
        self._findings: list[Problem] = []
        self._done = False

    async def verify(self) -> "_SkillVerifier":
        self._findings += self._conforms()
        if self._skill.dialect.has_methods and self._listed:
            await self._get()
        if self._skill.files is None and (self._skill.document or not self._skill.archives):
            self._record_document(await self._read(self._skill.uri))
        for archive in self._skill.archives:
            await self._unpack(archive)
        await process_in_order(self._skill.files or (), self._read_file, self._record_file)
        self._done = True
        return self

    def add_to_report(self) -> None:
        """Move the findings into the report, and add the skill's result once it is complete."""
        self._report.note(*self._findings, skill=self._own)
        self._findings = []
        if self._done:
            self._report.skills.append(self._own)
            self._done = False

    def _conforms(self) -> list[Problem]:
        root = self._skill.uri.removesuffix(SKILL_FILE)
        paths = [unquote(file.uri.removeprefix(root)) for file in self._skill.files or ()]
        reasons = nonconformities(self._skill.frontmatter, paths)
        if not reasons:
            return []
        what = "; ".join(reason.message for reason in reasons)
        where = "it is listed" if self._listed else "it is served, but not listed"
        message = f"{where}; strict clients refuse every list that contains it: {what}"
        return [server_problem(self._skill.uri, Rule.ENTRY_NONCONFORMING, message)]

    async def _get(self) -> None:
        uri = self._skill.uri
        try:
            async with self._request_slots:
                same = await self._client.get(uri) == self._skill
            if not same:
                message = "`skills/get` and `skills/list` return different entries for it"
                self._findings.append(server_problem(uri, Rule.ENTRY_OTHER, message))
        except VerificationError as error:
            self._findings.append(error.problems[0])
        except MCPError as error:
            self._findings.append(refusal(uri, error))

    async def _unpack(self, archive: DeliveryClaim) -> None:
        assert isinstance(self._client, DraftsClient)
        try:
            async with self._unsized_slots, self._request_slots:
                files = (await self._client.unpack(self._skill, archive)).files
        except VerificationError as error:
            self._findings.append(error.problems[0])
        except MCPError as error:
            self._findings.append(refusal(archive.uri, error))
        else:
            self._own.files += len(files)
            self._own.size += sum(map(len, files.values()))

    async def _read_file(self, file: FileClaim) -> tuple[FileClaim, _ReadResult]:
        return file, await self._read(file.uri, file)

    def _record_file(self, result: tuple[FileClaim, _ReadResult]) -> None:
        """Add the result of reading a listed file. For `SKILL.md`, also check the frontmatter."""
        file, read = result
        if file.uri == self._skill.uri:
            self._record_document(read)
        else:
            self._record(read)

    def _record_document(self, read: _ReadResult) -> None:
        self._record(read)
        if read.good:
            self._findings += frontmatter_faults(self._skill, read.content)

    def _record(self, read: _ReadResult) -> None:
        self._own.size += read.size
        self._own.files += read.good
        self._findings += read.findings

    async def _read(self, uri: str, file: FileClaim | None = None) -> _ReadResult:
        """Read a file, and compare it with its claim if there is one. Return errors as findings."""
        size = None if file is None else file.size
        try:
            async with AsyncExitStack() as slots:
                if size is None:
                    await slots.enter_async_context(self._unsized_slots)
                await slots.enter_async_context(self._request_slots)
                content = await self._client.read(uri, size)
        except VerificationError as error:
            return _ReadResult(findings=[error.problems[0]])
        except MCPError as error:
            return _ReadResult(findings=[refusal(uri, error)])
        faults = [] if file is None else list(file_faults(file, content))
        good = not faults
        return _ReadResult(content if good and uri == self._skill.uri else b"", good, len(content), faults)
