"""`GitSource`: the skills in a folder of a git repository, at a branch, tag or commit."""

import os
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from skillwire.core.atomic_write import remove_folder
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits
from skillwire.errors import SourceError
from skillwire.safe_text import quoted
from skillwire.sources.cache_folder import cache_folder_from
from skillwire.sources.fetched import POLL_SECONDS, FetchedSource, Fetcher, Snapshot
from skillwire.sources.git.address import Repository
from skillwire.sources.git.cache import GitCache, LastServed
from skillwire.sources.git.clone import FolderSize, GitClone, GitFolder
from skillwire.sources.git.command import Git, GitError
from skillwire.sources.git.remote import FETCH_SECONDS, GitRemote, RemoteRef

MAX_BYTES = 1024 * 1024 * 1024
"""Maximum number of bytes that one fetch downloads, and that one checkout contains."""
_ALL = "refs/skillwire-all"
"""Prefix of the refs to the whole history, while the history is searched for a commit."""


class GitSource(FetchedSource):
    """The skills in a git repository, which is fetched periodically."""

    def __init__(
        self,
        repository: str,
        *,
        label: str | None = None,
        token: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
        every: float = POLL_SECONDS,
        live: bool = False,
    ) -> None:
        """Serve a repository, written as `github:owner/repo[/path][@ref]` or `git+URL[@ref][#path]`.

        The repository is cloned into `cache`, which defaults to the platform's cache folder, and fetched
        again after `every` seconds. With `live`, the last good snapshot is served at once, and the newest
        snapshot when it is fetched. Raises `InvalidValueError` if `repository` is invalid, and
        `PlatformError` on Windows.
        """
        address = Repository.parse(repository)
        folder = cache_folder_from(os.environ) if cache is None else Path(cache)
        fetcher = GitFetcher(address, folder, token, limits=limits)
        super().__init__(fetcher, label=label or address.label, limits=limits, every=every, live=live)


class GitFetcher(Fetcher):
    """Fetches snapshots of one folder in a repository, with the program `git`.

    Fetchers of one repository share a clone below `cache`, and may run at the same time. The token is sent
    only to the host of the repository, and is never written to disk.
    """

    def __init__(
        self,
        repository: Repository,
        cache: Path,
        token: str | None = None,
        *,
        limits: Limits | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.place = repository.place
        self._interpretations = repository.interpretations()
        self._repository = repository
        """What the address means: the first reading, until the server has told which refs exist."""
        self._limits = limits or Limits()
        self._max_bytes = max_bytes
        self._cache = GitCache(cache.absolute(), repository.url)
        self._remote = GitRemote(repository, token)
        self._usable = False
        self._snapshot: Snapshot | None = None

    def last(self) -> Snapshot | None:
        record = self._cache.record(self._repository.ref, self._repository.path)
        if record is None and (reading := self._recorded_interpretation()) is not None:
            self._repository = reading
            record = self._cache.record(reading.ref, reading.path)
        if record is None:
            return None
        root = self._root(record.commit)
        left_out = tuple(map(_submodule_problem, record.submodules))
        folder = self._cache.checkout(record.commit, self._repository.path)
        snapshot = Snapshot(root, record.commit, left_out, folder)
        if snapshot != self._snapshot:
            self._snapshot = snapshot
        return self._snapshot if root.is_dir() else None

    def _recorded_interpretation(self) -> Repository | None:
        """Return the meaning of the address that an earlier process fetched, or None."""
        return next((each for each in self._interpretations if self._cache.record(each.ref, each.path)), None)

    async def fetch(self) -> Snapshot:
        if self._repository.is_pinned and (last := self.last()) is not None:
            return last  # a commit never changes, so there is nothing to fetch
        try:
            return await self._fetch()
        except GitError as error:
            raise self._remote.translate_error(error) from error
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise SourceError(f"the cache folder cannot be written: {reason}") from error

    async def _fetch(self) -> Snapshot:
        self._cache.make()
        if not self._usable:
            await Git.local().check_version(self._cache.folder)
            self._usable = True
        remote_ref = await self._resolve_ref()
        if (last := self.last()) is not None and last.version == remote_ref.commit:
            return last
        try:
            with anyio.fail_after(FETCH_SECONDS) as waiting:
                async with self._cache.locked() as lock:
                    waiting.deadline = float("inf")
                    await self._fetch_and_check_out(remote_ref, lock)
        except TimeoutError:
            raise SourceError(
                f"another process has been fetching {quoted(self.place)} for too long"
            ) from None
        snapshot = self.last()
        assert snapshot is not None, "it was recorded a moment ago"
        return snapshot

    async def _resolve_ref(self) -> RemoteRef:
        """Return the ref and commit to serve. If the address names a commit, only check access."""
        ref = self._repository.ref
        if not self._repository.is_pinned:
            at, found = await self._remote.first_tip(
                [each.ref for each in self._interpretations], self._cache.folder
            )
            self._repository = self._interpretations[at]
            return found
        await self._remote.check_reachable(self._cache.folder)
        return RemoteRef(ref, ref)

    async def _fetch_and_check_out(self, remote_ref: RemoteRef, lock: tuple[int, ...]) -> None:
        """Fetch, check out and record the commit. If git fails in an old clone, retry with a new one."""
        await anyio.to_thread.run_sync(self._cache.sweep)
        clone = GitClone(self._cache)
        new = await clone.make(len(remote_ref.commit))
        try:
            await self._update(clone, remote_ref, lock)
        except GitError:
            if new:
                raise
            await anyio.to_thread.run_sync(remove_folder, self._cache.clone)
            await clone.make(len(remote_ref.commit))
            await self._update(clone, remote_ref, lock)

    async def _update(self, clone: GitClone, remote_ref: RemoteRef, lock: tuple[int, ...]) -> None:
        commit = await self._fetch_commit(clone, remote_ref, lock)
        folder = await clone.folder(commit, self._repository.path)
        measure = await clone.measure(folder, self._limits)
        if measure.more or measure.entries > self._limits.entries or measure.bytes > self._max_bytes:
            count = f"{'more than ' if measure.more else ''}{measure.entries:,} files and folders"
            limit = f"{self._limits.entries:,} and {self._max_bytes:,} bytes"
            size = f"{quoted(self.place)} holds {count} and {measure.bytes:,} bytes"
            raise SourceError(f"{size}; the limit is {limit}: name a smaller folder in it")
        await self._check_out(clone, folder, measure)
        ref, path = self._repository.ref, self._repository.path
        before = self._cache.record(ref, path)
        previous = before.previous_commit(commit) if before else ""
        self._cache.write(LastServed(ref, path, commit, previous, measure.submodules))
        await anyio.to_thread.run_sync(self._cache.prune)
        with suppress(SourceError):  # tidying may fail, because the checkout is complete
            await clone.tidy()

    async def _fetch_commit(self, clone: GitClone, remote_ref: RemoteRef, lock: tuple[int, ...]) -> str:
        """Fetch a commit into the clone.

        Return the fetched commit, which may be newer if the branch has moved.
        """
        ref = clone.ref(remote_ref.name)
        if await clone.has(remote_ref.commit):  # another fetcher of this repository has fetched it
            await clone.keep(ref, remote_ref.commit)
            return remote_ref.commit
        try:
            await self._transfer(f"+{remote_ref.name}:{ref}", lock=lock)
        except GitError as error:
            if not self._repository.is_pinned:
                raise
            await self._search(clone, remote_ref.commit, error, lock)
            await clone.keep(ref, remote_ref.commit)
        commit = await clone.commit(ref)
        if commit is None or (self._repository.is_pinned and commit != remote_ref.commit):
            raise self._remote.missing_ref_error(self._repository.ref)
        return commit

    async def _search(self, clone: GitClone, commit: str, error: GitError, lock: tuple[int, ...]) -> None:
        """Fetch the whole history to find a commit that the server does not send by its hash.

        Raises `SourceError` if the commit is not in the history. If `error` has another
        cause, raises it again.
        """
        if "not our ref" in error.stderr_text:  # for servers that send any commit that they have
            raise self._remote.missing_ref_error(commit) from error
        if "unadvertised object" not in error.stderr_text:
            raise error
        try:
            await self._transfer(
                f"+refs/heads/*:{_ALL}/h/*", f"+refs/tags/*:{_ALL}/t/*", lock=lock, whole=True
            )
            if await clone.commit(commit) != commit:
                raise self._remote.missing_ref_error(commit) from error
        finally:
            await clone.forget(_ALL)

    async def _transfer(self, *specs: str, lock: tuple[int, ...], whole: bool = False) -> None:
        before = self._cache.clone_size()
        done = await self._remote.fetch(
            *specs,
            into=self._cache.clone,
            inherit=lock,
            is_over_limit=lambda: self._cache.clone_size() - before > self._max_bytes,
            whole=whole,
        )
        if not done:
            raise SourceError(f"{quoted(self.place)} is larger than {self._max_bytes:,} bytes")

    async def _check_out(self, clone: GitClone, folder: GitFolder, measure: FolderSize) -> None:
        target = self._cache.checkout(folder.commit, folder.path)
        if not target.is_dir():
            await clone.check_out(folder, target, measure)

    def _root(self, commit: str) -> Path:
        path = self._repository.path
        return self._cache.checkout(commit, path).joinpath(*path.split("/"))


def _submodule_problem(submodule: str) -> Problem:
    return Problem(
        submodule,
        Rule.SOURCE_PARTIAL,
        Severity.WARNING,
        "it is a submodule, which is a separate repository and is not fetched",
        hint="serve that repository as another source",
    )
