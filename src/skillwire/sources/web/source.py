"""`WebSource`: the skills on a website with an index below `/.well-known/` and a download for each skill."""

import hashlib
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Digest, Limits
from skillwire.errors import SourceError, UsageError
from skillwire.protocol.discovery import (
    INDEX_FILE,
    LEGACY_WELL_KNOWN_FOLDER,
    WELL_KNOWN_FOLDER,
    DiscoveryError,
    Index,
    PublishedSkill,
    read_index,
)
from skillwire.safe_text import quoted
from skillwire.sources.cache_folder import cache_folder_from
from skillwire.sources.fetched import POLL_SECONDS, FetchedSource, Fetcher, Snapshot
from skillwire.sources.web.address import WebAddress, allowed_origin
from skillwire.sources.web.cache import FetchedSkill, VisitState, WebCache
from skillwire.sources.web.client import FetchResult, HttpStatusError, WebClient
from skillwire.sources.web.download import MAX_TOTAL_BYTES, TOTAL_BYTES_MESSAGE, SkillDownloader

MAX_CONCURRENT_DOWNLOADS = 8
"""Maximum number of concurrent downloads."""
TIMEOUT_SECONDS = 300.0
"""Timeout in seconds for all downloads of one fetch. The next fetch continues with the missing downloads."""
MAX_INDEX_BYTES = 16 * 1024 * 1024
"""Maximum size of an index, in bytes."""

_NOT_THERE = frozenset({404, 410})
_FOLDERS = "|".join(map(re.escape, (WELL_KNOWN_FOLDER, LEGACY_WELL_KNOWN_FOLDER)))
_PATH = re.compile(rf"(?P<site>/.*)??/(?P<folder>{_FOLDERS})(?:/(?:{re.escape(INDEX_FILE)})?)?")
_TOKEN = re.compile(r"[\x21-\x7e]+")
_LATE = "the downloads took too long, and it was not reached"
_FETCHED_AGAIN = "ask the owner of the website to fix it; Skillwire retries automatically"


class WebSource(FetchedSource):
    """The skills that a website publishes at `/.well-known/agent-skills/`. They are fetched periodically."""

    def __init__(
        self,
        url: str,
        *,
        label: str | None = None,
        token: str | None = None,
        allowed_origins: Collection[str] = (),
        cache: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
        every: float = POLL_SECONDS,
        live: bool = False,
    ) -> None:
        """Serve a website. `url` is the URL of the site, the folder below `/.well-known/`, or the index.

        Downloads are allowed only from the site's own origin and from `allowed_origins`. The token is sent
        only to the site's own origin. Snapshots are stored in `cache`, which defaults to the platform's cache
        folder, and fetched again after `every` seconds. With `live`, the last good snapshot is served at
        once, and the newest snapshot when it is fetched. Raises `UsageError` if the URL, the token or an
        origin is invalid, and `PlatformError` on Windows.
        """
        folder = cache_folder_from(os.environ) if cache is None else Path(cache)
        fetcher = WebFetcher(url, folder, allowed_origins=allowed_origins, token=token)
        name = label or urlsplit(fetcher.place).hostname or "web"
        super().__init__(fetcher, label=name, limits=limits, every=every, live=live)


class WebFetcher(Fetcher):
    """Fetches snapshots of the skills on one website. Only allowed origins are contacted."""

    def __init__(
        self, url: str, cache: Path, *, allowed_origins: Collection[str] = (), token: str | None = None
    ) -> None:
        """Create a fetcher. `url` is the URL of the site, the folder below `/.well-known/`, or the index.

        The token is sent only to the origin of `url`. Raises `UsageError` if an argument is invalid.
        """
        self._addresses = _index_addresses(url)
        self._home = self._addresses[0]
        self._allowed = frozenset(map(allowed_origin, allowed_origins))
        if token is not None and not _TOKEN.fullmatch(token):
            raise UsageError("the token contains spaces or characters that are not allowed in a header")
        self._token = token
        self.place = self._home.url.removesuffix(INDEX_FILE)
        name = hashlib.sha256(self.place.encode()).hexdigest()[:32]
        self._web_cache = WebCache(cache / "publishers" / name)
        self._fetching = anyio.Lock()

    def last(self) -> Snapshot | None:
        return self._web_cache.snapshot(self._web_cache.state())

    async def fetch(self) -> Snapshot:
        async with self._fetching:
            try:
                return await self._fetch()
            except OSError as error:
                reason = (error.strerror or type(error).__name__).lower()
                raise SourceError(
                    f"the cache {quoted(str(self._web_cache.folder))} cannot be used: {reason}"
                ) from error

    async def _fetch(self) -> Snapshot:
        before = await anyio.to_thread.run_sync(self._web_cache.state)
        async with WebClient(self._home, allowed_origins=self._allowed, token=self._token) as web_client:
            address, fetched, content = await self._fetch_index(web_client, before)
            try:
                index = await anyio.to_thread.run_sync(read_index, content)
            except DiscoveryError as error:
                raise SourceError(f"{fetched.address.shown} {error}") from error
            downloader = SkillDownloader(web_client, fetched.address, self._web_cache, before)
            outcomes = await _fetch_all(downloader, index.skills)
        chosen, problems = self._choose_skills(index, outcomes, before)
        version = await anyio.to_thread.run_sync(self._web_cache.assemble, chosen)
        after = VisitState(
            address=address.url,
            index=Digest.of(content),
            validators=fetched.validators,
            skills=chosen,
            refused=downloader.refused,
            versions=(version, *(each for each in before.versions if each != version))[:2],
            problems=tuple(problems),
        )
        if after != before or fetched.content is not None:
            await anyio.to_thread.run_sync(self._web_cache.save, after, content)
        snapshot = self._web_cache.snapshot(after)
        assert snapshot is not None, "it was just assembled"
        return snapshot

    async def _fetch_index(
        self, web_client: WebClient, before: VisitState
    ) -> tuple[WebAddress, FetchResult, bytes]:
        """Return the address of the index, the response, and the index itself. Raises `SourceError`."""
        refused: list[HttpStatusError] = []
        for address in self._addresses:
            cached = None
            if before.address == address.url:
                cached = await anyio.to_thread.run_sync(self._web_cache.index, before)
            known = None if cached is None else before.validators
            try:
                fetched = await web_client.get(address, limit=MAX_INDEX_BYTES, known=known)
            except HttpStatusError as error:
                if error.status not in _NOT_THERE:
                    raise
                refused.append(error)
            else:
                return address, fetched, cached or b"" if fetched.content is None else fetched.content
        raise SourceError(", and ".join(map(str, refused))) from refused[0]

    def _choose_skills(
        self, index: Index, outcomes: dict[str, FetchedSkill | str], before: VisitState
    ) -> tuple[dict[str, FetchedSkill], list[Problem]]:
        """Return the skills for the next snapshot, and all problems.

        These are the problems of the index, and one problem for each missing or outdated skill.
        """
        chosen: dict[str, FetchedSkill] = {}
        problems = [*index.problems]
        left = MAX_TOTAL_BYTES
        for skill in index.skills:
            outcome, last = outcomes.get(skill.name, _LATE), before.skills.get(skill.name)
            if isinstance(outcome, FetchedSkill):
                version = outcome
            elif last is not None and self._web_cache.has(last.key):
                version = last
                problems.append(_partial_problem(skill.name, f"it is served as it was before: {outcome}"))
            else:
                problems.append(_partial_problem(skill.name, f"it is left out: {outcome}"))
                continue
            left -= version.size
            if left < 0:
                problems.append(_partial_problem(skill.name, f"it is left out: {TOTAL_BYTES_MESSAGE}"))
            else:
                chosen[skill.name] = version
        return chosen, problems


async def _fetch_all(
    downloader: SkillDownloader, skills: Iterable[PublishedSkill]
) -> dict[str, FetchedSkill | str]:
    """Download all skills. Return each skill, or the reason why its download failed, by name.

    Skills that were not downloaded before the timeout are missing from the result.
    """
    outcomes: dict[str, FetchedSkill | str] = {}
    waiting = iter(skills)

    async def work() -> None:
        for skill in waiting:
            try:
                outcomes[skill.name] = await downloader.fetch_skill(skill)
            except SourceError as error:
                outcomes[skill.name] = str(error)

    with anyio.move_on_after(TIMEOUT_SECONDS):
        async with anyio.create_task_group() as group:
            for _ in range(MAX_CONCURRENT_DOWNLOADS):
                group.start_soon(work)
    return outcomes


def _index_addresses(url: str) -> tuple[WebAddress, ...]:
    """Return the possible addresses of the index, the newer address first. Raises `UsageError`."""
    hint = (
        f"write `https://host.example`, or `https://host.example/{WELL_KNOWN_FOLDER}/`; "
        "an MCP server is written `mcp+https://host.example/mcp`, "
        "a git repository `git+https://host.example/owner/repo`"
    )
    try:
        address = WebAddress.parse(url)
    except SourceError as error:
        raise UsageError(str(error), hint=hint) from error
    found = _PATH.fullmatch(f"/{WELL_KNOWN_FOLDER}" if address.path in {"", "/"} else address.path)
    if found is None or address.has_query:
        raise UsageError(f"{address.shown} is not the address of a web source", hint=hint)
    folders = (
        [WELL_KNOWN_FOLDER, LEGACY_WELL_KNOWN_FOLDER]
        if found["folder"] == WELL_KNOWN_FOLDER
        else [LEGACY_WELL_KNOWN_FOLDER]
    )
    return tuple(address.join(f"{found['site'] or ''}/{folder}/{INDEX_FILE}") for folder in folders)


def _partial_problem(name: str, message: str) -> Problem:
    return Problem(f"{name}/{SKILL_FILE}", Rule.SOURCE_PARTIAL, Severity.WARNING, message, _FETCHED_AGAIN)
