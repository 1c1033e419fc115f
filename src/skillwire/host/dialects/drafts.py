"""A client for every dialect: find the dialect of a server, then list and read its skills."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT

from skillwire.core.concurrency import process_in_order
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Limits
from skillwire.errors import VerificationError
from skillwire.host.dialects.client import Listing, SkillsClient, refusal
from skillwire.protocol.archive_rules import UnpackedFiles
from skillwire.protocol.claims import DeliveryClaim, Dialect, SkillClaim, parse_entry, uri_faults
from skillwire.protocol.draft_index import read_draft_index
from skillwire.protocol.drafts import INDEX_URI
from skillwire.protocol.findings import Findings, server_problem
from skillwire.protocol.legacy import ListedResources, read_manifest, read_unlisted
from skillwire.protocol.messages import EXTENSION, MANIFEST, RESOURCES_LIST, SKILLS_LIST
from skillwire.protocol.templates import ListedTemplates
from skillwire.protocol.verify import delivery_faults, document_faults, relative_path, unpack_delivery

_INDEX, _MANIFEST = 16 * 1024 * 1024, 4 * 1024 * 1024
"""Maximum size of an index, and of a manifest, in bytes."""
MAX_MANIFESTS = 1000
"""Maximum number of manifests to read from one server. Each takes a request (H2)."""


class RetrievedBytes:
    """Counts the bytes that were read, by skill. A file that is read again counts once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sizes: dict[str, dict[str, int]] = {}

    def count(self, skill: SkillClaim, uri: str, size: int) -> None:
        """Count a file. Raises `VerificationError` if the skill has too many files or bytes."""
        sizes = self._sizes.setdefault(skill.uri, {})
        total = sum(sizes.values()) - sizes.get(uri, 0) + size
        if total > self._limits.bytes or len(sizes.keys() | {uri}) > self._limits.files:
            message = f"it has more than {self._limits.files:,} files or {self._limits.bytes:,} bytes"
            raise VerificationError("", server_problem(skill.uri, Rule.ENTRY_LIMITS, message))
        sizes[uri] = size


_WARNINGS = {
    Dialect.DRAFT_C: (
        SKILLS_LIST,
        "the server uses draft C of the extension: sizes are unknown until files are read",
    ),
    Dialect.DRAFT_B: (
        INDEX_URI,
        "the server uses draft B of the extension: only `SKILL.md` files and archives have digests",
    ),
    Dialect.DRAFT_A: (
        INDEX_URI,
        "the server uses draft A of the extension: at most `SKILL.md` files and archives have digests",
    ),
    Dialect.MANIFEST: (
        RESOURCES_LIST,
        "the server does not support the extension, but has FastMCP manifests: few fields are known",
    ),
    Dialect.SCAN: (
        RESOURCES_LIST,
        "the server does not support the extension, and has no index: skills are guessed, without digests",
    ),
    Dialect.OLD_URIS: (
        RESOURCES_LIST,
        "the server does not support the extension, but uses URIs from before it: skills have no digests",
    ),
}
"""For each dialect except the final form: the method or URI of the list, and the message to report."""


async def discover(client: SkillsClient, *, drafts: bool = True) -> Listing:
    """Return the skills of a server, and the dialect in which it lists them.

    Without `drafts`, only `skills/list` is tried. With `drafts`, the newest dialect that gives a skill is
    used. Skills of several dialects are never mixed. If the server has templates, the dialects that guess
    are not tried. A finding reports every dialect except the final form. A missing index or list is not an
    error. Raises `MCPError` if the server does not answer, or if it refused a list and no dialect gave a
    skill. Raises `LoginRequiredError` if the server requires a login.
    """
    async with client.listing_templates() as templates:
        return await _discover(client, templates, drafts=drafts)


async def _discover(
    client: SkillsClient, listed_templates: "asyncio.Task[ListedTemplates]", *, drafts: bool
) -> Listing:
    search, templates = _Search(client, drafts=drafts), ListedTemplates()
    later = (search.index, search.manifests, search.scan, search.old_uris) if drafts else ()
    findings, complete = Findings(), True
    for attempt in (search.methods, *later):  # newest first: newer dialects have more digests
        if attempt == search.manifests and (templates.claims or (await listed_templates).claims):
            # The remaining dialects guess what is a skill. A server with templates needs no guess.
            listing = Listing(dialect=_dialect_of_templates(client, templates))
            break
        listing = await attempt()
        templates.merge(listing.templates)
        findings.take(listing.findings)
        complete &= listing.complete
        if listing.skills:
            break
    else:
        if search.refused is not None:
            raise search.refused
        listing = Listing(dialect=None if client.declared is None else Dialect.FINAL)
    templates.merge(await listed_templates)
    if client.declares_legacy:
        message = "the extension, or its `directoryRead`, is declared as in early drafts"
        findings.add(server_problem(SKILLS_LIST, Rule.OLD_DRAFT, message))
    if listing.dialect is not None and listing.dialect in _WARNINGS:
        place, message = _WARNINGS[listing.dialect]
        findings.add(server_problem(place, Rule.OLD_DRAFT, message))
    dialect = listing.dialect
    if dialect is not None:
        templates.claims = {key: replace(each, dialect=dialect) for key, each in templates.claims.items()}
    return Listing(listing.skills, findings, complete, dialect, templates)


def _dialect_of_templates(client: SkillsClient, indexed: ListedTemplates) -> Dialect:
    """Return the dialect of a server that lists templates and no skills.

    It is the final version if the server declares the extension, else the dialect of a template in its index
    (`indexed`), else unknown (`SCAN`).
    """
    if client.declared is not None:
        return Dialect.FINAL
    return next((each.dialect for each in indexed.claims.values()), Dialect.SCAN)


class _Search:
    """One search for the skills of a server, with one method for each way to list them.

    Each list is requested at most once. `refused` is the last error response to a list.
    """

    def __init__(self, client: SkillsClient, *, drafts: bool) -> None:
        self.refused: MCPError | None = None
        self._client, self._drafts = client, drafts
        self._resources: ListedResources | None = None

    async def methods(self) -> Listing:
        """Return the skills in `skills/list` that are valid in the final form; if there are none, in draft C.

        Draft C is tried only with `drafts`. If the extension is not declared, nothing is requested.
        """
        listing, older = Listing(dialect=Dialect.FINAL), Listing(dialect=Dialect.DRAFT_C)
        limits = self._client.limits
        if self._client.declared is None:  # its methods must not be called (H1)
            if not self._drafts:
                message = f"the server does not declare the extension `{EXTENSION}`"
                listing.findings.add(server_problem(SKILLS_LIST, Rule.LIST_SHAPE, message))
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
        """Return the skills and templates in the index of the early drafts; none if there is no index."""
        if not self._client.offers_resources:
            return Listing()
        try:
            index = read_draft_index(await self._client.read(INDEX_URI, max_bytes=_INDEX))
        except VerificationError as error:
            listing = Listing()
            listing.end(error.problems[0])
            return listing
        except MCPError as error:  # a missing index is not an error
            _require_answer(error)
            return Listing()
        skills = list(index.skills.values())
        return Listing(skills, index.findings, index.complete, index.dialect, index.templates)

    async def manifests(self) -> Listing:
        """Return the skill of each listed manifest, up to `MAX_MANIFESTS`."""
        listing = Listing(dialect=Dialect.MANIFEST)
        resources = await self._listed(listing)

        async def read(uri: str) -> SkillClaim | list[Problem]:
            frontmatter = resources.known_frontmatter(uri.removesuffix(MANIFEST) + SKILL_FILE)
            try:
                content = await self._client.read(uri, max_bytes=_MANIFEST)
                return read_manifest(uri, content, frontmatter, self._client.limits)
            except VerificationError as error:
                return [error.problems[0]]
            except MCPError as error:
                return [refusal(uri, _require_answer(error))]

        await process_in_order(resources.manifests[:MAX_MANIFESTS], read, listing.take)
        if (more := len(resources.manifests) - MAX_MANIFESTS) > 0:
            message = f"the limit is {MAX_MANIFESTS:,} manifests; {more:,} more were not read"
            listing.end(server_problem(RESOURCES_LIST, Rule.LIST_ENDLESS, message))
        return listing

    async def scan(self) -> Listing:
        """Return a skill for each listed URI that ends in `/SKILL.md`."""
        listing = Listing(dialect=Dialect.SCAN)
        for parsed in (await self._listed(listing)).iter_scanned_skills():
            listing.take(parsed)
        return listing

    async def old_uris(self) -> Listing:
        """Return a skill for each listed URI of the form `skill://name`."""
        listing = Listing(dialect=Dialect.OLD_URIS)
        for parsed in (await self._listed(listing)).iter_old_uri_skills():
            listing.take(parsed)
        return listing

    async def _listed(self, listing: Listing) -> ListedResources:
        """Return the resources that may belong to skills. The first call adds findings to `listing`."""
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
        """Yield each entry. If a page cannot be used, add a finding to `listing`, and end.

        Raises `MCPError` only if the server does not answer.
        """
        try:
            async for entry in entries:
                yield entry
        except VerificationError as error:
            listing.end(error.problems[0])
        except MCPError as error:
            self.refused = _require_answer(error)
            if self._drafts and place == SKILLS_LIST and error.code == METHOD_NOT_FOUND:
                message = f"the server declares the extension `{EXTENSION}`, but has no `{SKILLS_LIST}`"
                listing.findings.add(server_problem(SKILLS_LIST, Rule.OLD_DRAFT, message))
            else:
                listing.end(refusal(place, error))


def _require_answer(error: MCPError) -> MCPError:
    """Return `error` if the server sent it. Raise `error` if it means that no response arrived."""
    if error.code in {CONNECTION_CLOSED, REQUEST_TIMEOUT}:
        raise error
    return error


class DraftsClient:
    """Lists and reads the skills of one server in any dialect, through a `SkillsClient`.

    If a server lists a digest only for the `SKILL.md` or the archive, this digest is checked. If it lists no
    sizes, the received bytes are counted (H8). Every method that sends a request may raise
    `LoginRequiredError`, besides the errors that it names.
    """

    def __init__(self, client: SkillsClient) -> None:
        self.client = client
        self.dialect: Dialect | None = None
        """The dialect of the last listing; None if there was none, or if it found no dialect."""
        self._discovered, self._discovery_lock = False, anyio.Lock()
        self._skills: dict[str, SkillClaim] = {}
        self._retrieved = RetrievedBytes(client.limits)
        self._unpacked: tuple[DeliveryClaim, UnpackedFiles] | None = None
        """The last archive and its files, for further reads. Set only if the archive has a listed digest."""

    @property
    def limits(self) -> Limits:
        return self.client.limits

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """The settings of the extension that the server declares; None if it does not declare it."""
        return self.client.declared

    @property
    def reads_directories(self) -> bool:
        return self.client.reads_directories

    async def list(self) -> Listing:
        """Return every skill, and the dialect in which the server lists them. Raises `MCPError`."""
        listing = await discover(self.client)
        self._discovered = True
        self.dialect = listing.dialect
        self._skills = {skill.uri: skill for skill in listing.skills}
        self._retrieved = RetrievedBytes(self.limits)
        return listing

    async def get(self, uri: str) -> SkillClaim:
        """Return the current version of the skill at `uri`. Raises `VerificationError` or `MCPError`.

        Without `skills/get`, the skills are listed again. If the skill is unlisted, its `SKILL.md` is read
        (H3).
        """
        await self._discover_once()
        found = await self._get_by_method(uri) or await self._get_without_method(uri)
        self._skills[uri] = found  # other skills stay as listed, because callers rely on that
        return found

    async def _get_by_method(self, uri: str) -> SkillClaim | None:
        """Return the result of `skills/get`, or None if the dialect or the server lacks this method."""
        dialect = self.dialect or Dialect.FINAL
        if self.declared is None or not dialect.has_methods:
            return None
        try:
            return await self.client.get(uri, dialect)
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            return None

    async def _get_without_method(self, uri: str) -> SkillClaim:
        listing = await discover(self.client)
        listed = next((skill for skill in listing.skills if skill.uri == uri), None)
        return await self._read_unlisted(uri, listing.dialect) if listed is None else listed

    async def _read_unlisted(self, uri: str, dialect: Dialect | None) -> SkillClaim:
        """Return the skill at a URI that no list contains, after reading its `SKILL.md`."""
        missing = VerificationError("", server_problem(uri, Rule.READ_FAILED, "the server does not list it"))
        if not self.client.offers_resources or any(uri_faults(uri)):
            raise missing
        try:
            content = await self.client.read(uri)
        except MCPError as error:
            _require_answer(error)
            raise missing from error
        parsed = read_unlisted(uri, content, dialect or Dialect.SCAN)
        if not isinstance(parsed, SkillClaim):
            raise VerificationError("", parsed[0])
        return parsed

    async def read(self, uri: str, size: int | None = None) -> bytes:
        """Return the bytes of a file. Raises `VerificationError` or `MCPError`.

        If the skill has an archive, it is fetched, unless it is the archive that was unpacked last. A
        `SKILL.md` that is listed beside the archive is read by its own URI.
        """
        await self._discover_once()
        skill = self._owner(uri)
        content = await (self.client.read(uri, size) if skill is None else self._read_of(skill, uri, size))
        if skill is not None and not skill.sized:
            self._retrieved.count(skill, uri, len(content))
        return content

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]":
        """Return the entries of `resources/directory/read`. Raises `VerificationError` or `MCPError`."""
        return await self.client.read_directory(uri)

    async def list_folder(self, uri: str) -> "list[str]":
        """Return the URIs of the direct children of a folder. Raises `VerificationError` or `MCPError`."""
        return await self.client.list_folder(uri)

    async def complete(self, uri_template: str, parameter: str, typed: str) -> "list[str]":
        """Return the values that the server suggests for a parameter. Raises as `list_folder` does."""
        return await self.client.complete(uri_template, parameter, typed)

    async def unpack(self, skill: SkillClaim, archive: DeliveryClaim) -> UnpackedFiles:
        """Return all files in an archive of a skill. Raises `VerificationError` or `MCPError`.

        The archive's `SKILL.md` is compared with the skill's entry before anything is returned.
        """
        if self._unpacked is not None and self._unpacked[0] == archive:
            unpacked = self._unpacked[1]
        else:
            # Read by its own URI: the folder of another skill may contain it.
            unpacked = unpack_delivery(archive, await self.client.read(archive.uri), self.limits)
            self._unpacked = None if archive.digest is None else (archive, unpacked)
        for fault in document_faults(skill, archive, unpacked.files):
            raise VerificationError("", fault)
        return unpacked

    async def _discover_once(self) -> None:
        """List the skills unless that was tried before. `VerificationError` and `MCPError` are ignored."""
        async with self._discovery_lock:  # concurrent reads wait for the same list
            if not self._discovered:
                with suppress(VerificationError, MCPError):
                    await self.list()
                self._discovered = True

    def _owner(self, uri: str) -> SkillClaim | None:
        """Return the innermost known skill whose folder contains this URI, or None."""
        folder = uri
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            if (skill := self._skills.get(f"{folder}/{SKILL_FILE}")) is not None:
                return skill
        return None

    async def _read_of(self, skill: SkillClaim, uri: str, size: int | None) -> bytes:
        if uri == skill.uri and skill.document is not None:
            content = await self.client.read(skill.document.uri, size)
            for fault in delivery_faults(skill.document, content):
                raise VerificationError("", fault)
            return content
        if skill.archives:
            unpacked = await self.unpack(skill, skill.archives[0])
            return _pick_file(unpacked.files, relative_path(skill, uri), uri)
        if skill.dialect is Dialect.OLD_URIS:
            every = await self.client.read_all(f"{skill.root}/")
            return _pick_file({unquote(own): content for own, content in every.items()}, unquote(uri), uri)
        return await self.client.read(uri, size)


def drafts_only(client: SkillsClient | DraftsClient, archive: DeliveryClaim) -> DraftsClient:
    """Return `client` if it supports archives. Raises `VerificationError` if drafts are turned off."""
    if isinstance(client, DraftsClient):
        return client
    message = "only earlier drafts of the extension have archives, and these are turned off"
    raise VerificationError("", server_problem(archive.uri, Rule.ARCHIVE, message))


def _pick_file(files: Mapping[str, bytes], key: str | None, uri: str) -> bytes:
    if key is None or key not in files:
        raise VerificationError("", server_problem(uri, Rule.READ_FAILED, "the skill has no such file"))
    return files[key]
