"""Which files of a working copy differ from a commit, and which skills that affects."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillwire.contract.folders import SkillFolders, is_folder
from skillwire.contract.repository import CheckedSkill
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem
from skillwire.errors import SourceError, UsageError
from skillwire.library.library import Library
from skillwire.safe_text import quoted
from skillwire.sources.git.command import Git, Output, local_environment

_SETTINGS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_MAX_NAMES = 64 * 1024 * 1024
_MAX_TEXT = 16 * 1024 * 1024
_LINK, _REPOSITORY = "120000", "160000"
_NOT_CHECKED_OUT = "S"
_SHA256_DIGITS = 64


@dataclass(frozen=True, slots=True)
class CommittedEntry:
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
            if size > _MAX_TEXT:
                return self._names(size, iter(lambda: file.read(_MAX_TEXT), b""))
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

    async def merge_base(self, revision: str) -> str:
        """Return the commit at which `revision` and this parted. Raises `SourceError`."""
        return (await _git(self.top, "merge-base", revision, "HEAD")).text

    async def changed(self, base: str | None, below: Sequence[Path]) -> set[Path]:
        """Return the files in these folders that are not as in `base`, those of repositories in it too.

        Without a `base` every file is new. A file that git does not know is, too, unless git ignores it.
        """
        before: Mapping[str, CommittedEntry] = await self._known(base) if base is not None else {}
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

    async def _known(self, base: str) -> Mapping[str, CommittedEntry]:
        listed = await _git(self.top, "ls-tree", "-r", "-z", "--full-tree", base)
        known: dict[str, CommittedEntry] = {}
        for line in _lines(listed):
            mode, _, rest = line.partition(" ")
            oid, _, name = rest.partition(" ")[2].partition("\t")
            known[name] = CommittedEntry(mode, oid)
        return known

    async def _names(self) -> list[tuple[str, str]]:
        """Return what git knows here, and what it does not know and does not ignore: its tag and its path."""
        listed = await _git(
            self.top, "ls-files", "-t", "-z", "--full-name", "--cached", "--others", "--exclude-standard"
        )
        return [(line[0], line[2:].rstrip("/")) for line in _lines(listed)]


async def _changed_inside(folder: Path, known: CommittedEntry | None, below: Sequence[Path]) -> set[Path]:
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
    output = await Git(_environment()).run(*_SETTINGS, *arguments, folder=folder, most=_MAX_NAMES)
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


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Every file that is not as it was, and every folder around one."""

    files: frozenset[Path]
    folders: frozenset[Path]

    @classmethod
    def of(cls, files: Iterable[Path]) -> "ChangedFiles":
        found = frozenset(files)
        return cls(found, frozenset(folder for file in found for folder in file.parents))

    def affected(self, skills: SkillFolders) -> list[CheckedSkill]:
        """Return the skills that changed, and those that depend on one that changed or is gone."""
        everything = skills.checked.repository.skills
        changed = [skill for skill in everything if self._touches(skills.folders[skill.facts.path])]
        ids = {skill.id for skill in changed} | set(self._removed())
        return [skill for skill in everything if skill.id in ids or not ids.isdisjoint(skill.depends_on)]

    def _touches(self, folder: Path) -> bool:
        return _real(folder) in self.folders

    def _removed(self) -> Iterator[str]:
        return (file.parent.name for file in self.files if file.name == SKILL_FILE and not file.exists())


async def changed_since(revision: str, library: Library, skills: SkillFolders) -> ChangedFiles:
    """Return what differs from where `revision` and the working copy parted. Raises `UsageError`."""
    if revision.startswith("-"):
        raise _no_such_revision(revision, "it begins with `-`")
    linked = {_real(folder) for folder in skills.folders.values()}
    files: set[Path] = set()
    for source in library.sources:
        if not is_folder(source.place):
            raise UsageError(
                f"`--changed-since` needs folders, and {quoted(source.place)} is none",
                hint="name a folder in a git repository",
            )
        files |= await _changed_in(Path(source.place), linked, revision)
    return ChangedFiles.of(files)


def problems_of_skills(
    problems: Iterable[Problem], skills: SkillFolders, wanted: Iterable[CheckedSkill]
) -> list[Problem]:
    """Return the problems that belong to these skills, or to no skill at all."""
    theirs = {_folder(skill.facts.path) for skill in wanted}
    all_of_them = {_folder(path) for path in skills.folders}
    kept: list[Problem] = []
    for problem in problems:
        around = problem.path
        while around and around not in all_of_them:
            around = _folder(around)
        if around in theirs or around not in all_of_them:
            kept.append(problem)
    return kept


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


async def _changed_in(folder: Path, linked: set[Path], revision: str) -> set[Path]:
    copy = await WorkingCopy.around(folder)
    root = _real(folder)
    elsewhere = {each for each in linked if not each.is_relative_to(root) and each.is_relative_to(copy.top)}
    try:
        base = await copy.merge_base(revision)
        return await copy.changed(base, [root, *elsewhere])
    except SourceError as error:
        raise _no_such_revision(revision, str(error)) from error


def _no_such_revision(revision: str, reason: str) -> UsageError:
    return UsageError(
        f"nothing can be compared with {quoted(revision)}: {reason}",
        hint="name a branch, a tag or a commit that is here; in CI, fetch the whole history first",
    )
