"""Which files of a working copy differ from a commit, without running anything that a repository configures.

Git only lists names and ids. To compare content it would run filters, so the files are hashed here.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillwire.model.display import quoted
from skillwire.model.errors import SourceError, UsageError
from skillwire.sources.git.program import Git, Output
from skillwire.sources.git.settings import local_environment

_SETTINGS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_MOST_NAMES = 64 * 1024 * 1024
_MOST_TEXT = 16 * 1024 * 1024
_LINK, _REPOSITORY = "120000", "160000"
_NOT_CHECKED_OUT = "S"
_SHA256_DIGITS = 64


@dataclass(frozen=True, slots=True)
class Known:
    """What a commit holds at one path."""

    mode: str
    id: str

    def is_at(self, path: Path) -> bool:
        """Whether the same bytes are on the disk."""
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                to = os.fsencode(path.readlink())
                return self.mode == _LINK and self._names(len(to), [to])
            if not stat.S_ISREG(mode) or self.mode == _LINK:
                return False
            return self._is_in(path)
        except OSError:
            return False

    def _is_in(self, path: Path) -> bool:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > _MOST_TEXT:
                return self._names(size, iter(lambda: file.read(_MOST_TEXT), b""))
            content = file.read()
        # Where git writes text with the line ends of the machine, the commit still holds `\n`.
        spellings = (content, content.replace(b"\r\n", b"\n"))
        return any(self._names(len(each), [each]) for each in spellings)

    def _names(self, size: int, parts: Iterable[bytes]) -> bool:
        kind = "sha256" if len(self.id) == _SHA256_DIGITS else "sha1"
        digest = hashlib.new(kind, b"blob %d\0" % size, usedforsecurity=False)
        for part in parts:
            digest.update(part)
        return digest.hexdigest() == self.id


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """The files that were checked out of one repository."""

    top: Path

    @classmethod
    async def around(cls, folder: Path) -> "WorkingCopy":
        """Return the working copy that a folder is in. Raises `UsageError`."""
        try:
            found = await _git(folder, "rev-parse", "--show-toplevel")
        except SourceError as error:
            if "dubious ownership" in str(error):
                trust = "git config --global --add safe.directory"
                raise UsageError(
                    f"git does not trust {quoted(str(folder))}: the repository belongs to somebody else",
                    hint=f"if you trust it: `{trust} FOLDER`, with the folder that holds its `.git`",
                ) from error
            hint = "leave `--changed-since` out, or name a folder in a repository"
            raise UsageError(f"{quoted(str(folder))} is in no git repository: {error}", hint=hint) from error
        return cls(_real(os.fsdecode(found.content.rstrip(b"\r\n"))))

    async def parted_from(self, revision: str) -> str:
        """Return the commit at which `revision` and this parted. Raises `SourceError`."""
        return (await _git(self.top, "merge-base", revision, "HEAD")).text

    async def changed(self, base: str | None, below: Sequence[Path]) -> set[Path]:
        """Return the files in these folders that are not as in `base`, those of repositories in it too.

        Without a `base` every file is new. A file that git does not know is, too, unless git ignores it.
        """
        before: Mapping[str, Known] = await self._known(base) if base is not None else {}
        now = await self._names()
        away = {name for tag, name in now if tag == _NOT_CHECKED_OUT}
        found: set[Path] = set()
        for name in before.keys() | {name for _, name in now}:
            path, known = self.top / name, before.get(name)
            if not _overlap(path, below):
                continue
            if path.is_dir() and not path.is_symlink():
                found |= await _changed_inside(path, known, below)
            elif not (known and known.is_at(path)) and not (name in away and not path.exists()):
                found |= {path, _real(path)}
        return found

    async def _known(self, base: str) -> Mapping[str, Known]:
        listed = await _git(self.top, "ls-tree", "-r", "-z", "--full-tree", base)
        known: dict[str, Known] = {}
        for line in _lines(listed):
            mode, _, rest = line.partition(" ")
            oid, _, name = rest.partition(" ")[2].partition("\t")
            known[name] = Known(mode, oid)
        return known

    async def _names(self) -> list[tuple[str, str]]:
        """Return what git knows here, and what it does not know and does not ignore: its tag and its path."""
        listed = await _git(
            self.top, "ls-files", "-t", "-z", "--full-name", "--cached", "--others", "--exclude-standard"
        )
        return [(line[0], line[2:].rstrip("/")) for line in _lines(listed)]


async def _changed_inside(folder: Path, known: Known | None, below: Sequence[Path]) -> set[Path]:
    """Return what changed in a repository inside another one, such as a submodule."""
    if not (folder / ".git").exists():
        return set()
    inner = await WorkingCopy.around(folder)
    if inner.top != _real(folder):
        raise UsageError(
            f"git takes {quoted(str(folder))} for no repository, though it holds `.git`",
            hint="`git submodule update --init` mends a submodule; remove the `.git` of anything else",
        )
    base = known.id if known is not None and known.mode == _REPOSITORY else None
    try:
        return await inner.changed(base, below)
    except SourceError:  # the commit was not fetched, so nothing can be compared with it
        return await inner.changed(None, below)


async def _git(folder: Path, *arguments: str) -> Output:
    """Run git. Raises `SourceError`."""
    output = await Git(_environment()).run(*_SETTINGS, *arguments, folder=folder, most=_MOST_NAMES)
    if output.cut:
        raise UsageError(
            f"the repository around {quoted(str(folder))} holds too many files to compare",
            hint="leave `--changed-since` out",
        )
    return output


def _environment() -> dict[str, str]:
    """Return an environment in which the user's own settings count: which folders to trust is among them."""
    whose = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    ours = {name: value for name, value in local_environment().items() if name not in whose}
    return {**ours, **{name: os.environ[name] for name in whose if name in os.environ}}


def _lines(output: Output) -> Iterator[str]:
    return (os.fsdecode(line) for line in output.content.split(b"\0") if line)


def _overlap(path: Path, folders: Sequence[Path]) -> bool:
    """Whether a path is in one of these folders, or around one."""
    return any(path.is_relative_to(folder) or folder.is_relative_to(path) for folder in folders)


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
