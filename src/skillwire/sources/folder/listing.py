"""The content of one folder on disk, and the problems that its files and folders can have."""

import os
import stat
from typing import NamedTuple

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits
from skillwire.sources.folder.files import Stamp


class Folder(NamedTuple):
    """The root or a folder below it, with the identities of the folders above it."""

    path: str
    """The path relative to the root, separated by `/`; empty for the root itself."""
    location: str
    """The path on disk. Links are not resolved."""
    identity: tuple[int, int]
    """The folder's device and inode."""
    real_path: str
    """The path from the root, with links inside the root resolved. Ignore patterns also apply to it."""
    target: str
    """The path on disk, with links resolved."""
    depth: int = 0
    trail: frozenset[tuple[int, int]] = frozenset()
    """The identities of all parent folders, to detect loops of links."""

    def path_of(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name

    def location_of(self, name: str) -> str:
        return join_location(self.location, name)

    def real_path_of(self, name: str) -> str:
        return f"{self.real_path}/{name}" if self.real_path else name

    def child_trail(self) -> frozenset[tuple[int, int]]:
        """Return the trail of every subfolder."""
        return self.trail | {self.identity}

    def inner(self, name: str, resolved: "ResolvedEntry", trail: frozenset[tuple[int, int]]) -> "Folder":
        """Return the subfolder at the relative path `name`. Equal strings are shared to save memory."""
        path, location = self.path_of(name), self.location_of(name)
        real_path, target = resolved.link, resolved.target
        if real_path is None:
            real_path = path if self.real_path == self.path else self.real_path_of(name)
        if target is None:
            target = location if self.target == self.location else join_location(self.target, name)
        depth = self.depth + 1 + name.count("/")
        return Folder(path, location, folder_identity(resolved.status), real_path, target, depth, trail)

    @property
    def name(self) -> str:
        return self.location.rpartition(os.sep)[2]


def join_location(location: str, name: str) -> str:
    """Return the location of `name` in the folder at `location`. A faster `os.path.join`, for hot loops."""
    return f"{location}{name}" if location.endswith(os.sep) else f"{location}{os.sep}{name}"


class ResolvedEntry(NamedTuple):
    """An entry of a folder, with symbolic links followed."""

    status: os.stat_result
    link: str | None = None
    """For a link, the path of its target relative to the root, or its own path if the target is outside."""
    target: str | None = None
    """For a link, the path of its target on disk."""


class File(NamedTuple):
    """A regular file that may be served. It is not opened yet."""

    name: str
    path: str
    location: str
    folder: str
    """The name of the folder that contains the file."""
    stamp: Stamp
    executable: bool = False


class FolderListing:
    """The content of one folder."""

    __slots__ = (
        "cut",
        "entered_all",
        "extra_folders",
        "files",
        "folders",
        "left_out",
        "marker",
        "problems",
        "unreadable",
    )

    def __init__(self) -> None:
        self.files: list[File] = []
        self.left_out = 0
        """Number of files that are not in `files`, because no skill can have so many."""
        self.folders: list[Folder] = []
        self.problems: list[Problem] = []
        self.marker: str | None = None
        """The entry that makes this folder a skill: `SKILL.md`, else `skill.md`. None if it is no skill."""
        self.cut: Problem | None = None
        """The limit that stopped the listing, if one did. A skill that includes this folder is incomplete."""
        self.extra_folders: list[str] = []
        """Further folders to watch: `.claude`, folders of linked files, and folders that affect bad links.
        """
        self.entered_all = True
        """Whether every subfolder except `.git` is entered, and no visible entry is a link."""
        self.unreadable = False
        """Whether the folder could not be opened, so that it cannot be watched either."""

    @property
    def file_count(self) -> int:
        """Number of files that may be served."""
        return len(self.files) + self.left_out

    def forget_files(self) -> None:
        """Keep only the number of files, and the file that makes this folder a skill."""
        kept = [file for file in self.files if file.name == self.marker]
        self.left_out = self.file_count - len(kept)
        self.files = kept

    def record_limit(self, problem: Problem) -> None:
        """Record the problem of a limit, because of which the listing is incomplete."""
        self.cut = problem
        self.problems.append(problem)


def is_executable(status: os.stat_result) -> bool:
    """Return whether the owner of a file may execute it."""
    return status.st_mode & stat.S_IXUSR != 0


def folder_identity(status: os.stat_result) -> tuple[int, int]:
    """Return the device and inode, which identify a folder whatever its name."""
    return status.st_dev, status.st_ino


def bad_name_problem(path: str, fault: str) -> Problem:
    return Problem(
        path,
        Rule.FILE_NAME,
        Severity.WARNING,
        f"its name {fault}, so it is left out",
        hint="rename it",
    )


def misspelled_problem(path: str) -> Problem:
    return Problem(
        path,
        Rule.SKILL_FILE_NAME,
        Severity.WARNING,
        "the folder is not a skill, because this file is not named `SKILL.md`",
        hint="rename it to `SKILL.md`",
    )


def dangling_link_problem(path: str) -> Problem:
    return Problem(
        path,
        Rule.FILE_UNREADABLE,
        Severity.WARNING,
        "the target of the link does not exist",
        hint="fix or remove the link",
    )


def link_loop_problem(path: str, message: str) -> Problem:
    return Problem(path, Rule.LINK_LOOP, Severity.WARNING, message, hint="remove the link")


def hidden_target_problem(path: str) -> Problem:
    return Problem(
        path,
        Rule.LINK_OUTSIDE,
        Severity.WARNING,
        "the link leads to something hidden or ignored, so it is left out",
        hint="copy the target here, or link to a file that is served",
    )


def outside_link_problem(path: str) -> Problem:
    return Problem(
        path,
        Rule.LINK_OUTSIDE,
        Severity.WARNING,
        "the link leads out of the folder that is served, so it is left out",
        hint="copy the target here, or allow such links with `--follow-links`",
    )


def special_file_problem(path: str) -> Problem:
    return Problem(
        path,
        Rule.FILE_SPECIAL,
        Severity.WARNING,
        "it is a pipe, socket or device, so it is left out",
        hint="remove it from the folder",
    )


def unreadable_problem(path: str, rule: Rule, error: OSError) -> Problem:
    return Problem(
        path or ".",
        rule,
        Severity.WARNING,
        f"it cannot be read: {(error.strerror or type(error).__name__).lower()}",
        hint="check its permissions, or remove it",
    )


def exhausted(path: str, limits: Limits) -> Problem:
    return Problem(
        path or ".",
        Rule.FOLDER_ENTRIES,
        Severity.ERROR,
        f"stopped here after {limits.entries:,} files and folders; the rest is not served",
        hint="serve a smaller folder, or exclude files in `.skillwireignore`",
    )


def too_deep_problem(path: str, limits: Limits) -> Problem:
    return Problem(
        path,
        Rule.FOLDER_DEPTH,
        Severity.WARNING,
        f"it is more than {limits.depth} folders deep, so nothing in it is served",
        hint="move it up, or serve a folder closer to it",
    )
