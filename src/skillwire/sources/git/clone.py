"""The clone on this machine: one bare, shallow repository for all folders and refs that are served of it."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from skillwire.model.display import quoted
from skillwire.model.errors import SourceError
from skillwire.model.limits import Limits
from skillwire.sources.git.cache import GitCache
from skillwire.sources.git.program import Git, GitError, Output

_REFS = "refs/skillwire"
_LISTING_BYTES = 512
"""How long a line of a listing may be on average, before the listing is cut short."""
_TREE, _LINK, _SUBMODULE = b"040000", b"120000", b"160000"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a commit."""

    commit: str
    path: str
    tree: str
    """What git calls its content."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How much there is in a folder."""

    entries: int
    bytes: int
    submodules: tuple[str, ...]
    more: bool
    """Whether there is more than was counted."""


class GitClone:
    """Commands on the clone. All but `make` raise `GitError` where it is damaged."""

    def __init__(self, cache: GitCache) -> None:
        self._cache = cache
        self._git = Git.local()

    @staticmethod
    def ref(name: str) -> str:
        """Return what the clone calls the commit that is served for `name`."""
        return f"{_REFS}/{hashlib.sha256(name.encode()).hexdigest()[:16]}"

    async def make(self, digits: int) -> bool:
        """Make an empty clone for commits of so many digits; return False if one is there already."""
        if (self._cache.clone / "HEAD").is_file():
            return False
        staged = self._cache.stage()
        form = "sha1" if digits == 40 else "sha256"
        new = staged / "clone.git"
        options = ("--quiet", "--bare", "--template=", f"--object-format={form}")
        await self._git.run("init", *options, "--", str(new), folder=staged)
        await anyio.to_thread.run_sync(self._cache.remove, self._cache.clone)  # what is left of a broken one
        new.rename(self._cache.clone)
        staged.rmdir()
        return True

    async def has(self, commit: str) -> bool:
        """Whether all of a commit is here: only then does a ref point at it."""
        return bool((await self._run("for-each-ref", f"--points-at={commit}", _REFS)).text)

    async def keep(self, ref: str, commit: str) -> None:
        """Let `ref` point at a commit that is here."""
        await self._run("update-ref", ref, commit)

    async def commit(self, ref: str) -> str | None:
        """Return the commit that a ref, or the name of a commit, points at; None if it is no commit."""
        try:
            return (await self._run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")).text
        except GitError as error:
            if error.talk.strip():
                raise
            return None

    async def forget(self, prefix: str) -> None:
        """Remove the refs below `prefix`, so that what only they hold can be thrown away."""
        for ref in (await self._run("for-each-ref", "--format=%(refname)", prefix)).text.splitlines():
            await self._run("update-ref", "-d", ref)

    async def folder(self, commit: str, path: str) -> Folder:
        """Return a folder of a commit. Raises `SourceError` if there is none of that path.

        Links are not followed: git knows them as files, and they could lead anywhere.
        """
        if not path:
            return Folder(commit, path, commit)
        listing = await self._run("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path)
        line = listing.content.rstrip(b"\0")
        if not line:
            raise SourceError(f"the repository has no folder {quoted(path)} at commit `{commit}`")
        mode, _, tree = line.partition(b"\t")[0].split(b" ")
        if mode != _TREE:
            what = {_LINK: "a link", _SUBMODULE: "a submodule"}.get(mode, "a file")
            raise SourceError(f"{quoted(path)} is {what} in the repository; name a folder of its own")
        return Folder(commit, path, tree.decode())

    async def measure(self, folder: Folder, limits: Limits) -> Measure:
        """Return how much a folder holds, without checking it out."""
        most = _LISTING_BYTES * (limits.entries + 1)
        listing = await self._run("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", folder.tree, most=most)
        lines = listing.content.split(b"\0")[:-1]
        heads = [line.partition(b"\t")[0].split() for line in lines]
        submodules = (line.partition(b"\t")[2] for line in lines if line.startswith(_SUBMODULE))
        return Measure(
            entries=len(lines),
            bytes=sum(int(size) for _, _, _, size in heads if size.isdigit()),
            submodules=tuple(os.fsdecode(name) for name in submodules),
            more=listing.cut,
        )

    async def check_out(self, folder: Folder, target: Path) -> None:
        """Write the files of a folder below `target`, which is there only when it is complete.

        Nobody's settings count, so no filter that the repository asks for has a program to run.
        """
        staged = self._cache.stage()
        tree = staged / "tree"
        tree.mkdir()
        variables = {"GIT_INDEX_FILE": str(staged / "index"), "GIT_WORK_TREE": str(tree)}
        prefix = (f"--prefix={folder.path}/",) if folder.path else ()
        await self._run("read-tree", *prefix, folder.tree, variables=variables)
        await self._run("checkout-index", "--all", "--quiet", folder=tree, variables=variables)
        tree.rename(target)
        await anyio.to_thread.run_sync(shutil.rmtree, staged)

    async def tidy(self) -> None:
        """Throw away what no ref holds any more, once there is enough of it."""
        await self._run("gc", "--auto", "--quiet")

    async def _run(
        self,
        *arguments: str,
        folder: Path | None = None,
        variables: dict[str, str] | None = None,
        most: int = 1024 * 1024,
    ) -> Output:
        return await self._git.run(
            f"--git-dir={self._cache.clone}",
            *arguments,
            folder=folder or self._cache.clone,
            variables=variables,
            most=most,
        )
