"""Which skills a server has, and in which dialect it says so: the newest that tells of any skill counts."""

from collections.abc import AsyncGenerator

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from skillwire.catalog.in_order import in_order
from skillwire.host.reaching.client import Listing, SkillsClient, refusal
from skillwire.model.uri import SKILL_FILE
from skillwire.wire.dialect import Dialect
from skillwire.wire.draft_index import read_draft_index
from skillwire.wire.drafts import INDEX_URI
from skillwire.wire.findings import Fault, Finding, FindingError, Findings
from skillwire.wire.listed_resources import ListedResources
from skillwire.wire.messages import EXTENSION, MANIFEST, RESOURCES_LIST, SKILLS_LIST
from skillwire.wire.remote import RemoteSkill, parse_entry
from skillwire.wire.skill_manifest import read_manifest

_INDEX, _MANIFEST = 16 * 1024 * 1024, 4 * 1024 * 1024
"""Bytes of the answer that holds an index, and of one that holds a manifest."""
MAX_MANIFESTS = 1000
"""Manifests that are read of one server: each is a request (H2)."""

_WARNINGS = {
    Dialect.DRAFT_C: (
        SKILLS_LIST,
        "the server speaks draft C of the extension: sizes are known only once files are read",
    ),
    Dialect.DRAFT_B: (
        INDEX_URI,
        "the server speaks draft B of the extension: only documents and archives have digests",
    ),
    Dialect.DRAFT_A: (
        INDEX_URI,
        "the server speaks draft A of the extension: at most documents and archives have digests",
    ),
    Dialect.MANIFEST: (
        RESOURCES_LIST,
        "the server does not speak the extension, but has FastMCP's manifests: two fields of each are known",
    ),
    Dialect.SCAN: (
        RESOURCES_LIST,
        "the server does not speak the extension, and has no index: skills are guessed, without digests",
    ),
    Dialect.OLD_URIS: (
        RESOURCES_LIST,
        "the server does not speak the extension, but has addresses from before it: skills have no digests",
    ),
}
"""What is told of a server that does not speak the final extension, and where that was noticed."""


async def discover(client: SkillsClient, *, drafts: bool = True) -> Listing:
    """Return the skills of a server, and the dialect in which it tells of them.

    Without `drafts`, only `skills/list` is asked. With them, the first dialect that yields a skill is taken,
    and a finding names it; skills of two dialects are never put together. That something is missing proves
    nothing. Raises `MCPError` if the server is gone; or if it refused a list, and told of no skill in another
    way.
    """
    search = _Search(client, drafts=drafts)
    later = (search.index, search.manifests, search.scan, search.old_uris) if drafts else ()
    findings, complete = Findings(), True
    for attempt in (search.methods, *later):  # in this order: the newer promises more
        listing = await attempt()
        findings.take(listing.findings)
        complete &= listing.complete
        if listing.skills:
            break
    else:
        if search.refused is not None:
            raise search.refused
        listing = Listing(dialect=None if client.declared is None else Dialect.FINAL)
    if client.declares_as_before:
        told = "the extension, or its `directoryRead`, is declared in a place of early drafts"
        findings.add(Finding(SKILLS_LIST, Fault.OLD_DRAFT, told))
    if listing.dialect is not None and listing.dialect in _WARNINGS:
        place, told = _WARNINGS[listing.dialect]
        findings.add(Finding(place, Fault.OLD_DRAFT, told))
    return Listing(listing.skills, findings, complete, listing.dialect)


class _Search:
    """One search for the skills of a server. No list is asked for twice."""

    def __init__(self, client: SkillsClient, *, drafts: bool) -> None:
        self.refused: MCPError | None = None
        self._client, self._drafts = client, drafts
        self._resources: ListedResources | None = None

    async def methods(self) -> Listing:
        """Ask `skills/list`. If no entry is a final one, those of draft C count."""
        listing, older = Listing(dialect=Dialect.FINAL), Listing(dialect=Dialect.DRAFT_C)
        limits = self._client.limits
        if self._client.declared is None:  # and then its methods are not to be called (H1)
            if not self._drafts:
                told = f"the server does not declare the extension `{EXTENSION}`"
                listing.findings.add(Finding(SKILLS_LIST, Fault.LIST_SHAPE, told))
            return listing
        async for entry in self._each(self._client.entries(listing), SKILLS_LIST, listing):
            listing.take(parse_entry(entry, limits))
            if self._drafts and not listing.skills:
                older.take(parse_entry(entry, limits, Dialect.DRAFT_C))
        if listing.skills or not older.skills:
            return listing
        older.complete = listing.complete
        return older

    async def index(self) -> Listing:
        """Read the index of the early drafts, if there is one."""
        if not self._client.offers_resources:
            return Listing()
        try:
            index = read_draft_index(await self._client.read(INDEX_URI, most=_INDEX))
        except FindingError as error:
            listing = Listing()
            listing.end(error.finding)
            return listing
        except MCPError as error:  # that there is none proves nothing
            _answered(error)
            return Listing()
        return Listing(list(index.skills.values()), index.findings, index.complete, index.dialect)

    async def manifests(self) -> Listing:
        """Read each manifest that is listed."""
        listing = Listing(dialect=Dialect.MANIFEST)
        resources = await self._listed(listing)

        async def read(uri: str) -> RemoteSkill | list[Finding]:
            told = resources.told_of(uri.removesuffix(MANIFEST) + SKILL_FILE)
            try:
                content = await self._client.read(uri, most=_MANIFEST)
                return read_manifest(uri, content, told, self._client.limits)
            except FindingError as error:
                return [error.finding]
            except MCPError as error:
                return [refusal(uri, _answered(error))]

        await in_order(resources.manifests[:MAX_MANIFESTS], read, listing.take)
        if (more := len(resources.manifests) - MAX_MANIFESTS) > 0:
            left_out = f"it has {more:,} manifests more than {MAX_MANIFESTS:,}; they were not read"
            listing.end(Finding(RESOURCES_LIST, Fault.LIST_ENDLESS, left_out))
        return listing

    async def scan(self) -> Listing:
        """Take each `SKILL.md` that is listed for a skill."""
        listing = Listing(dialect=Dialect.SCAN)
        for parsed in (await self._listed(listing)).scanned():
            listing.take(parsed)
        return listing

    async def old_uris(self) -> Listing:
        """Take each address `skill://name` that is listed for a skill."""
        listing = Listing(dialect=Dialect.OLD_URIS)
        for parsed in (await self._listed(listing)).at_old_uris():
            listing.take(parsed)
        return listing

    async def _listed(self, listing: Listing) -> ListedResources:
        """Return the resources that may be about skills. Whoever asks first is told what is wrong."""
        if self._resources is None:
            self._resources = ListedResources()
            if self._client.offers_resources:
                resources = self._client.resources(listing)
                async for resource in self._each(resources, RESOURCES_LIST, listing):
                    self._resources.add(resource)
        return self._resources

    async def _each(
        self, entries: AsyncGenerator[object], place: str, listing: Listing
    ) -> AsyncGenerator[object]:
        """Yield each entry; if the server breaks the list off, what came before counts."""
        try:
            async for entry in entries:
                yield entry
        except FindingError as error:
            listing.end(error.finding)
        except MCPError as error:
            self.refused = _answered(error)
            listing.end(refusal(place, error))


def _answered(error: MCPError) -> MCPError:
    """Return an error that is the server's answer. Raise one that says that none came: it proves nothing."""
    if error.code in {CONNECTION_CLOSED, REQUEST_TIMEOUT}:
        raise error
    return error
