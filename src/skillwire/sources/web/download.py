"""Download the skills on a website, verify them against the index, and store them in the cache."""

from collections.abc import Collection, Mapping
from urllib.parse import quote

import anyio.to_thread

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Severity
from skillwire.core.record import Digest
from skillwire.errors import SourceError
from skillwire.frontmatter.document import read_document
from skillwire.protocol.archive_rules import ArchiveBounds, ArchiveError
from skillwire.protocol.delivery import Delivery, detect_archive_format
from skillwire.protocol.discovery import Artifact, FileListSkill, PublishedSkill
from skillwire.protocol.unpacking import unpack_with_modes
from skillwire.safe_text import quoted
from skillwire.sources.web.address import WebAddress
from skillwire.sources.web.cache import FetchedSkill, VisitState, WebCache, skill_key
from skillwire.sources.web.client import FetchResult, HttpValidators, WebClient

MAX_TOTAL_BYTES = 1024 * 1024 * 1024
"""Maximum total size of all skills on one website, in bytes."""
TOTAL_BYTES_MESSAGE = f"the skills of one website may have at most {MAX_TOTAL_BYTES:,} bytes together"

_BOUNDS = ArchiveBounds()


class UnusableError(SourceError):
    """An intact download that is not a usable skill. Fetching it again would not help."""


class SkillDownloader:
    """Downloads the skills in an index into the cache. Used for a single fetch."""

    def __init__(
        self, web_client: WebClient, base: WebAddress, web_cache: WebCache, before: VisitState
    ) -> None:
        self._web_client = web_client
        self._base = base
        self._web_cache = web_cache
        self._before = before
        self._fetched = 0
        self.refused: dict[str, str] = {}

    async def fetch_skill(self, skill: PublishedSkill) -> FetchedSkill:
        """Return the skill from the cache, downloading it if necessary. Raises `SourceError`."""
        if isinstance(skill, FileListSkill):
            return await self._fetch_files(skill)
        return await self._fetch_artifact(skill)

    async def _fetch_artifact(self, artifact: Artifact) -> FetchedSkill:
        key = skill_key(artifact.name, artifact.type, artifact.digest.text)
        if (cached := await self._find_cached(artifact.name, key)) is not None:
            return cached
        if (reason := self._before.refused.get(key)) is not None:
            self.refused[key] = reason
            raise UnusableError(reason)
        limit = _BOUNDS.bytes if artifact.type is Delivery.SKILL_MD else _BOUNDS.packed
        fetched = await self._web_client.get(self._base.join(artifact.url), limit=limit)
        try:
            files, executable = await anyio.to_thread.run_sync(_unpack_download, artifact, fetched)
        except UnusableError as error:
            self.refused[key] = str(error)
            raise
        return await self._store(key, files, executable)

    async def _fetch_files(self, skill: FileListSkill) -> FetchedSkill:
        """Fetch a skill that has no digest. Every file is requested; the server sends only changed files."""
        before = self._before.skills.get(skill.name, FetchedSkill("", 0))
        files: dict[str, bytes] = {}
        validators: dict[str, HttpValidators] = {}
        left = _BOUNDS.bytes
        for path in skill.files:
            cached = self._web_cache.read(before.key, path) if path in before.validators else None
            known = None if cached is None else before.validators[path]
            address = self._base.join(f"{skill.name}/{quote(path)}")
            fetched = await self._web_client.get(address, limit=left, known=known)
            content = cached or b"" if fetched.content is None else fetched.content
            files[path], validators[path] = content, fetched.validators
            left -= len(content)
        _check_skill(skill.name, files, "")
        key = skill_key(skill.name, *(f"{path}\0{Digest.of(files[path])}" for path in sorted(files)))
        stored = await self._find_cached(skill.name, key) or await self._store(key, files)
        return FetchedSkill(key, stored.size, validators)

    async def _find_cached(self, name: str, key: str) -> FetchedSkill | None:
        before = self._before.skills.get(name)
        if before is not None and before.key == key and self._web_cache.has(key):
            return before
        size = await anyio.to_thread.run_sync(self._web_cache.size, key)
        return None if size is None else FetchedSkill(key, size)

    async def _store(
        self, key: str, files: Mapping[str, bytes], executable: Collection[str] = ()
    ) -> FetchedSkill:
        size = sum(map(len, files.values()))
        self._fetched += size
        if self._fetched > MAX_TOTAL_BYTES:
            raise SourceError(TOTAL_BYTES_MESSAGE)
        try:
            await anyio.to_thread.run_sync(self._web_cache.put, key, files, executable)
        except OSError as error:
            raise SourceError(
                f"it cannot be stored in the cache: {(error.strerror or str(error)).lower()}"
            ) from error
        return FetchedSkill(key, size)


def _unpack_download(artifact: Artifact, fetched: FetchResult) -> tuple[dict[str, bytes], Collection[str]]:
    """Return the files in a download, and the paths of executable files. Raises `SourceError`.

    The digest is checked before anything is unpacked.
    """
    content, shown = fetched.content or b"", fetched.address.shown
    if (found := Digest.of(content)) != artifact.digest:
        raise SourceError(f"{shown} was listed as {artifact.digest} but its bytes are {found}")
    if artifact.type is Delivery.SKILL_MD:
        files, executable = {SKILL_FILE: content}, set[str]()
    else:
        form = detect_archive_format(fetched.address.path, fetched.media_type)
        if form is None:
            raise UnusableError(f"{shown} is neither a `.tar.gz` nor a `.zip` file")
        try:
            unpacked = unpack_with_modes(content, form, _BOUNDS)
        except ArchiveError as error:
            raise UnusableError(f"{shown} {error}") from error
        files, executable = unpacked.files, unpacked.executable
    _check_skill(artifact.name, files, f"{shown}: ")
    return files, executable


def _check_skill(name: str, files: Mapping[str, bytes], where: str) -> None:
    """Raise `UnusableError` unless the files are a skill with this name that can be served."""
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
