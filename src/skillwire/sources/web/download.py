"""Fetching one skill of a publisher: verified, unpacked, found to be the one that the index names."""

from collections.abc import Collection, Mapping
from urllib.parse import quote

import anyio.to_thread

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Severity
from skillwire.core.record import Digest
from skillwire.errors import SourceError
from skillwire.frontmatter.document import read_document
from skillwire.protocol.archive_rules import ArchiveBounds, ArchiveError
from skillwire.protocol.delivery import Delivery, archive_form
from skillwire.protocol.discovery import Artifact, FileListSkill, Published
from skillwire.protocol.unpacking import unpack_with_modes
from skillwire.safe_text import quoted
from skillwire.sources.web.address import WebAddress
from skillwire.sources.web.cache import FetchedSkill, VisitState, WebCache, skill_key
from skillwire.sources.web.client import Fetched, HttpValidators, WebClient

TOTAL_BYTES = 1024 * 1024 * 1024
"""Of all skills of one publisher together."""
TOO_MUCH = f"the skills of one publisher may have {TOTAL_BYTES:,} bytes together, and this is more"

_BOUNDS = ArchiveBounds()


class UnusableError(SourceError):
    """A download that is what the index promised, and that will not be any better the next time."""


class SkillDownloader:
    """Brings the skills of one index to the shelf, one visit long."""

    def __init__(self, fetcher: WebClient, base: WebAddress, shelf: WebCache, before: VisitState) -> None:
        self._fetcher = fetcher
        self._base = base
        self._shelf = shelf
        self._before = before
        self._fetched = 0
        self.refused: dict[str, str] = {}

    async def bring(self, skill: Published) -> FetchedSkill:
        """Return the skill as it is on the shelf now. Raises `SourceError`."""
        if isinstance(skill, FileListSkill):
            return await self._bring_files(skill)
        return await self._bring_artifact(skill)

    async def _bring_artifact(self, artifact: Artifact) -> FetchedSkill:
        key = skill_key(artifact.name, artifact.type, artifact.digest.text)
        if (held := await self._held(artifact.name, key)) is not None:
            return held
        if (reason := self._before.refused.get(key)) is not None:
            self.refused[key] = reason
            raise UnusableError(reason)
        limit = _BOUNDS.bytes if artifact.type is Delivery.SKILL_MD else _BOUNDS.packed
        fetched = await self._fetcher.get(self._base.join(artifact.url), limit=limit)
        try:
            files, executable = await anyio.to_thread.run_sync(_opened, artifact, fetched)
        except UnusableError as error:
            self.refused[key] = str(error)
            raise
        return await self._keep(key, files, executable)

    async def _bring_files(self, skill: FileListSkill) -> FetchedSkill:
        """Fetch what changed. No digest says what should come, so every file is asked for."""
        before = self._before.skills.get(skill.name, FetchedSkill("", 0))
        files: dict[str, bytes] = {}
        validators: dict[str, HttpValidators] = {}
        left = _BOUNDS.bytes
        for path in skill.files:
            kept = self._shelf.read(before.key, path) if path in before.validators else None
            known = None if kept is None else before.validators[path]
            address = self._base.join(f"{skill.name}/{quote(path)}")
            fetched = await self._fetcher.get(address, limit=left, known=known)
            content = kept or b"" if fetched.content is None else fetched.content
            files[path], validators[path] = content, fetched.validators
            left -= len(content)
        _must_be(skill.name, files, "")
        key = skill_key(skill.name, *(f"{path}\0{Digest.of(files[path])}" for path in sorted(files)))
        held = await self._held(skill.name, key) or await self._keep(key, files)
        return FetchedSkill(key, held.size, validators)

    async def _held(self, name: str, key: str) -> FetchedSkill | None:
        before = self._before.skills.get(name)
        if before is not None and before.key == key and self._shelf.has(key):
            return before
        size = await anyio.to_thread.run_sync(self._shelf.size, key)
        return None if size is None else FetchedSkill(key, size)

    async def _keep(
        self, key: str, files: Mapping[str, bytes], executable: Collection[str] = ()
    ) -> FetchedSkill:
        size = sum(map(len, files.values()))
        self._fetched += size
        if self._fetched > TOTAL_BYTES:
            raise SourceError(TOO_MUCH)
        try:
            await anyio.to_thread.run_sync(self._shelf.put, key, files, executable)
        except OSError as error:
            raise SourceError(f"it cannot be kept here: {(error.strerror or str(error)).lower()}") from error
        return FetchedSkill(key, size)


def _opened(artifact: Artifact, fetched: Fetched) -> tuple[dict[str, bytes], Collection[str]]:
    """Return the files of a download, and the paths of those that can be run.

    Nothing is looked into before its digest is right.
    """
    content, shown = fetched.content or b"", fetched.address.shown
    if (found := Digest.of(content)) != artifact.digest:
        raise SourceError(f"{shown} was listed as {artifact.digest} but its bytes are {found}")
    if artifact.type is Delivery.SKILL_MD:
        files, executable = {SKILL_FILE: content}, set[str]()
    else:
        form = archive_form(fetched.address.path, fetched.media_type)
        if form is None:
            raise UnusableError(f"{shown} is neither a `.tar.gz` nor a `.zip` file")
        try:
            unpacked = unpack_with_modes(content, form, _BOUNDS)
        except ArchiveError as error:
            raise UnusableError(f"{shown} {error}") from error
        files, executable = unpacked.files, unpacked.executable
    _must_be(artifact.name, files, f"{shown}: ")
    return files, executable


def _must_be(name: str, files: Mapping[str, bytes], where: str) -> None:
    """Raise unless the files are a skill of this name that can be served."""
    if SKILL_FILE not in files:
        raise UnusableError(f"{where}it has no `{SKILL_FILE}` at its root")
    document = read_document(files[SKILL_FILE], f"{name}/{SKILL_FILE}", folder=None)
    fault = next((each for each in document.problems if each.severity is Severity.ERROR), None)
    if fault is not None:
        raise UnusableError(f"{where}{fault}")
    found = (document.frontmatter or {}).get("name")
    if found != name:
        raise UnusableError(
            f"{where}its `{SKILL_FILE}` has the name {quoted(str(found))}, the index says {quoted(name)}"
        )
