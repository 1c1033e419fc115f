"""Find the files in a working copy that differ from a commit, and the affected skills."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillwire.config.source_kinds import is_folder
from skillwire.contract.folders import SkillFolders
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
    """The mode and object id of one path in a commit."""

    mode: str
    id: str

    def is_at(self, path: Path) -> bool:
        """Return whether `path` is a file or symbolic link with the committed content.

        Executable bits are ignored.
        """
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                target = os.fsencode(path.readlink())
                return self.mode == _LINK and self._matches(len(target), [target])
            if not stat.S_ISREG(mode) or self.mode == _LINK:
                return False
            return self._has_content_of(path)
        except OSError:
            return False

    def _has_content_of(self, path: Path) -> bool:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > _MAX_TEXT:
                return self._matches(size, iter(lambda: file.read(_MAX_TEXT), b""))
            content = file.read()
        # Git may check out text with `\r\n`, while the commit has `\n`.
        candidates = (content, content.replace(b"\r\n", b"\n"))
        return any(self._matches(len(each), [each]) for each in candidates)

    def _matches(self, size: int, parts: Iterable[bytes]) -> bool:
        """Return whether this content has the committed git object id."""
        kind = "sha256" if len(self.id) == _SHA256_DIGITS else "sha1"
        digest = hashlib.new(kind, b"blob %d\0" % size, usedforsecurity=False)
        for part in parts:
            digest.update(part)
        return digest.hexdigest() == self.id


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """The checked-out files of one git repository."""

    top: Path

    @classmethod
    async def around(cls, folder: Path) -> "WorkingCopy":
        """Return the working copy that contains a folder.

        Raises `UsageError` if there is none, or if git does not trust the repository's owner.
        """
        try:
            found = await _git(folder, "rev-parse", "--show-toplevel")
        except SourceError as error:
            if "dubious ownership" in str(error):
                trust = "git config --global --add safe.directory"
                raise UsageError(
                    f"git does not trust {quoted(str(folder))}: the repository belongs to another user",
                    hint=f"if you trust it: `{trust} FOLDER`, with the folder that contains `.git`",
                ) from error
            hint = "leave `--changed-since` out, or name a folder in a repository"
            raise UsageError(
                f"{quoted(str(folder))} is not in a git repository: {error}", hint=hint
            ) from error
        return cls(_real(os.fsdecode(found.content.rstrip(b"\r\n"))))

    async def merge_base(self, revision: str) -> str:
        """Return the id of the last common commit of `revision` and `HEAD`.

        Raises `SourceError` if there is none.
        """
        return (await _git(self.top, "merge-base", revision, "HEAD")).text

    async def changed(self, base: str | None, below: Sequence[Path]) -> set[Path]:
        """Return the files in the folders `below` that differ from the commit `base`, also in submodules.

        Removed files differ, and so do untracked files that git does not ignore. If `base` is None, every
        file differs. For a symbolic link, the path of its target is also returned.
        """
        before: Mapping[str, CommittedEntry] = await self._known(base) if base is not None else {}
        now = await self._names()
        not_checked_out = {name for tag, name in now if tag == _NOT_CHECKED_OUT}
        found: set[Path] = set()
        for name in before.keys() | {name for _, name in now}:
            path, known = self.top / name, before.get(name)
            if not _overlap(path, below):
                continue
            if path.is_dir() and not path.is_symlink():
                found |= await _changed_inside(path, known, below)
            elif not (known and known.is_at(path)) and not (name in not_checked_out and not path.exists()):
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
        """Return the status tag and path of each file, except untracked files that git ignores."""
        listed = await _git(
            self.top, "ls-files", "-t", "-z", "--full-name", "--cached", "--others", "--exclude-standard"
        )
        return [(line[0], line[2:].rstrip("/")) for line in _lines(listed)]


async def _changed_inside(folder: Path, known: CommittedEntry | None, below: Sequence[Path]) -> set[Path]:
    """Return the changed files of a nested repository, such as a submodule; none without `.git`."""
    if not (folder / ".git").exists():
        return set()
    inner = await WorkingCopy.around(folder)
    if inner.top != _real(folder):
        raise UsageError(
            f"git does not recognize {quoted(str(folder))} as a repository, although it contains `.git`",
            hint="`git submodule update --init` repairs a submodule; otherwise remove its `.git`",
        )
    base = known.id if known is not None and known.mode == _REPOSITORY else None
    try:
        return await inner.changed(base, below)
    except SourceError:  # the commit was not fetched, so every file counts as new
        return await inner.changed(None, below)


async def _git(folder: Path, *arguments: str) -> Output:
    """Run git. Raises `SourceError` if it fails, and `UsageError` if its output is too long."""
    output = await Git(_environment()).run(*_SETTINGS, *arguments, folder=folder, most=_MAX_NAMES)
    if output.cut:
        raise UsageError(
            f"the repository around {quoted(str(folder))} contains too many files to compare",
            hint="leave `--changed-since` out",
        )
    return output


def _environment() -> dict[str, str]:
    """Return an environment that uses the user's git configuration, which may set `safe.directory`."""
    names = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    isolated = {name: value for name, value in local_environment().items() if name not in names}
    return {**isolated, **{name: os.environ[name] for name in names if name in os.environ}}


def _lines(output: Output) -> Iterator[str]:
    return (os.fsdecode(line) for line in output.content.split(b"\0") if line)


def _overlap(path: Path, folders: Sequence[Path]) -> bool:
    """Return whether a path is inside one of these folders, or contains one of them."""
    return any(path.is_relative_to(folder) or folder.is_relative_to(path) for folder in folders)


def _real(path: str | Path) -> Path:
    """Resolve the symbolic links in a path."""
    return Path(os.path.realpath(path))


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The changed files, and all folders above them."""

    files: frozenset[Path]
    folders: frozenset[Path]

    @classmethod
    def of(cls, files: Iterable[Path]) -> "ChangedFiles":
        found = frozenset(files)
        return cls(found, frozenset(folder for file in found for folder in file.parents))

    def affected(self, skills: SkillFolders) -> list[CheckedSkill]:
        """Return the changed skills, and the skills that depend directly on a changed or removed skill."""
        everything = skills.checked.repository.skills
        changed = [skill for skill in everything if self._touches(skills.folders[skill.facts.path])]
        ids = {skill.id for skill in changed} | set(self._removed())
        return [skill for skill in everything if skill.id in ids or not ids.isdisjoint(skill.depends_on)]

    def _touches(self, folder: Path) -> bool:
        """Return whether a file in the folder changed."""
        return _real(folder) in self.folders

    def _removed(self) -> Iterator[str]:
        """Yield the folder names of removed skills. By the contract, these were the ids of the skills."""
        return (file.parent.name for file in self.files if file.name == SKILL_FILE and not file.exists())


async def changed_since(revision: str, library: Library, skills: SkillFolders) -> ChangedFiles:
    """Return the files changed since the last common commit of `revision` and `HEAD`.

    Raises `UsageError` if a source is not a folder in a git repository, or `revision` is not known there.
    """
    if revision.startswith("-"):
        raise _no_such_revision(revision, "it begins with `-`")
    linked = {_real(folder) for folder in skills.folders.values()}
    files: set[Path] = set()
    for source in library.sources:
        if not is_folder(source.place):
            raise UsageError(
                f"`--changed-since` requires folders, and {quoted(source.place)} is not a folder",
                hint="name a folder in a git repository",
            )
        files |= await _changed_in(Path(source.place), linked, revision)
    return ChangedFiles.of(files)


def problems_of_skills(
    problems: Iterable[Problem], skills: SkillFolders, selected: Iterable[CheckedSkill]
) -> list[Problem]:
    """Return the problems of the `selected` skills, and the problems that belong to no skill."""
    selected_folders = {_parent_path(skill.facts.path) for skill in selected}
    all_folders = {_parent_path(path) for path in skills.folders}
    found: list[Problem] = []
    for problem in problems:
        folder = problem.path
        while folder and folder not in all_folders:
            folder = _parent_path(folder)
        if folder in selected_folders or folder not in all_folders:
            found.append(problem)
    return found


def _parent_path(path: str) -> str:
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
        f"cannot compare with {quoted(revision)}: {reason}",
        hint="name a branch, a tag or a commit of this repository; in CI, fetch the whole history first",
    )
