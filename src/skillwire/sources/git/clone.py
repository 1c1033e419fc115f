"""The clone on this machine: one bare, shallow repository for all folders and refs that are served of it."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from skillwire.core.atomic_write import remove_folder
from skillwire.core.record import Limits
from skillwire.errors import SourceError
from skillwire.safe_text import quoted
from skillwire.sources.git.cache import GitCache
from skillwire.sources.git.command import Git, GitError, Output

_REFS = "refs/skillwire"
_LISTING_BYTES = 512
"""How long a line of a listing may be on average, before the listing is cut short."""
ATTRIBUTES = "* -text -crlf -ident !eol !filter !working-tree-encoding\n"
"""Attributes that win over those of a repository. With them, a checkout has the very bytes of the commit."""
_NO_ATTRIBUTES = ("--quiet", "--ignore-unmatch", "--", ":(top,glob,icase)**/.gitattributes")
_TREE, _LINK, _SUBMODULE = b"040000", b"120000", b"160000"


@dataclass(frozen=True, slots=True)
class GitFolder:
    """A folder of a commit."""

    commit: str
    path: str
    tree: str
    """What git calls its content."""


@dataclass(frozen=True, slots=True)
class FolderSize:
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
        await anyio.to_thread.run_sync(remove_folder, self._cache.clone)  # what is left of a broken one
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
            if error.stderr_text.strip():
                raise
            return None

    async def forget(self, prefix: str) -> None:
        """Remove the refs below `prefix`, so that what only they hold can be thrown away."""
        for ref in (await self._run("for-each-ref", "--format=%(refname)", prefix)).text.splitlines():
            await self._run("update-ref", "-d", ref)

    async def folder(self, commit: str, path: str) -> GitFolder:
        """Return a folder of a commit. Raises `SourceError` if there is none of that path.

        Links are not followed: git knows them as files, and they could lead anywhere.
        """
        if not path:
            return GitFolder(commit, path, commit)
        listing = await self._run("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path)
        line = listing.content.rstrip(b"\0")
        if not line:
            raise SourceError(f"the repository has no folder {quoted(path)} at commit `{commit}`")
        mode, _, tree = line.partition(b"\t")[0].split(b" ")
        if mode != _TREE:
            what = {_LINK: "a link", _SUBMODULE: "a submodule"}.get(mode, "a file")
            raise SourceError(f"{quoted(path)} is {what} in the repository; name a folder of its own")
        return GitFolder(commit, path, tree.decode())

    async def measure(self, folder: GitFolder, limits: Limits) -> FolderSize:
        """Return how much a folder holds, without checking it out."""
        most = _LISTING_BYTES * (limits.entries + 1)
        listing = await self._run("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", folder.tree, most=most)
        entries = size = 0
        submodules: list[str] = []
        for line in _lines(listing.content):  # one at a time: there may be ten times as many as are allowed
            head, _, name = line.partition(b"\t")
            mode, _, _, length = head.split()
            entries += 1
            size += int(length) if length.isdigit() else 0
            if mode == _SUBMODULE and entries <= limits.entries:
                submodules.append(os.fsdecode(name))
        return FolderSize(entries, size, tuple(submodules), more=listing.cut)

    async def check_out(self, folder: GitFolder, target: Path, measure: FolderSize) -> None:
        """Write the files of a folder below `target`, which is there only when it is complete.

        No settings and no attributes of a repository count: no filter runs, and every file has the bytes of
        the commit. Raises `SourceError` if git writes more than was measured all the same.
        """
        staged = self._cache.stage()
        tree = staged / "tree"
        tree.mkdir()
        self._set_attributes()
        variables = {"GIT_INDEX_FILE": str(staged / "index"), "GIT_WORK_TREE": str(tree)}
        prefix = (f"--prefix={folder.path}/",) if folder.path else ()
        await self._run("read-tree", *prefix, folder.tree, variables=variables)
        # Attributes are patterns that git may need for ever to match. These files are never served.
        await self._run("rm", "--cached", "-r", "-f", *_NO_ATTRIBUTES, folder=tree, variables=variables)
        entries = measure.entries + len(Path(folder.path).parts)

        def is_over_limit() -> bool:
            return _exceeds(str(tree), entries, measure.bytes)

        written = await self._run(
            "checkout-index",
            "--all",
            "--quiet",
            folder=tree,
            variables=variables,
            is_over_limit=is_over_limit,
        )
        if written.cut or await anyio.to_thread.run_sync(is_over_limit):
            await anyio.to_thread.run_sync(shutil.rmtree, staged)
            raise SourceError(
                f"git wrote more than the {measure.bytes:,} bytes that commit `{folder.commit}` holds; "
                "its files are removed again, and nothing of them is served"
            )
        tree.rename(target)
        await anyio.to_thread.run_sync(shutil.rmtree, staged)

    def _set_attributes(self) -> None:
        information = self._cache.clone / "info"
        information.mkdir(exist_ok=True)
        (information / "attributes").write_text(ATTRIBUTES)

    async def tidy(self) -> None:
        """Throw away what no ref holds any more, once there is enough of it."""
        await self._run("gc", "--auto", "--quiet")

    async def _run(
        self,
        *arguments: str,
        folder: Path | None = None,
        variables: dict[str, str] | None = None,
        most: int = 1024 * 1024,
        is_over_limit: Callable[[], bool] | None = None,
    ) -> Output:
        return await self._git.run(
            f"--git-dir={self._cache.clone}",
            *arguments,
            folder=folder or self._cache.clone,
            variables=variables,
            most=most,
            is_over_limit=is_over_limit,
        )


def _lines(content: bytes) -> Iterator[bytes]:
    """Yield the lines of a listing. What is behind the last zero byte was cut off."""
    start = 0
    while (end := content.find(b"\0", start)) >= 0:
        yield content[start:end]
        start = end + 1


def _exceeds(root: str, entries: int, size: int) -> bool:
    """Whether more files and folders are below `root`, or more bytes in them. Stops once that is known."""
    pending = [root]
    while pending:
        with suppress(FileNotFoundError), os.scandir(pending.pop()) as found:
            for entry in found:
                entries -= 1
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    size -= entry.stat(follow_symlinks=False).st_size
                if entries < 0 or size < 0:
                    return True
    return False
