"""`Place`: one source of skills in a host, with a label. The skills are the user's own or a server's."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anyio.to_thread import run_sync

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord, Trust
from skillwire.errors import VerificationError
from skillwire.host.hosted_skill import HostedSkill, describe_place
from skillwire.host.hosted_template import HostedTemplate
from skillwire.host.servers.connected import SkillsTransport
from skillwire.host.servers.records import hosted_record
from skillwire.host.servers.source import ServerSource
from skillwire.library.library import Library
from skillwire.protocol.archive_rules import UnpackedFiles
from skillwire.protocol.claims import DeliveryClaim, SkillClaim
from skillwire.protocol.findings import Findings, server_problem
from skillwire.sources.base import Source


@dataclass(frozen=True, slots=True)
class Found:
    """The skills and templates that a place lists, and every problem in its lists."""

    skills: list[HostedSkill]
    findings: Findings = field(default_factory=Findings)
    templates: list[HostedTemplate] = field(default_factory=list[HostedTemplate])


class Place(ABC):
    """One source of skills in a host: a server, or a folder or other source of the user's own skills.

    The methods raise `SkillwireError` or `MCPError`.
    """

    local: bool
    """Whether the skills are the user's own, which need no approval."""

    def __init__(self, label: str) -> None:
        self.label = label

    @property
    def origin(self) -> str:
        return describe_place(self.label, local=self.local)

    @property
    def identity(self) -> str | None:
        """Identifies the server behind the label (H28).

        None for the user's own skills, and for a server whose approvals cannot be stored.
        """
        return None

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """The extension settings that a server last declared (H1); None if there are none."""
        return None

    @abstractmethod
    async def list(self) -> Found:
        """Return the skills and templates that the place lists now, and the problems in its lists."""

    @abstractmethod
    async def get(self, uri: str) -> HostedSkill:
        """Return the current version of the skill at `uri`, listed or not (H3, H15)."""

    @abstractmethod
    async def read(self, uri: str, size: int | None = None) -> bytes:
        """Return the bytes at `uri`, whose listed size is `size`. Callers must verify bytes from a server."""

    async def complete(self, template: HostedTemplate, parameter: str, typed: str) -> "list[str]":  # noqa: ARG002 - for servers
        """Return values for a parameter, to show to people. The values need not begin with `typed`."""
        return [*template.known_values(parameter)]

    def refill(self) -> None:  # noqa: B027 - own sources have no such limit
        """Reset the number of bytes that may be read. Only places for servers have such a limit."""

    async def unpack(self, skill: SkillClaim, archive: DeliveryClaim) -> UnpackedFiles:  # noqa: ARG002 - for servers
        """Return all files in an archive of a server's skill, verified against the archive's digest.

        Raises `VerificationError` if the skills are the user's own.
        """
        message = "only skills of servers are delivered as archives"
        raise VerificationError("", server_problem(archive.uri, Rule.ARCHIVE, message))

    @abstractmethod
    async def children(self, uri: str) -> "list[str]":
        """Return the URIs of the direct children of a folder."""


def place_of(source: Source) -> Place:
    """Return the place for a source. Every source but a `ServerSource` is the user's own."""
    return ServerPlace(source) if isinstance(source, ServerSource) else OwnPlace(source)


class OwnPlace(Place):
    """A source of the user's own skills. Skills of servers in the source are refused."""

    local = True

    def __init__(self, source: Source) -> None:
        super().__init__(source.label)
        self._library = Library([source])

    async def list(self) -> Found:
        """Scan the source, and return its skills and templates. Each skill that is left out has a finding."""
        catalog = await self._library.load()
        found = Found([])
        for problem in catalog.problems:
            if _leaves_out(problem):
                found.findings.add(server_problem(problem.path, Rule.ENTRY_SHAPE, problem.message))
        for entry in catalog.entries.values():
            if not entry.listed:
                continue
            try:
                found.skills.append(_own(entry, self.label))
            except VerificationError as error:
                found.findings.add(*error.problems)
        own = (each for each in catalog.templates if not each.foreign and each.trust is Trust.OWN)
        found.templates.extend(HostedTemplate(replace(each, label=self.label)) for each in own)
        return found

    async def get(self, uri: str) -> HostedSkill:
        await self._library.load()  # no watcher reports changes, so scan again
        return _own(await self._library.skill(uri), self.label)

    async def read(self, uri: str, size: int | None = None) -> bytes:  # noqa: ARG002 - the library bounds what it reads
        await self._library.ensure_loaded()
        reading = await self._library.read(uri)
        _own(reading.served.entry, self.label)
        return reading.content

    async def children(self, uri: str) -> "list[str]":
        await self._library.ensure_loaded()
        catalog = self._library.catalog
        foreign = [each.root for each in catalog.entries.values() if not _is_own(each)]
        return [
            child
            for child in catalog.children(uri)
            if not any(child == root or child.startswith(f"{root}/") for root in foreign)
        ]


class ServerPlace(Place):
    """A server in a host. Callers must verify the files that it reads; only archives are already verified."""

    local = False

    def __init__(self, source: ServerSource) -> None:
        super().__init__(source.label)
        self._transport: SkillsTransport = source.transport

    @property
    def identity(self) -> str | None:
        return self._transport.identity

    @property
    def declared(self) -> Mapping[str, Any] | None:
        return self._transport.declared

    async def list(self) -> Found:
        listing = await self._transport.list()
        findings = Findings()
        findings.take(listing.findings)
        findings.take(listing.templates.findings)
        templates = [HostedTemplate.of_server(self.label, each) for each in listing.templates.claims.values()]
        skills = await run_sync(self._hosted, listing.skills)  # slow for long lists
        return Found(skills, findings, templates)

    async def get(self, uri: str) -> HostedSkill:
        return HostedSkill(hosted_record(self.label, claim := await self._transport.get(uri)), claim)

    async def read(self, uri: str, size: int | None = None) -> bytes:
        return await self._transport.read(uri, size)

    def refill(self) -> None:
        self._transport.refill()

    async def unpack(self, skill: SkillClaim, archive: DeliveryClaim) -> UnpackedFiles:
        return await self._transport.unpack(skill, archive)

    async def children(self, uri: str) -> "list[str]":
        return await self._transport.list_folder(uri)

    async def complete(self, template: HostedTemplate, parameter: str, typed: str) -> "list[str]":
        return await self._transport.complete(template.uri, parameter, typed)

    def _hosted(self, claims: "list[SkillClaim]") -> "list[HostedSkill]":
        return [HostedSkill(hosted_record(self.label, claim), claim) for claim in claims]


def _is_own(record: SkillRecord) -> bool:
    return not record.origin.foreign and record.trust is Trust.OWN


def _own(record: SkillRecord, label: str) -> HostedSkill:
    """Return the skill of one of the user's own records, with `label` as the source.

    Raises `VerificationError` for the record of a server's skill. Such a skill needs an approval, which
    cannot be bound without the server's claim.
    """
    if not _is_own(record):
        message = "it comes from a server; give the host the server itself, so that the user can approve it"
        raise VerificationError("", server_problem(record.uri, Rule.ENTRY_SHAPE, message))
    if record.origin.source != label:
        record = replace(record, origin=replace(record.origin, source=label))
    return HostedSkill(record)


def _leaves_out(problem: Problem) -> bool:
    """Return whether this problem keeps a skill, or the whole source, from being listed."""
    return problem.severity is Severity.ERROR or problem.rule is Rule.SOURCE_WAITING
