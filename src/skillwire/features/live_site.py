"""The site that `skillwire publish` writes, but built on request from a library that may change.

The digest of each download is computed once for each version of its skill. The bytes are cached up to a
limit. Downloads beyond the limit are built again for each request.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.to_thread

from skillwire.core.record import Digest, SkillRecord
from skillwire.errors import NotServedError, SkillwireError
from skillwire.features.website import (
    SkippedSkill,
    build_download,
    choose_skills,
    left_out,
    read_skill_files,
    render_site_index,
)
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.library.memo import CatalogMemo
from skillwire.protocol.archive_rules import ArchiveError
from skillwire.protocol.discovery import INDEX_FILE, Artifact
from skillwire.safe_text import escape_invisible, quoted

CACHED_BYTES = 64 * 1024 * 1024
_AT_ONCE = 4
"""Maximum number of skills that are read at the same time. Skills from other servers can be slow."""
_PACKED_AT_ONCE = 2
"""Maximum number of skills that are packed at the same time.

Packing takes a few times the skill's size in memory.
"""
_RETRY_SECONDS = 10.0
"""Seconds after which a skill that could not be read is tried again."""
_OLD_SECONDS = 60.0
"""Seconds for which a download stays available after its skill changed, for clients that have the previous
index.
"""
_ATTEMPTS = 3
"""Maximum attempts to build an index while skills are changing. The last index may omit a changed skill."""

_log = logging.getLogger(__name__)


class NotPublishedError(SkillwireError):
    """Nothing is published at the path now."""


@dataclass(frozen=True, slots=True)
class Index:
    """The bytes of the index at one moment, and their digest."""

    content: bytes
    digest: Digest


@dataclass(frozen=True, slots=True)
class _Published:
    """The index entry of one version of a skill, and the size of its download in bytes."""

    entry: SkillRecord
    artifact: Artifact
    size: int


@dataclass(frozen=True, slots=True)
class _Failed:
    """One version of a skill that could not be published."""

    entry: SkillRecord
    until: float | None
    """When to try again; None if only a change of the skill can fix it."""


@dataclass(frozen=True, slots=True)
class Download:
    """A download that is in the index, or was in it until shortly before."""

    artifact: Artifact
    size: int
    content: bytes | None
    """The bytes; None if they are not cached."""


@dataclass(slots=True)
class _Cached:
    download: Download
    entry: SkillRecord
    old_since: float | None = None
    """When the skill changed; None while the download is current."""

    @property
    def expired(self) -> bool:
        return self.old_since is not None and time.monotonic() - self.old_since > _OLD_SECONDS


class LiveSite:
    """The site of a library, which always shows its current skills."""

    def __init__(self, library: Library, cached_bytes: int = CACHED_BYTES) -> None:
        self._library = library
        self._by_name = CatalogMemo(_publishable)
        self._known: dict[str, _Published | _Failed] = {}
        """The index entry or failure of each skill, by skill URI."""
        self._cache: OrderedDict[str, _Cached] = OrderedDict()
        """The cached downloads by path, the most recently used last."""
        self._cached, self._limit = 0, cached_bytes
        self._last: tuple[Catalog, Index, float | None] | None = None
        self._indexing = anyio.Lock()
        self._making: dict[str, tuple[anyio.Lock, int]] = {}
        self._reading = anyio.Semaphore(_AT_ONCE)
        self._packing = anyio.CapacityLimiter(_PACKED_AT_ONCE)
        self._logged: dict[str, str] = {}
        library.listen(self._start_expiry)

    async def index(self) -> Index:
        """Return the current index. Concurrent requests share one build."""
        async with self._indexing:
            catalog = self._library.catalog
            if self._last is not None and self._last[0] is catalog:
                _, index, until = self._last
                if until is None or time.monotonic() < until:
                    return index
            await self._make_all(entries := self._by_name.of(catalog))
            for _ in range(_ATTEMPTS - 1):
                if self._library.catalog is catalog:
                    break
                catalog = self._library.catalog
                await self._make_all(entries := self._by_name.of(catalog))
            known = [self._known.get(entry.uri) for entry in entries.values()]
            artifacts = [each.artifact for each in known if isinstance(each, _Published)]
            content = await anyio.to_thread.run_sync(render_site_index, artifacts)
            index = Index(content, Digest.of(content))
            times = [each.until for each in known if isinstance(each, _Failed) and each.until is not None]
            self._last = catalog, index, min(times, default=None)
            return index

    async def find(self, path: str) -> Download:
        """Return the download at a path below the folder of the index. Raises `NotPublishedError`."""
        name = path.partition(".")[0]
        entry = self._by_name.of(self._library.catalog).get(name)
        if entry is None:
            raise NotPublishedError(f"no skill {quoted(name)} is published here; see `{INDEX_FILE}`")
        if (cached := self._cached_at(path, entry)) is not None:
            return cached
        known = await self._published(entry)
        if isinstance(known, _Failed):
            raise NotPublishedError(f"the skill {quoted(name)} cannot be published now; see `{INDEX_FILE}`")
        if known.artifact.url != path:
            hint = f"`{INDEX_FILE}` names its current download"
            raise NotPublishedError(f"the skill {quoted(name)} has no such download; {hint}")
        return self._cached_at(path, entry) or Download(known.artifact, known.size, None)

    async def content(self, download: Download) -> bytes:
        """Return the bytes of a download from `find`.

        Raises `NotPublishedError` if the skill cannot be read, or no longer has this download.
        """
        if download.content is not None:
            return download.content
        artifact = download.artifact
        entry = self._by_name.of(self._library.catalog).get(artifact.name)
        if entry is not None:
            async with self._lock_skill(entry.uri):
                cached = self._cached_at(artifact.url, entry)
                if cached is not None and cached.content is not None:
                    return cached.content
                try:
                    made, content = await self._make_download(entry)
                except SkillwireError as error:
                    raise NotPublishedError(f"{quoted(artifact.name)} cannot be read now: {error}") from error
                if made.digest == artifact.digest:
                    return content
        raise NotPublishedError(
            f"the skill {quoted(artifact.name)} has changed; request `{INDEX_FILE}` again"
        )

    async def file(self, name: str, path: str) -> tuple[bytes, Digest]:
        """Return a single file of a published skill and its digest.

        Raises `NotPublishedError` if the file is not published, or another `SkillwireError` if a read fails.
        """
        entry = self._by_name.of(self._library.catalog).get(name)
        if entry is None or all(file.path != path for file in entry.files):
            raise NotPublishedError(f"no skill {quoted(name)} with such a file is published here")
        if isinstance(await self._published(entry), _Failed):
            raise NotPublishedError(f"the skill {quoted(name)} cannot be published now; see `{INDEX_FILE}`")
        try:
            reading = await self._library.read(entry.uri_of(path))
        except NotServedError as error:
            raise NotPublishedError(f"the file {quoted(path)} no longer exists") from error
        now = reading.served.entry
        if self._by_name.of(self._library.catalog).get(name) is not now:  # such as a skill not approved now
            raise NotPublishedError(f"the skill {quoted(name)} is no longer published")
        return reading.content, Digest.of(reading.content)

    async def _make_all(self, entries: Mapping[str, SkillRecord]) -> None:
        """Build every download that is not built yet, a few at a time.

        Forget skills that are not in `entries`, and log why skills are left out.
        """
        self._forget_others(entries)
        for each in choose_skills(self._library.catalog).left_out:
            self._log_once(each)
        unknown = iter([entry for entry in entries.values() if not self._is_known(entry)])

        async def work(entries: Iterator[SkillRecord]) -> None:
            for entry in entries:
                await self._published(entry)

        async with anyio.create_task_group() as tasks:
            for _ in range(_AT_ONCE):
                tasks.start_soon(work, unknown)

    def _is_known(self, entry: SkillRecord) -> bool:
        known = self._known.get(entry.uri)
        if known is None or known.entry is not entry:
            return False
        return isinstance(known, _Published) or known.until is None or time.monotonic() < known.until

    async def _published(self, entry: SkillRecord) -> "_Published | _Failed":
        """Return a skill's index entry, or its failure. Builds the download unless one of them is current."""
        async with self._lock_skill(entry.uri):
            if not self._is_known(entry):
                try:
                    artifact, content = await self._make_download(entry)
                    self._known[entry.uri] = _Published(entry, artifact, len(content))
                except SkillwireError as error:
                    self._log_once(left_out(entry, error))
                    again = None if isinstance(error, ArchiveError) else time.monotonic() + _RETRY_SECONDS
                    self._known[entry.uri] = _Failed(entry, again)
            return self._known[entry.uri]

    async def _make_download(self, entry: SkillRecord) -> tuple[Artifact, bytes]:
        """Read and pack a skill, and cache its download. Raises `SkillwireError`."""
        async with self._reading:
            files = await read_skill_files(self._library, entry)
            artifact, content = await anyio.to_thread.run_sync(
                build_download, entry, files, limiter=self._packing
            )
        self._cache_download(artifact, content, entry)
        return artifact, content

    @asynccontextmanager
    async def _lock_skill(self, uri: str) -> AsyncGenerator[None]:
        """Hold the lock of one skill."""
        lock, waiting = self._making.get(uri, (anyio.Lock(), 0))
        self._making[uri] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._making.pop(uri)
            if waiting > 1:
                self._making[uri] = lock, waiting - 1

    def _cache_download(self, artifact: Artifact, content: bytes, entry: SkillRecord) -> None:
        if len(content) > self._limit:
            return
        self._drop(artifact.url)
        self._cache[artifact.url] = _Cached(Download(artifact, len(content), content), entry)
        self._cached += len(content)
        while self._cached > self._limit:
            self._drop(next(iter(self._cache)))

    def _cached_at(self, path: str, entry: SkillRecord) -> Download | None:
        """Return a cached download of `entry`, or of an earlier version that has not expired.

        A download of another skill with the same name is not returned, because the operator may have
        withdrawn that skill.
        """
        if (cached := self._cache.get(path)) is None or cached.entry.uri != entry.uri:
            return None
        if cached.expired:
            self._drop(path)
            return None
        self._cache.move_to_end(path)
        return cached.download

    def _drop(self, path: str) -> None:
        if (cached := self._cache.pop(path, None)) is not None:
            self._cached -= cached.download.size

    def _forget_others(self, entries: Mapping[str, SkillRecord]) -> None:
        """Forget skills that are no longer published, and expired versions."""
        uris = {entry.uri for entry in entries.values()}
        self._known = {uri: known for uri, known in self._known.items() if uri in uris}
        for path, cached in list(self._cache.items()):
            if cached.entry.uri not in uris or cached.expired:
                self._drop(path)

    def _start_expiry(self, change: Change) -> None:
        """Start the expiry of the cached downloads of changed skills."""
        changed = {entry.uri for edit in change.edits for entry in edit.entries}
        for cached in self._cache.values():
            if cached.entry.uri in changed and cached.old_since is None:
                cached.old_since = time.monotonic()

    def _log_once(self, skill: SkippedSkill) -> None:
        """Log why a skill is not in the index, unless the same reason was logged last."""
        if self._logged.get(skill.path) != skill.message:
            self._logged[skill.path] = skill.message
            _log.warning(
                "%s is not in the index for the web: %s", quoted(skill.path), escape_invisible(skill.message)
            )


def _publishable(catalog: Catalog) -> dict[str, SkillRecord]:
    return {entry.name: entry for entry in choose_skills(catalog).entries}
