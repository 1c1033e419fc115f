"""What a folder on disk contains, and the problems that its files and folders can have."""

import os
import stat
from typing import NamedTuple

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits
from skillwire.sources.folder.files import Stamp


class Folder(NamedTuple):
    """A folder below the root, and the chain of folders that led there."""

    path: str
    """Relative to the root, with `/`; empty for the root itself."""
    location: str
    """Where it is on this machine."""
    identity: tuple[int, int]
    """Its device and inode."""
    real_path: str
    """Where it really is below the root, if a link led here: what is hidden there stays hidden."""
    target: str
    """Where it really is on this machine."""
    depth: int = 0
    trail: frozenset[tuple[int, int]] = frozenset()
    """The identities of all folders on the way, so that a loop of links is noticed."""

    def path_of(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name

    def location_of(self, name: str) -> str:
        return join_location(self.location, name)

    def real_path_of(self, name: str) -> str:
        return f"{self.real_path}/{name}" if self.real_path else name

    def child_trail(self) -> frozenset[tuple[int, int]]:
        """Return the trail of every folder in this one."""
        return self.trail | {self.identity}

    def inner(self, name: str, seen: "ResolvedEntry", trail: frozenset[tuple[int, int]]) -> "Folder":
        """Return the folder `name` in this one. What is equal is one object: there are thousands of them."""
        path, location = self.path_of(name), self.location_of(name)
        real_path, target = seen.link, seen.target
        if real_path is None:
            real_path = path if self.real_path == self.path else self.real_path_of(name)
        if target is None:
            target = location if self.target == self.location else join_location(self.target, name)
        depth = self.depth + 1 + name.count("/")
        return Folder(path, location, folder_identity(seen.status), real_path, target, depth, trail)

    @property
    def name(self) -> str:
        return self.location.rpartition(os.sep)[2]


def join_location(location: str, name: str) -> str:
    """Return where `name` is in the folder at `location`. What `os.path.join` does, in a hot loop."""
    return f"{location}{name}" if location.endswith(os.sep) else f"{location}{os.sep}{name}"


class ResolvedEntry(NamedTuple):
    """What an entry of a folder is, or leads to."""

    status: os.stat_result
    link: str | None = None
    """For a link, where it leads, below the root."""
    target: str | None = None
    """For a link, where it leads, on this machine."""


class File(NamedTuple):
    """A regular file that may be served, not opened yet."""

    name: str
    path: str
    location: str
    folder: str
    """The name of the folder that it stands in."""
    stamp: Stamp
    executable: bool = False


class FolderListing:
    """What stands in one folder."""

    __slots__ = ("closed", "cut", "entered_all", "files", "folders", "marker", "outposts", "problems")

    def __init__(self) -> None:
        self.files: list[File] = []
        self.folders: list[Folder] = []
        self.problems: list[Problem] = []
        self.marker: str | None = None
        """The name that makes this folder a skill: `SKILL.md`, else `skill.md`. It may be no file at all."""
        self.cut: Problem | None = None
        """The bound that stopped the look, if one did: a skill that reaches here has files nobody saw."""
        self.outposts: list[str] = []
        """Further folders on this machine that decide what stands in here: a linked file's, a container's."""
        self.entered_all = True
        """Whether every folder in here is looked into, and nothing in here is a link."""
        self.closed = False
        """Whether we may not look into this folder: then nobody can watch it for us, either."""

    def stop(self, problem: Problem) -> None:
        """Note that a bound was reached here."""
        self.cut = problem
        self.problems.append(problem)


def is_executable(status: os.stat_result) -> bool:
    """Whether the owner of a file may run it."""
    return status.st_mode & stat.S_IXUSR != 0


def folder_identity(status: os.stat_result) -> tuple[int, int]:
    """Return what tells one folder from another, whatever it is called."""
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
        "the folder is no skill, because this file is not called `SKILL.md`",
        hint="rename it to `SKILL.md`",
    )


def dangling_link_problem(path: str) -> Problem:
    return Problem(
        path, Rule.FILE_UNREADABLE, Severity.WARNING, "it leads nowhere", hint="mend or remove the link"
    )


def link_loop_problem(path: str, message: str) -> Problem:
    return Problem(path, Rule.LINK_LOOP, Severity.WARNING, message, hint="remove the link")


def hidden_target_problem(path: str) -> Problem:
    return Problem(
        path,
        Rule.LINK_OUTSIDE,
        Severity.WARNING,
        "the link leads to something hidden or ignored, so it is left out",
        hint="put a copy here, or link to a file that is served",
    )


def outside_link_problem(path: str) -> Problem:
    return Problem(
        path,
        Rule.LINK_OUTSIDE,
        Severity.WARNING,
        "the link leads out of the folder that is served, so it is left out",
        hint="put a copy here, or allow links to elsewhere with `--follow-links`",
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
        hint="serve a smaller folder, or name what to leave out in `.skillwireignore`",
    )


def too_deep_problem(path: str, limits: Limits) -> Problem:
    return Problem(
        path,
        Rule.FOLDER_DEPTH,
        Severity.WARNING,
        f"it is more than {limits.depth} folders deep and is not looked into",
        hint="move it up, or serve a folder nearer to it",
    )
