"""Skills of a git repository: a folder of it, at a branch, a tag or a commit."""

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
"""Bytes that are fetched, and bytes that are checked out, of one repository."""
_ALL = "refs/skillwire-all"
"""Where the whole history goes while a commit is looked for."""


class GitSource(FetchedSource):
    """The skills of a git repository, fetched again from time to time."""

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
        """Take a repository as `github:owner/repo[/path][@ref]` or `git+URL[@ref][#path]`.

        The clone goes into `cache`, or the platform's cache folder. With `live`, the last good copy is served
        at once, and the newest when it is fetched. Raises `InvalidValueError`.
        """
        address = Repository.parse(repository)
        folder = cache_folder_from(os.environ) if cache is None else Path(cache)
        mirror = GitFetcher(address, folder, token, limits=limits)
        super().__init__(mirror, label=label or address.label, limits=limits, every=every, live=live)


class GitFetcher(Fetcher):
    """Copies of a folder of a repository, made by the program `git`.

    Mirrors of one repository share a clone below `cache`, and may work at the same time. The token is told to
    the repository's own host and to nobody else, and is written nowhere.
    """

    def __init__(
        self,
        repository: Repository,
        cache: Path,
        token: str | None = None,
        *,
        limits: Limits | None = None,
        most_bytes: int = MAX_BYTES,
    ) -> None:
        self.place = repository.place
        self._repository = repository
        self._limits = limits or Limits()
        self._most_bytes = most_bytes
        self._cache = GitCache(cache.absolute(), repository.url)
        self._remote = GitRemote(repository, token)
        self._usable = False
        self._copy: Snapshot | None = None

    def last(self) -> Snapshot | None:
        record = self._cache.record(self._repository.ref, self._repository.path)
        if record is None:
            return None
        root = self._root(record.commit)
        left_out = tuple(map(_submodule_problem, record.submodules))
        folder = self._cache.checkout(record.commit, self._repository.path)
        copy = Snapshot(root, record.commit, left_out, folder)
        if copy != self._copy:
            self._copy = copy
        return self._copy if root.is_dir() else None

    async def fetch(self) -> Snapshot:
        if self._repository.is_pinned and (last := self.last()) is not None:
            return last  # exactly that commit, for ever: there is nothing to ask
        try:
            return await self._fetch()
        except GitError as error:
            raise self._remote.translate_error(error) from error
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise SourceError(f"the folder for copies cannot be written: {reason}") from error

    async def _fetch(self) -> Snapshot:
        self._cache.make()
        if not self._usable:
            await Git.local().check_version(self._cache.folder)
            self._usable = True
        wanted = await self._resolve_ref()
        if (last := self.last()) is not None and last.version == wanted.commit:
            return last
        try:
            with anyio.fail_after(FETCH_SECONDS) as waiting:
                async with self._cache.locked() as lock:
                    waiting.deadline = float("inf")
                    await self._fetch_and_check_out(wanted, lock)
        except TimeoutError:
            raise SourceError(
                f"another process has been fetching {quoted(self.place)} for too long"
            ) from None
        copy = self.last()
        assert copy is not None, "it was recorded a moment ago"
        return copy

    async def _resolve_ref(self) -> RemoteRef:
        """Ask the server what is to be served now."""
        ref = self._repository.ref
        if not self._repository.is_pinned:
            return await self._remote.tip(ref, self._cache.folder)
        await self._remote.check_reachable(self._cache.folder)
        return RemoteRef(ref, ref)

    async def _fetch_and_check_out(self, wanted: RemoteRef, lock: tuple[int, ...]) -> None:
        """Fetch, check out and record; from scratch if the clone turns out to be damaged."""
        await anyio.to_thread.run_sync(self._cache.sweep)
        clone = GitClone(self._cache)
        new = await clone.make(len(wanted.commit))
        try:
            await self._update(clone, wanted, lock)
        except GitError:
            if new:
                raise
            await anyio.to_thread.run_sync(remove_folder, self._cache.clone)
            await clone.make(len(wanted.commit))
            await self._update(clone, wanted, lock)

    async def _update(self, clone: GitClone, wanted: RemoteRef, lock: tuple[int, ...]) -> None:
        commit = await self._fetch_commit(clone, wanted, lock)
        folder = await clone.folder(commit, self._repository.path)
        measure = await clone.measure(folder, self._limits)
        if measure.more or measure.entries > self._limits.entries or measure.bytes > self._most_bytes:
            many = f"{'more than ' if measure.more else ''}{measure.entries:,} files and folders"
            most = f"{self._limits.entries:,} and {self._most_bytes:,} bytes"
            held = f"{quoted(self.place)} holds {many} and {measure.bytes:,} bytes"
            raise SourceError(f"{held}; at most {most} are served: name a smaller folder of it")
        await self._check_out(clone, folder, measure)
        ref, path = self._repository.ref, self._repository.path
        before = self._cache.record(ref, path)
        previous = before.previous_commit(commit) if before else ""
        self._cache.write(LastServed(ref, path, commit, previous, measure.submodules))
        await anyio.to_thread.run_sync(self._cache.prune)
        with suppress(SourceError):  # what is served is here already
            await clone.tidy()

    async def _fetch_commit(self, clone: GitClone, wanted: RemoteRef, lock: tuple[int, ...]) -> str:
        """Bring the wanted commit into the clone; return which one came, which a pin says beforehand."""
        ref = clone.ref(wanted.name)
        if await clone.has(wanted.commit):  # another mirror of this repository brought it
            await clone.keep(ref, wanted.commit)
            return wanted.commit
        try:
            await self._transfer(f"+{wanted.name}:{ref}", lock=lock)
        except GitError as error:
            if not self._repository.is_pinned:
                raise
            await self._search(clone, wanted.commit, error, lock)
            await clone.keep(ref, wanted.commit)
        commit = await clone.commit(ref)
        if commit is None or (self._repository.is_pinned and commit != wanted.commit):
            raise self._remote.missing_ref_error(self._repository.ref)
        return commit

    async def _search(self, clone: GitClone, commit: str, error: GitError, lock: tuple[int, ...]) -> None:
        """Look for a commit in the whole history, because the server does not hand it out by its name."""
        if "not our ref" in error.stderr_text:  # said by servers that hand out whatever they have
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
            is_over_limit=lambda: self._cache.clone_size() - before > self._most_bytes,
            whole=whole,
        )
        if not done:
            raise SourceError(f"{quoted(self.place)} is larger than {self._most_bytes:,} bytes")

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
        "it is a submodule, a repository of its own, and is not fetched",
        hint="serve that repository too, as a source of its own",
    )
