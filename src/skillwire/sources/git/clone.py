"""The local clone of a repository: one bare, shallow clone for all folders and refs that are served."""

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
"""Assumed average length of a line in a listing, in bytes, which determines where a listing is cut off."""
_MAX_LISTING_BYTES = 128 * 1024 * 1024
"""Maximum number of bytes of a listing that are held in memory."""
ATTRIBUTES = "* -text -crlf -ident !eol !filter !working-tree-encoding\n"
"""Attributes that override the repository's attributes, so that a checkout has the exact bytes in the commit.
"""
_NO_ATTRIBUTES = ("--quiet", "--ignore-unmatch", "--", ":(top,glob,icase)**/.gitattributes")
_TREE, _LINK, _SUBMODULE = b"040000", b"120000", b"160000"


@dataclass(frozen=True, slots=True)
class GitFolder:
    """A folder in a commit."""

    commit: str
    path: str
    tree: str
    """The object id of the folder's tree; for the whole repository, the commit."""


@dataclass(frozen=True, slots=True)
class FolderSize:
    """The number of files and folders in a folder, their size and the paths of submodules."""

    entries: int
    bytes: int
    submodules: tuple[str, ...]
    more: bool
    """Whether the listing was cut off, so that the folder is larger than the measured size."""


class GitClone:
    """Runs git commands on the local clone. `GitError` may mean that the clone is damaged."""

    def __init__(self, cache: GitCache) -> None:
        self._cache = cache
        self._git = Git.local()

    @staticmethod
    def ref(name: str) -> str:
        """Return the ref in the clone for the commit that is served for `name`."""
        return f"{_REFS}/{hashlib.sha256(name.encode()).hexdigest()[:16]}"

    async def make(self, digits: int) -> bool:
        """Create an empty clone for commit hashes with this number of digits.

        Return False if there already is one.
        """
        if (self._cache.clone / "HEAD").is_file():
            return False
        staged = self._cache.stage()
        form = "sha1" if digits == 40 else "sha256"
        new = staged / "clone.git"
        options = ("--quiet", "--bare", "--template=", f"--object-format={form}")
        await self._git.run("init", *options, "--", str(new), folder=staged)
        await anyio.to_thread.run_sync(remove_folder, self._cache.clone)  # leftovers of a broken clone
        new.rename(self._cache.clone)
        staged.rmdir()
        return True

    async def has(self, commit: str) -> bool:
        """Return whether a commit was fetched completely. Only then does a ref point to it."""
        return bool((await self._run("for-each-ref", f"--points-at={commit}", _REFS)).text)

    async def keep(self, ref: str, commit: str) -> None:
        """Point `ref` to a commit that was fetched."""
        await self._run("update-ref", ref, commit)

    async def commit(self, ref: str) -> str | None:
        """Return the commit of a ref or of a commit hash, or None if there is no such commit."""
        try:
            return (await self._run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")).text
        except GitError as error:
            if error.stderr_text.strip():
                raise
            return None

    async def forget(self, prefix: str) -> None:
        """Delete the refs below `prefix`, so that `tidy` can delete commits that only they refer to."""
        for ref in (await self._run("for-each-ref", "--format=%(refname)", prefix)).text.splitlines():
            await self._run("update-ref", "-d", ref)

    async def folder(self, commit: str, path: str) -> GitFolder:
        """Return a folder in a commit. Raises `SourceError` if there is no folder at that path.

        Links are not followed, because they could lead anywhere.
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
            raise SourceError(f"{quoted(path)} is {what} in the repository; name a folder instead")
        return GitFolder(commit, path, tree.decode())

    async def measure(self, folder: GitFolder, limits: Limits) -> FolderSize:
        """Return the size of a folder without checking it out."""
        max_bytes = min(_LISTING_BYTES * (limits.entries + 1), _MAX_LISTING_BYTES)
        options = ("-r", "-t", "-l", "-z", "--full-tree")
        listing = await self._run("ls-tree", *options, folder.tree, most=max_bytes)
        entries = size = 0
        submodules: list[str] = []
        for line in _lines(
            listing.content
        ):  # not split at once, because there may be ten times as many lines as allowed
            head, _, name = line.partition(b"\t")
            mode, _, _, length = head.split()
            entries += 1
            size += int(length) if length.isdigit() else 0
            if mode == _SUBMODULE and entries <= limits.entries:
                submodules.append(os.fsdecode(name))
        return FolderSize(entries, size, tuple(submodules), more=listing.cut)

    async def check_out(self, folder: GitFolder, target: Path, measure: FolderSize) -> None:
        """Write the files in a folder below `target`, which appears only when it is complete.

        The repository's settings and attributes are ignored: no filter runs, and every file has exactly the
        bytes in the commit. `.gitattributes` files are left out. Raises `SourceError` if git writes more than
        was measured.
        """
        staged = self._cache.stage()
        tree = staged / "tree"
        tree.mkdir()
        self._set_attributes()
        variables = {"GIT_INDEX_FILE": str(staged / "index"), "GIT_WORK_TREE": str(tree)}
        prefix = (f"--prefix={folder.path}/",) if folder.path else ()
        await self._run("read-tree", *prefix, folder.tree, variables=variables)
        # Matching the patterns in `.gitattributes` can take git forever. These files are never served.
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
                f"git wrote more than the {measure.bytes:,} bytes of commit `{folder.commit}`; "
                "the files were removed, and none of them is served"
            )
        tree.rename(target)
        await anyio.to_thread.run_sync(shutil.rmtree, staged)

    def _set_attributes(self) -> None:
        information = self._cache.clone / "info"
        information.mkdir(exist_ok=True)
        (information / "attributes").write_text(ATTRIBUTES)

    async def tidy(self) -> None:
        """Delete objects that no ref needs, once there are enough of them."""
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
    """Yield the lines of a listing, which are terminated by zero bytes.

    An incomplete last line is dropped.
    """
    start = 0
    while (end := content.find(b"\0", start)) >= 0:
        yield content[start:end]
        start = end + 1


def _exceeds(root: str, entries: int, size: int) -> bool:
    """Return whether there are more than `entries` files and folders or `size` bytes below `root`."""
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
