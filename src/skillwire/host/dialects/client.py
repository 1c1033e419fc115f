"""A client that also understands earlier drafts: what it lists, it can get and read, in whatever dialect."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import anyio
from mcp.shared.exceptions import MCPError

from skillwire.host.dialects.discovery import discover
from skillwire.host.dialects.retrieved import Retrieved
from skillwire.host.reaching.client import Listing, SkillsClient
from skillwire.model.limits import Limits
from skillwire.model.uri import SKILL_FILE
from skillwire.wire.delivered import delivery_faults, path_in, unpack_skill
from skillwire.wire.dialect import Dialect
from skillwire.wire.findings import Fault, Finding, FindingError
from skillwire.wire.remote import RemoteDelivery, RemoteSkill


class DraftsClient:
    """A `SkillsClient` that also reads servers of earlier drafts.

    Skills without full digests are read with what little is known of them: a digest of the document or the
    archive is compared here, and their bytes are counted, for no entry promises how many there are (H8).
    """

    def __init__(self, client: SkillsClient) -> None:
        self.client = client
        self.dialect: Dialect | None = None
        """What the server spoke when it was last asked for its skills."""
        self._looked, self._looking = False, anyio.Lock()
        self._skills: dict[str, RemoteSkill] = {}
        self._retrieved = Retrieved(client.limits)
        self._unpacked: tuple[RemoteDelivery, dict[str, bytes]] | None = None
        """The last archive, because one read is seldom alone. Kept only where its digest is known."""

    @property
    def limits(self) -> Limits:
        return self.client.limits

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """What the server declares of the extension; None if it does not declare it."""
        return self.client.declared

    @property
    def reads_directories(self) -> bool:
        return self.client.reads_directories

    async def list(self) -> Listing:
        """Return every skill, and the dialect it was told in. Raises `FindingError` or `MCPError`."""
        listing = await discover(self.client)
        self._looked = True
        self.dialect = listing.dialect
        self._skills = {skill.uri: skill for skill in listing.skills}
        self._retrieved = Retrieved(self.limits)
        return listing

    async def get(self, uri: str) -> RemoteSkill:
        """Return the skill at `uri` as the server tells of it now. Raises `FindingError` or `MCPError`.

        Dialects without `skills/get` have no skill that is not listed.
        """
        await self._look()
        dialect = self.dialect or Dialect.FINAL
        if self.declared is not None and dialect.has_methods:
            skill = await self.client.get(uri, dialect)
            self._skills[uri] = skill
            return skill
        listing = await discover(self.client)
        found = next((skill for skill in listing.skills if skill.uri == uri), None)
        if found is None:
            raise FindingError(Finding(uri, Fault.READ_FAILED, "the server does not tell of it"))
        self._skills[uri] = found  # and the others stay as whoever asked for them knows them
        return found

    async def read(self, uri: str, size: int | None = None) -> bytes:
        """Return the bytes at `uri`, from wherever its skill keeps them. Raises `FindingError` or `MCPError`.

        An archive is fetched when a file of it is read, and not before.
        """
        await self._look()
        skill = self._owner(uri)
        content = await (self.client.read(uri, size) if skill is None else self._read_of(skill, uri, size))
        if skill is not None and not skill.sized:
            self._retrieved.count(skill, uri, len(content))
        return content

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]":
        """Return the direct children of a folder. Raises `FindingError` or `MCPError`."""
        return await self.client.read_directory(uri)

    async def unpack(self, skill: RemoteSkill, archive: RemoteDelivery) -> dict[str, bytes]:
        """Return all files of a skill by their paths. Raises `FindingError` or `MCPError`."""
        if self._unpacked is not None and self._unpacked[0] == archive:
            return self._unpacked[1]
        files = unpack_skill(skill, archive, await self.client.read(archive.uri), self.limits)
        self._unpacked = None if archive.digest is None else (archive, files)
        return files

    async def _look(self) -> None:
        """Find out, once, what the server speaks and where its skills are. A server may have no list."""
        async with self._looking:  # concurrent reads need the answer, too
            if not self._looked:
                with suppress(FindingError, MCPError):
                    await self.list()
                self._looked = True

    def _owner(self, uri: str) -> RemoteSkill | None:
        """Return the innermost listed skill that has this file."""
        folder = uri
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            if (skill := self._skills.get(f"{folder}/{SKILL_FILE}")) is not None:
                return skill
        return None

    async def _read_of(self, skill: RemoteSkill, uri: str, size: int | None) -> bytes:
        if uri == skill.uri and skill.document is not None:
            content = await self.client.read(skill.document.uri, size)
            for fault in delivery_faults(skill.document, content):
                raise FindingError(fault)
            return content
        if skill.archives:
            return _chosen(await self.unpack(skill, skill.archives[0]), path_in(skill, uri), uri)
        if skill.dialect is Dialect.OLD_URIS:
            every = await self.client.read_all(f"{skill.root}/")
            return _chosen({unquote(own): content for own, content in every.items()}, unquote(uri), uri)
        return await self.client.read(uri, size)


def _chosen(files: Mapping[str, bytes], key: str | None, uri: str) -> bytes:
    if key is None or key not in files:
        raise FindingError(Finding(uri, Fault.READ_FAILED, "the skill has no such file"))
    return files[key]
